'use strict'

// Collects the calls of a tick, hands them to the native half in one flush, and settles their promises when the answers
// come, all of one batch at once. src/call_array.rs and src/answers/mod.rs say what the numbers mean.

const native = require('./native.js')
const { advise, hasAdvice } = require('./advice.js')
const { bytesOf, text } = require('./argument.js')
const { collected } = require('./collected.js')
const { Decision } = require('./decision.js')
const { construct } = require('./errors.js')
const { inbox, instant, MORE } = require('./inbox.js')
const pending = require('./pending.js')

const { executor, listen, prepare, release, take } = pending

/** How many numbers a call has, and where among them is the one that its answer names. */
const WIDTH = 6
const ID = 2
const TAKEN_BACK = -1
const DESCRIBED = -2

/** Keys up to this length are written faster by a loop than by a call into Node. */
const SHORT = 40

/** @typedef {{ native: import('./native.js').Limiter, number: number, name: string, inMemory: boolean }} Handle */

const calls = new Float64Array(1024 * WIDTH)
const keys = Buffer.allocUnsafeSlow(64 << 10)

/**
 * Whether JavaScript runs on a loop of libuv that our calls may use: others have its functions too, and end the process
 * when they are called, or do not come by before they wait.
 */
const HAS_LOOP = !['bun', 'deno', 'electron'].some((other) => other in process.versions)
const channel = new native.Channel(calls, keys, inbox, instant, answered, due, HAS_LOOP)

/** Decides what is asked at once. */
const decider = channel.decider()
/** Makes the calls that were written, and collects. */
const flusher = channel.flusher()
/** Writes answers into the inbox. */
const collector = channel.collector()
/** Has `due` called. */
const reminder = channel.reminder()

/** Whether JavaScript's thread writes the calls itself. */
const ownLoop = channel.hasOwnLoop()
/**
 * As many calls are written before the code that makes them is done: once in a turn, the first half of those that follow on several
 * answers. The server works on them while the others are made; with all at once, server and process would take turns. In more parts,
 * each would cost both more than it saves.
 */
let half = Infinity
/**
 * How often calls were written before the tick ended since the loop turned: those that are answered at once must leave others
 * their turn.
 */
let early = 0
const MOST_EARLY = 16
/** How many decisions this process made without a call since the loop turned. */
let atOnce = 0
/** More are not made: code that makes one after the other must leave the loop its turn. */
const MOST_AT_ONCE = 512
/** What follows it runs when the code that runs now is done. */
const doneWith = Promise.resolve()

/** @type {pending.Values} */
const valueAt = (place) => channel.value(place)

/** How much of `calls` and `keys` is written, and how many of the calls were described. */
let numbers = 0
let bytes = 0
let described = 0
/** Whether a flush is due, and whether when the code that runs now is done. */
let scheduled = false
let soon = false

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
  prepare(signal)
  return enqueue(verb, limiter.number, amount, timeoutMs, length, signal, limiter.name)
}

/**
 * As `submit`, of a consume or require, which is decided here and now if this process can: not before the calls of the batch.
 * @param {number} verb
 * @param {Handle} limiter
 * @param {unknown} key
 * @param {number} cost
 * @param {AbortSignal | undefined} signal
 * @param {boolean} requires
 * @returns {Promise<any>}
 */
function decide(verb, limiter, key, cost, signal, requires) {
  const length = write(limiter, key)
  const decision = numbers === 0 ? decideAtOnce(limiter, cost, length, requires) : undefined
  if (decision !== undefined) {
    if (hasAdvice()) advise()
    return Promise.resolve(decision)
  }
  prepare(signal)
  return enqueue(verb, limiter.number, cost, 0, length, signal, limiter.name)
}

/**
 * Decides a consume or require whose key begins the keys, if this process can without a call (src/at_once.rs).
 * @param {Handle} limiter
 * @param {number} cost
 * @param {number} length of the key in bytes
 * @param {boolean} requires
 * @returns {import('../index.js').Decision | undefined}
 */
function decideAtOnce(limiter, cost, length, requires) {
  if ((!limiter.inMemory && instant[0] === 0) || atOnce === MOST_AT_ONCE) return undefined
  atOnce++
  instant[1] = limiter.number
  instant[2] = cost
  instant[3] = length
  instant[4] = requires ? 1 : 0
  decider()
  const end = instant[1]
  return end === 0 ? undefined : new Decision(instant, 2, end, limiter.name)
}

/**
 * Makes a call in this tick's batch that has more to say than numbers and a key. Throws what is wrong with it, with a stack
 * that begins at `caller`.
 * @param {Function} caller
 * @param {AbortSignal | undefined} signal
 * @param {(channel: import('./native.js').Channel) => void} describe has the native half describe it
 * @param {string | string[]} [named] whose decision is asked for
 * @returns {Promise<any>}
 */
function submitDescribed(caller, signal, describe, named) {
  if (numbers === calls.length) flush()
  prepare(signal)
  construct(caller, () => describe(channel))
  return enqueue(DESCRIBED, described++, 0, 0, 0, signal, named)
}

