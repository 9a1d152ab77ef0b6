'use strict'

// Collects the calls of a tick, hands them to the native half in one flush, and settles their promises when the answers
// come, all of one batch at once. src/call.rs and src/answers.rs say what the numbers mean.

const native = require('./native.js')
const { bytesOf, text } = require('./argument.js')
const { Decision } = require('./decision.js')
const { construct, failure } = require('./errors.js')

/** How many numbers a call has, and where the number stands under which its answer comes back. */
const WIDTH = 6
const ID = 2
const TAKEN_BACK = -1
/** Kinds of answers. */
const DECISION = 0
const FLAG = 1
const STORED = 2

const CODES = native.codes()

const calls = new Float64Array(1024 * WIDTH)
const keys = Buffer.allocUnsafeSlow(64 << 10)
const inbox = new Float64Array(16 << 10)
const channel = new native.Channel(calls, keys, inbox, settle)

/** How much of `calls` and `keys` is written. */
let numbers = 0
let bytes = 0
/** Whether a flush is due. */
let scheduled = false

/** Keys up to this length are written faster by a loop than by a call into Node. */
const SHORT = 40

/** @typedef {(value: any) => void} Resolver */
/** @typedef {{ native: import('./native.js').Limiter, number: number }} Handle */

/**
 * What settles a call, by the call's number; the numbers that may be used again wait in `free`.
 * @type {Resolver[]}
 */
const resolvers = []
/** @type {number[]} */
const free = []

/** @type {Resolver} */
let resolveNew = nobody
/** @type {Resolver} */
let rejectNew = nobody

/** Settles nobody's call: the caller is gone. */
function nobody() {}

/**
 * One function for all promises: a closure for each would cost more than the rest of the call.
 * @param {Resolver} resolve
 * @param {Resolver} reject
 */
function executor(resolve, reject) {
  resolveNew = resolve
  rejectNew = reject
}

/** Takes a number for the call whose promise was just made. */
function take() {
  const id = free.pop() ?? resolvers.length
  resolvers[id] = resolveNew
  return id
}

/**
 * Makes a call in this tick's batch. Throws what is wrong with the key.
 * @param {number} verb
 * @param {Handle} limiter
 * @param {unknown} key
 * @param {number} amount
 * @param {number} timeoutMs
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<any>}
 */
function submit(verb, limiter, key, amount, timeoutMs, signal) {
  const length = write(limiter, key)
  const promise = new Promise(executor)
  const id = take()
  calls[numbers] = verb
  calls[numbers + 1] = limiter.number
  calls[numbers + ID] = id
  calls[numbers + 3] = amount
  calls[numbers + 4] = timeoutMs
  calls[numbers + 5] = length
  numbers += WIDTH
  bytes += length
  if (signal !== undefined) listen(signal, id)
  if (!scheduled) {
    scheduled = true
    setImmediate(flush)
  }
  return promise
}

/**
 * Writes a key behind the others and returns its length in bytes.
 * @param {Handle} limiter
 * @param {unknown} key
 */
function write(limiter, key) {
  if (typeof key !== 'string') {
    const given = bytesOf('key', key)
    reserve(limiter, key, given.length)
    keys.set(given, bytes)
    return given.length
  }
  const length = key.length
  reserve(limiter, key, 3 * length)
  if (length <= SHORT) {
    let i = 0
    for (let unit = 0; i < length; keys[bytes + i++] = unit) {
      unit = key.charCodeAt(i)
      if (unit > 127) break
    }
    if (i === length) return length
  }
  const written = keys.write(key, bytes)
  // What takes one byte a unit is ASCII.
  if (written !== length) text('key', key)
  return written
}

/**
 * Makes room for one more call, with up to `most` bytes of key.
 * @param {Handle} limiter
 * @param {unknown} key
 * @param {number} most
 */
function reserve(limiter, key, most) {
  if (bytes + most <= keys.length && numbers < calls.length) return
  flush()
  // Longer than a key may be by far: let the core say so.
  if (most > keys.length) construct(submit, () => limiter.native.redisKey(bytesOf('key', key)))
}

