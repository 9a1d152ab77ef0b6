'use strict'

// A handle for a lock of any kind, and the signal that fires when the lock is lost.

const { inspect } = require('node:util')
const native = require('./native.js')
const { bytesOf, flag, kept, number, options, refusal, signalOf, text } = require('./argument.js')
const { submitNow, unwatch, watch } = require('./channel.js')
const { construct, failure } = require('./errors.js')
const { inspection } = require('./inspection.js')

/** @typedef {import('../index.js').Lock} Surface */

/** The options that the core looks at, each with what tells its type. */
const CHECKS = {
  ttlMs: number,
  fair: flag,
  renew: flag,
  maxHoldMs: number,
  floor: number,
  label: text,
  replicasAck: number,
  ackTimeoutMs: number,
}
const LOCK_OPTIONS = [...Object.keys(CHECKS), 'waitMs', 'signal', 'acquire']
/**
 * The options of the kinds that have others.
 * @type {Record<string, string[]>}
 */
const OPTIONS_OF = {
  semaphore: [...LOCK_OPTIONS, 'weight'],
  quorum: LOCK_OPTIONS.filter((name) => !['fair', 'replicasAck', 'ackTimeoutMs'].includes(name)),
}
const ACQUIRE_OPTIONS = ['waitMs', 'signal']

/**
 * Makes a lock, and acquires it unless that is not wanted; for those of this package.
 * @type {(client: Pick<import('./native.js').Client, 'lock'>, caller: Function, kind: string, names: unknown, given: unknown,
 *   permits?: unknown) => Promise<any>}
 */
let open

class Lock {
  #native
  #names
  #waitMs
  /**
   * Fires when the present grant, or the next, is lost; none until somebody asks for its signal.
   * @type {AbortController | null}
   */
  #controller = null
  /**
   * The number under which the core tells a loss.
   * @type {number | null}
   */
  #watch = null
  /** Whether a function is run while it is held. */
  #runs = false

  static {
    open = async (client, caller, kind, names, given, permits = 1) => {
      const known = OPTIONS_OF[kind] ?? LOCK_OPTIONS
      const { waitMs = 0, signal, acquire = true, weight = 1, ...others } = options(given, known)
      if (!flag('acquire', acquire) && signal !== undefined) {
        throw failure('invalid_argument', 'signal ends an acquisition, and acquire is false: give it to lock.acquire()')
      }
      signalOf(signal)
      if (!Array.isArray(names)) throw refusal('names', names, 'an array of names')
      const all = names.map((name) => bytesOf('name', name))
      const [wait, of, each] = [number('waitMs', waitMs), number('permits', permits), number('weight', weight)]
      const made = construct(caller, () => client.lock(kind, all, of, each, checked(others)))
      const lock = new Lock(made, Object.freeze(names.map((name) => kept('name', name))), wait)
      if (acquire) await lock.#acquireOrThrow({ signal })
      return lock
    }
  }

  /**
   * @param {import('./native.js').Lock} lock
   * @param {readonly (string | Buffer)[]} names
   * @param {number} waitMs
   */
  constructor(lock, names, waitMs) {
    if (!(lock instanceof native.Lock)) {
      throw failure('invalid_argument', 'a lock is made by client.lock(name), not by new')
    }
    this.#native = lock
    this.#names = names
    this.#waitMs = waitMs
  }

  get names() {
    return this.#names
  }

  get redisKeys() {
    return this.#native.redisKeys
  }

  get ttlMs() {
    return this.#native.ttlMs
  }

  get token() {
    return this.#native.token
  }

