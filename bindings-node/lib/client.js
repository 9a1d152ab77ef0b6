'use strict'

// The client: one server or memory, and how to talk to it.

const { inspect } = require('node:util')
const native = require('./native.js')
const { number, options, policyOf, refusal, text } = require('./argument.js')
const { construct } = require('./errors.js')
const { Limiter } = require('./limiter.js')

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
    const { prefix = 'ql', timeoutMs = 500, onError = 'raise' } = options(given)
    const where = url === undefined ? undefined : text('url', url)
    const how = /** @type {const} */ ([
      text('prefix', prefix),
      number('timeoutMs', timeoutMs),
      text('onError', onError),
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
  limiter(name, policy) {
    const [named, rules] = [text('name', name), policyOf(policy)]
    const made = construct(this.limiter, () =>
      typeof rules === 'string' ? this.#native.limiterByText(named, rules) : this.#native.limiterByRules(named, rules),
    )
    return /** @type {any} */ (new Limiter(made, named))
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
