'use strict'

// A limiter: a named policy, asked about keys.

const { inspect } = require('node:util')
const native = require('./native.js')
const { bytesOf, number, options, signalOf } = require('./argument.js')
const { register, submit } = require('./channel.js')
const { construct, failure } = require('./errors.js')

/** @typedef {import('../index.js').Limiter} Surface */

/** @param {string} name */
const verb = (name) => native.verbs().indexOf(name)
const CONSUME = verb('consume')
const PEEK = verb('peek')
const REQUIRE = verb('require')
const WAIT = verb('wait')
const REFUND = verb('refund')
const BLOCK = verb('block')
const RESET = verb('reset')

class Limiter {
  #handle
  #name

  /**
   * @param {import('./native.js').Limiter} limiter
   * @param {string} name
   */
  constructor(limiter, name) {
    if (!(limiter instanceof native.Limiter)) {
      throw failure('invalid_argument', 'a limiter is made by client.limiter(name, policy), not by new')
    }
    this.#handle = register(limiter, this)
    this.#name = name
  }

  get name() {
    return this.#name
  }

  get policy() {
    return this.#handle.native.policy
  }

  /** @type {Surface['consume']} */
  consume(key, given) {
    try {
      const { cost = 1, signal } = options(given)
      return submit(CONSUME, this.#handle, key, number('cost', cost), 0, signalOf(signal))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['peek']} */
  peek(key, given) {
    try {
      const { cost = 1, signal } = options(given)
      return submit(PEEK, this.#handle, key, number('cost', cost), 0, signalOf(signal))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['require']} */
  require(key, given) {
    try {
      const { cost = 1, signal } = options(given)
      return submit(REQUIRE, this.#handle, key, number('cost', cost), 0, signalOf(signal))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['wait']} */
  wait(key, given) {
    try {
      const { timeoutMs, cost = 1, signal } = options(given)
      const [amount, most] = [number('cost', cost), number('timeoutMs', timeoutMs)]
      return submit(WAIT, this.#handle, key, amount, most, signalOf(signal))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['refund']} */
  refund(key, amount) {
    try {
      return submit(REFUND, this.#handle, key, number('amount', amount), 0, undefined)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['block']} */
  block(key, durationMs) {
    try {
      return submit(BLOCK, this.#handle, key, number('durationMs', durationMs), 0, undefined)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['reset']} */
  reset(key) {
    try {
      return submit(RESET, this.#handle, key, 0, 0, undefined)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['redisKey']} */
  redisKey(key) {
    const given = bytesOf('key', key)
    return construct(this.redisKey, () => this.#handle.native.redisKey(given))
  }

  [inspect.custom]() {
    return `Limiter { name: ${inspect(this.#name)}, policy: ${inspect(this.policy)} }`
  }
}

module.exports = { Limiter }