  get state() {
    return /** @type {Surface['state']} */ (this.#native.state)
  }

  get held() {
    return this.#native.held
  }

  get remainingMs() {
    return this.#native.remainingMs
  }

  get signal() {
    const lost = this.state === 'lost'
    if (this.#controller === null || (this.#controller.signal.aborted && !lost)) {
      this.#controller = new AbortController()
      if (lost) this.#abort()
      else this.#listen()
    }
    return this.#controller.signal
  }

  /** @type {Surface['acquire']} */
  async acquire(given) {
    const { waitMs = this.#waitMs, signal } = options(given, ACQUIRE_OPTIONS)
    const [wait, stop] = [number('waitMs', waitMs), signalOf(signal)]
    this.#noticeLoss()
    const granted = await submitNow(
      this.acquire,
      (channel, id) => channel.acquire(id, this.#native, wait),
      stop,
      () => {
        this.#native.abandon()
        this.#deafen()
      },
    )
    if (granted) this.#listen()
    return granted
  }

  /** @type {Surface['release']} */
  async release() {
    this.#noticeLoss()
    this.#deafen()
    // The signal of this grant will never fire; one that nobody had when it began is that of the next.
    if (this.state !== 'released') this.#controller = null
    return await submitNow(this.release, (channel, id) => channel.release(id, this.#native))
  }

  /** @type {Surface['extend']} */
  async extend(ttlMs) {
    const ttl = ttlMs === undefined ? undefined : number('ttlMs', ttlMs)
    return await submitNow(this.extend, (channel, id) => channel.extend(id, this.#native, ttl))
  }

  /** @type {Surface['assertHeld']} */
  assertHeld() {
    construct(this.assertHeld, () => this.#native.assertHeld())
  }

  /** @type {Surface['raiseFloor']} */
  raiseFloor(floor) {
    const least = number('floor', floor)
    construct(this.raiseFloor, () => this.#native.raiseFloor(least))
  }

  /** @type {Surface['inspect']} */
  async inspect() {
    return inspection(await submitNow(this.inspect, (channel, id) => channel.inspect(id, this.#native)))
  }

  /** @type {Surface['forceRelease']} */
  async forceRelease() {
    return await submitNow(this.forceRelease, (channel, id) => channel.forceRelease(id, this.#native))
  }

  /** @type {Surface['run']} */
  async run(fn, given) {
    if (typeof fn !== 'function') throw refusal('fn', fn, 'a function')
    options(given, ACQUIRE_OPTIONS)
    // What is held for one function is not held for another: they would be inside together.
    if (this.#runs) {
      const names = this.#names.map((name) => inspect(name)).join(' and ')
      throw failure('invalid_argument', `lock ${names} runs a function already: await that, or make another handle`)
    }
    this.#runs = true
    try {
      return await this.#run(fn, given)
    } finally {
      this.#runs = false
    }
  }

  /** @type {Surface['run']} */
  async #run(fn, given) {
    if (!this.held) await this.#acquireOrThrow(given)
    let result
    try {
      result = await fn(/** @type {any} */ (this))
    } catch (error) {
      // What went wrong first is what the caller must hear.
      await this.release().catch(() => {})
      throw error
    }
    // What the function released itself was not lost.
    if (this.state === 'released' || (await this.release())) return result
    const names = this.#names.map((name) => inspect(name)).join(' and ')
    throw failure('lost', `lock ${names} was lost while the function ran: undo what it did, another may hold it`)
  }

  async [Symbol.asyncDispose]() {
    await this.release()
  }

  /** @param {import('../index.js').AcquireOptions} [given] */
  async #acquireOrThrow(given) {
    if (!(await this.acquire(given))) throw failure('not_acquired', this.#native.refusal())
  }

  /** Has the signal, if anybody asked for it, fire when the present grant is lost. */
  #listen() {
    if (this.#controller === null || this.state === 'released') return
    if (this.#controller.signal.aborted) {
      // It was that of a grant before.
      this.#controller = null
    } else if (this.#watch === null) {
      // This keeps the handle: whoever waits for nothing but the signal has nothing else that would.
      const id = watch(this.#native, () => {
        if (this.#watch !== id) return
        this.#watch = null
        this.#abort()
      })
      this.#watch = id
    }
  }

  /** Ends the watch. */
  #deafen() {
    if (this.#watch === null) return
    unwatch(this.#watch)
    this.#watch = null
  }

  /** Fires the signal of a loss that the core has noticed and this thread has not heard of yet. */
  #noticeLoss() {
    if (this.#watch === null || this.state !== 'lost') return
    this.#deafen()
    this.#abort()
  }

  #abort() {
    try {
      this.#native.assertHeld()
    } catch (error) {
      this.#controller?.abort(failure('lost', /** @type {Error} */ (error).message))
    }
  }

  [inspect.custom]() {
    return `Lock { names: ${inspect(this.#names)}, state: '${this.state}', token: ${this.token} }`
  }
}

/**
 * Options of the types that the core expects.
 * @param {Record<string, any>} given
 */
function checked(given) {
  /** @type {Record<string, any>} */
  const options = {}
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) options[name] = CHECKS[/** @type {keyof typeof CHECKS} */ (name)](name, value)
  }
  return options
}

module.exports = { Lock, open }
