'use strict'

// The client: one server or memory, and how to talk to it.

const { inspect } = require('node:util')
const native = require('./native.js')
const { bytesIfGiven, flag, kept, number, options, policyOf, refusal, signalOf, text } = require('./argument.js')
const { submitDescribed } = require('./channel.js')
const { packed } = require('./charges.js')
const { construct } = require('./errors.js')
const { Limiter } = require('./limiter.js')
const { open } = require('./lock.js')

const CLIENT_OPTIONS = ['prefix', 'timeoutMs', 'onError', 'requestMemoryMs']
const LIMITER_OPTIONS = ['scope', 'enforce']
const CONSUME_ALL_OPTIONS = ['requestId', 'signal']

/** @typedef {import('../index.js').Client} Surface */

/**
 * The native half of a client, for those of this package.
 * @type {(client: unknown) => import('./native.js').Client}
 */
let nativeOf

class Client {
  #native
  #prefix

  static {
    nativeOf = (client) => {
      if (typeof client === 'object' && client !== null && #native in client) return client.#native
      throw refusal('client', client, 'a Client')
    }
  }

  /**
   * @param {string} [url]
   * @param {import('../index.js').ClientOptions} [given]
   */
  constructor(url, given) {
    const {
      prefix = 'ql',
      timeoutMs = 500,
      onError = 'raise',
      requestMemoryMs = 60_000,
    } = options(given, CLIENT_OPTIONS)
    const where = url === undefined ? undefined : text('url', url)
    const how = /** @type {const} */ ([
      text('prefix', prefix),
      number('timeoutMs', timeoutMs),
      text('onError', onError),
      number('requestMemoryMs', requestMemoryMs),
    ])
    this.#native = construct(Client, () => new native.Client(where, ...how))
    this.#prefix = prefix
  }

  get server() {
    return this.#native.server
  }

  get prefix() {
    return this.#prefix
  }

  /** @type {Surface['limiter']} */
  limiter(name, policy, given) {
    const [named, rules] = [text('name', name), policyOf(policy)]
    const { scope, enforce = true } = options(given, LIMITER_OPTIONS)
    const how = /** @type {const} */ ([bytesIfGiven('scope', scope), flag('enforce', enforce)])
    const made = construct(this.limiter, () =>
      typeof rules === 'string'
        ? this.#native.limiterByText(named, rules, ...how)
        : this.#native.limiterByRules(named, rules, ...how),
    )
    const shown = { name: named, scope: scope === undefined ? null : kept('scope', scope), enforce: how[1] }
    return /** @type {any} */ (new Limiter(made, shown))
  }

  /** @type {Surface['consumeAll']} */
  consumeAll(charges, given) {
    try {
      const { requestId, signal } = options(given, CONSUME_ALL_OPTIONS)
      const { numbers, keys } = packed(charges)
      const id = bytesIfGiven('requestId', requestId)
      return submitDescribed(this.consumeAll, signalOf(signal), (channel) =>
        channel.consumeAll(this.#native, numbers, keys, id),
      )
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['lock']} */
  lock(name, given) {
    return open(this.#native, this.lock, 'lock', [name], given)
  }

  /** @type {Surface['lockAll']} */
  lockAll(names, given) {
    return open(this.#native, this.lockAll, 'lock', names, given)
  }

  /** @type {Surface['semaphore']} */
  semaphore(name, permits, given) {
    return open(this.#native, this.semaphore, 'semaphore', [name], given, permits)
  }

  /** @type {Surface['readLock']} */
  readLock(name, given) {
    return open(this.#native, this.readLock, 'read', [name], given)
  }

  /** @type {Surface['writeLock']} */
  writeLock(name, given) {
    return open(this.#native, this.writeLock, 'write', [name], given)
  }

  async close() {
    this.#native.close()
  }

  [Symbol.dispose]() {
    this.#native.close()
  }

  async [Symbol.asyncDispose]() {
    this.#native.close()
  }

  [inspect.custom]() {
    return `Client { server: ${inspect(this.server)}, prefix: ${inspect(this.#prefix)} }`
  }
}

module.exports = { Client, nativeOf }