/** Hands over what was written, and settles what was answered at once or meanwhile. */
function flush() {
  scheduled = false
  if (numbers === 0) return
  const [allNumbers, allBytes] = [numbers, bytes]
  numbers = bytes = 0
  channel.flush(allNumbers, allBytes)
  settle()
}

/** Settles all calls that were answered. */
function settle() {
  for (let length = channel.collect(); length > 0; length = channel.collect()) {
    for (let at = 0; at < length; at += inbox[at]) {
      const id = inbox[at + 1]
      const resolve = resolvers[id]
      resolvers[id] = nobody
      free.push(id)
      if (inbox[at + 2] === DECISION) resolve(new Decision(inbox, at + 3, at + inbox[at]))
      else if (resolve !== nobody) settleOther(resolve, inbox[at + 2], at + 3, at + inbox[at])
    }
  }
}

/**
 * Settles a call whose answer is no decision.
 * @param {Resolver} resolve
 * @param {number} kind
 * @param {number} at
 * @param {number} end
 */
function settleOther(resolve, kind, at, end) {
  if (kind === FLAG) return resolve(inbox[at] === 1)
  if (kind === STORED) {
    const ttlMs = inbox[at + 1] < 0 ? null : inbox[at + 1]
    return resolve(inbox[at] === 0 ? null : { value: channel.text(inbox[at + 2]), ttlMs })
  }
  const message = channel.text(inbox[at + 1]).toString()
  const decision = at + 2 < end ? new Decision(inbox, at + 2, end) : undefined
  reject(resolve, CODES[inbox[at]], message, decision)
}

/**
 * Rejects a call. An error made here would know nothing of the caller; one made in a reaction that the caller awaits
 * has the caller in its stack, and costs nothing while all goes well.
 * @param {Resolver} resolve
 * @param {string} code
 * @param {string} message
 * @param {Decision} [decision]
 */
function reject(resolve, code, message, decision) {
  /** @type {Resolver} */
  let open = nobody
  const gate = new Promise((resolve) => {
    open = resolve
  })
  resolve(gate.then(() => Promise.reject(failure(code, message, decision))))
  open(undefined)
}

/**
 * Rejects a call, newly made, as soon as a signal fires, and takes it back.
 * @param {AbortSignal} signal
 * @param {number} id
 */
function listen(signal, id) {
  const [resolve, reject] = [resolveNew, rejectNew]
  const abort = () => {
    resolvers[id] = nobody
    reject(signal.reason)
    takeBack(id)
  }
  signal.addEventListener('abort', abort, { once: true })
  resolvers[id] = (value) => {
    signal.removeEventListener('abort', abort)
    resolve(value)
  }
}

/**
 * Takes a call back: from the batch if it is still there, else from the core, which then answers without delay.
 * @param {number} id
 */
function takeBack(id) {
  for (let at = 0; at < numbers; at += WIDTH) {
    if (calls[at + ID] === id) {
      calls[at] = TAKEN_BACK
      free.push(id)
      return
    }
  }
  channel.cancel(id)
}

/**
 * Gives a limiter a handle, for as long as its owner lives.
 * @param {import('./native.js').Limiter} limiter
 * @param {object} owner
 * @returns {Handle}
 */
function register(limiter, owner) {
  const number = channel.add(limiter)
  owners.register(owner, number)
  return { native: limiter, number }
}

const owners = new FinalizationRegistry((/** @type {number} */ number) => {
  // Calls that were written while the owner lived may still be there.
  flush()
  channel.remove(number)
})

/**
 * Replaces what stands at a Redis key.
 * @param {import('./native.js').Client} client
 * @param {Buffer} redisKey
 * @param {string} kind
 * @param {Buffer} value
 * @returns {Promise<boolean>}
 */
function put(client, redisKey, kind, value) {
  const promise = new Promise(executor)
  channel.put(take(), client, redisKey, kind, value)
  settle()
  return promise
}

/**
 * Reads what stands at a Redis key.
 * @param {import('./native.js').Client} client
 * @param {Buffer} redisKey
 * @returns {Promise<{ value: Buffer, ttlMs: number | null } | null>}
 */
function get(client, redisKey) {
  const promise = new Promise(executor)
  channel.get(take(), client, redisKey)
  settle()
  return promise
}

module.exports = { get, put, register, submit }