/**
 * Writes the numbers of a call, for which there is room, and makes its promise.
 * @param {number} verb
 * @param {number} place
 * @param {number} amount
 * @param {number} timeoutMs
 * @param {number} length
 * @param {AbortSignal | undefined} signal
 * @param {string | string[] | undefined} named
 * @returns {Promise<any>}
 */
function enqueue(verb, place, amount, timeoutMs, length, signal, named) {
  const promise = new Promise(executor)
  const id = take(named)
  calls[numbers] = verb
  calls[numbers + 1] = place
  calls[numbers + ID] = id
  calls[numbers + 3] = amount
  calls[numbers + 4] = timeoutMs
  calls[numbers + 5] = length
  numbers += WIDTH
  bytes += length
  if (signal !== undefined) listen(signal, id, takeBack)
  schedule(numbers / WIDTH)
  return promise
}

/**
 * Sees to it that so many calls, which were gathered, are written in time.
 * @param {number} gathered
 */
function schedule(gathered) {
  if (ownLoop && early < MOST_EARLY && atOnce < MOST_AT_ONCE) {
    if (gathered >= half) {
      early++
      half = Infinity
      return flush()
    }
    // As soon as that is done, and not only when the tick ends: the server works on them while requests of others are read. But each write
    // costs something, so it is worth a quarter of all that are under way.
    if (!soon && gathered >= pending.underWay() >> 2) {
      early++
      soon = scheduled = true
      doneWith.then(flush)
    }
  }
  if (scheduled) return
  scheduled = true
  // Neither by setImmediate: tests replace it, before this file is read or after, and theirs may never fire.
  reminder()
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

/** The loop has turned, and brought answers. */
function answered() {
  turned()
  const underWay = pending.underWay()
  collector()
  // Whatever is made of one answer is written as one.
  if (settle() > 1) half = (underWay + 1) >> 1
}

/** The loop has turned, and waits next. */
function due() {
  turned()
  flush()
}

function turned() {
  early = 0
  half = Infinity
  atOnce = 0
}

/** Hands over what was written, and settles what was answered at once or meanwhile. */
function flush() {
  scheduled = soon = false
  if (numbers === 0) return
  const written = numbers
  numbers = bytes = described = 0
  flusher(written)
  settle()
}

/** Settles the calls whose answers were collected, then all others that were answered, and tells how many there were. */
function settle() {
  let count = pending.settle(inbox, valueAt)
  while (inbox[MORE] === 1) {
    collector()
    count += pending.settle(inbox, valueAt)
  }
  if (hasAdvice()) advise()
  return count
}

/**
 * Takes a call back: from the batch if it is still there, else from the core, which then answers without delay.
 * @param {number} id
 */
function takeBack(id) {
  for (let at = 0; at < numbers; at += WIDTH) {
    if (calls[at + ID] === id) {
      calls[at] = TAKEN_BACK
      release(id)
      return
    }
  }
  channel.cancel(id)
}

/**
 * Gives a limiter a handle, for as long as its owner lives.
 * @param {import('./native.js').Limiter} limiter
 * @param {object} owner
 * @param {string} name
 * @returns {Handle}
 */
function register(limiter, owner, name) {
  const number = channel.add(limiter)
  owners.register(owner, number)
  return { native: limiter, number, name, inMemory: limiter.inMemory }
}

const owners = collected((/** @type {number} */ number) => {
  // Calls that were written while the owner lived may still be there.
  flush()
  channel.remove(number)
})

/**
 * Makes a call at once, outside of the batch. Throws what is wrong with it, with a stack that begins at `caller`.
 * @param {Function} caller
 * @param {(channel: import('./native.js').Channel, id: number) => void} make has the native half make it
 * @param {AbortSignal} [signal]
 * @param {() => void} [takeBack] what else is done when the signal fires and the call is taken back; it is still answered
 * @returns {Promise<any>}
 */
function submitNow(caller, make, signal, takeBack = () => {}) {
  prepare(signal)
  const promise = new Promise(executor)
  const id = take()
  try {
    construct(caller, () => make(channel, id))
  } catch (error) {
    release(id)
    throw error
  }
  if (signal !== undefined) {
    listen(signal, id, () => {
      takeBack()
      channel.cancel(id)
    })
  }
  collector()
  settle()
  return promise
}

/**
 * Has `lost` called, in a microtask, when the present grant of a lock is lost; returns what ends the watch.
 * @param {import('./native.js').Lock} lock
 * @param {() => void} lost
 */
function watch(lock, lost) {
  new Promise(executor).then(lost)
  const id = take()
  channel.watch(id, lock)
  return id
}

/**
 * Ends a watch, also one that has ended.
 * @param {number} id
 */
function unwatch(id) {
  release(id)
}

/**
 * Has a client give back what it holds when the environment ends.
 * @param {import('./native.js').Client} client
 */
function keep(client) {
  channel.keep(client)
}

module.exports = { decide, keep, register, submit, submitDescribed, submitNow, unwatch, watch }
