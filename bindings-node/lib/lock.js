'use strict'

// A handle for a lock of any kind.

const { isUtf8 } = require('node:buffer')
const { inspect } = require('node:util')
const native = require('./native.js')
const { inspection } = require('./answers.js')
const { bytesOf, kept, number, options, refusal, signalOf } = require('./argument.js')
const { submitNow } = require('./channel.js')
const { construct, failure } = require('./errors.js')
const { Losses } = require('./hooks.js')
const { lockOptions } = require('./lock_options.js')
const { Loss } = require('./loss.js')
const { mind } = require('./unkept.js')

/** @typedef {import('../index.js').Lock} Surface */

/**
 * What a lock is made of, and who is told of its losses.
 * @typedef {{ clients: import('./native.js').Client[], onLost: import('./hooks.js').OnLost | undefined }} Maker
 */

const ACQUIRE_OPTIONS = ['waitMs', 'signal']

/**
 * Makes a lock, and acquires it unless that is not wanted; for those of this package.
 * @type {(of: Maker, caller: Function, kind: string, names: unknown, given: unknown,
 *   permits?: unknown) => Promise<any>}
 */
let open

/**
 * Makes a lock of what was handed over, and takes its lease over; for those of this package.
 * @type {(of: Maker, caller: Function, text: string, renew: boolean, name?: Buffer) => Promise<any>}
 */
let adopt

class Lock {
  #native
  #names
  #waitMs
  #loss
  /** What tells `onLost`, if there is one. */
  #told
  /** Whether a function is run while it is held. */
  #runs = false

  static {
    open = async ({ clients, onLost }, caller, kind, names, given, permits = 1) => {
      const { wait, signal, acquire, core } = lockOptions(kind, given)
      if (!Array.isArray(names)) throw refusal('names', names, 'an array of names')
      const all = names.map((name) => bytesOf('name', name))
      const most = number('permits', permits)
      const made = construct(caller, () =>
        native.makeLock(kind, clients, all, most, wait, .../** @type {[any]} */ (core)),
      )
      const lock = new Lock(made, Object.freeze(names.map((name) => kept('name', name))), wait, onLost)
      if (acquire) await lock.#acquireOrThrow({ signal })
      return lock
    }

    adopt = async ({ clients, onLost }, caller, given, renew, name) => {
      const [client] = /** @type {[import('./native.js').Client]} */ (clients)
      /** @type {any} */
      let made
      await submitNow(caller, (channel, id) => {
        made = channel.adopt(id, client, given, renew, name)
      })
      const names = made.names.map((/** @type {Buffer} */ name) => (isUtf8(name) ? name.toString() : name))
      const lock = new Lock(made, Object.freeze(names), 0, onLost)
      lock.#told?.listen()
      return lock
    }
  }

  /**
   * @param {import('./native.js').Lock} lock
   * @param {readonly (string | Buffer)[]} names
   * @param {number} waitMs
   * @param {import('./hooks.js').OnLost} [onLost]
   */
  constructor(lock, names, waitMs, onLost) {
    if (!(lock instanceof native.Lock)) {
      throw failure('invalid_argument', 'a lock is made by client.lock(name), not by new')
    }
    this.#native = lock
    this.#loss = new Loss(lock)
    // Not this: whoever waits for nothing but the signal keeps the handle too.
    mind(this.#loss, lock)
    this.#told = onLost === undefined ? undefined : new Losses(onLost, this, lock)
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
    return this.#loss.signal
  }

  /** @type {Surface['acquire']} */
  async acquire(given) {
    const { waitMs = this.#waitMs, signal } = options(given, ACQUIRE_OPTIONS)
    const [wait, stop] = [number('waitMs', waitMs), signalOf(signal)]
    this.#loss.notice()
    this.#told?.end()
    const granted = await submitNow(
      this.acquire,
      (channel, id) => channel.acquire(id, this.#native, wait),
      stop,
      () => {
        this.#native.abandon()
        this.#loss.unlisten()
      },
    )
    if (granted) {
      this.#loss.listen()
      this.#told?.listen()
    }
    return granted
  }

  /** @type {Surface['release']} */
  async release() {
    this.#loss.end()
    this.#told?.end()
    const wasHeld = this.#told !== undefined && this.#native.held
    const released = await submitNow(this.release, (channel, id) => channel.release(id, this.#native))
    // It was gone, and only the release has found it.
    if (wasHeld && !released) this.#told?.tell()
    return released
  }

  /** @type {Surface['extend']} */
  async extend(ttlMs) {
    const ttl = ttlMs === undefined ? undefined : number('ttlMs', ttlMs)
    return await submitNow(this.extend, (channel, id) => channel.extend(id, this.#native, ttl))
  }

  /** @type {Surface['handover']} */
  handover() {
    const written = construct(this.handover, () => this.#native.handover())
    this.#loss.end()
    this.#told?.end()
    return written
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

  [inspect.custom]() {
    return `Lock { names: ${inspect(this.#names)}, state: '${this.state}', token: ${this.token} }`
  }
}

module.exports = { adopt, Lock, open }
