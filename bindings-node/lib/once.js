'use strict'

// Once: the first who claims an id, or the result of the first who ran.

const { inspect } = require('node:util')
const native = require('./native.js')
const { Claimed, answered } = require('./answers.js')
const { bytesOf, options, refusal, signalOf } = require('./argument.js')
const { submitDescribed } = require('./channel.js')
const { construct, failure } = require('./errors.js')
const { fly, storable, waitOf } = require('./flight.js')

/** @typedef {import('../index.js').Once} Surface */

const RUN_OPTIONS = ['waitMs', 'signal']

class Once {
  #native
  #name

  /**
   * @param {import('./native.js').Once} once
   * @param {string} name
   */
  constructor(once, name) {
    if (!(once instanceof native.Once)) {
      throw failure('invalid_argument', 'a once is made by client.once(name), not by new')
    }
    this.#native = once
    this.#name = name
  }

  get name() {
    return this.#name
  }

  /** @type {Surface['claim']} */
  async claim(id, value = null) {
    const [key, given] = [bytesOf('id', id), storable('value', value)]
    const fields = await submitDescribed(this.claim, undefined, (channel) => channel.claim(this.#native, key, given))
    return answered(Claimed, fields)
  }

  /** @type {Surface['release']} */
  async release(id) {
    const key = bytesOf('id', id)
    return await submitDescribed(this.release, undefined, (channel) => channel.forget(this.#native, key))
  }

  /** @type {Surface['run']} */
  async run(id, fn, given) {
    const key = bytesOf('id', id)
    if (typeof fn !== 'function') throw refusal('fn', fn, 'a function')
    const { waitMs, signal } = options(given, RUN_OPTIONS)
    const [wait, stop] = [waitOf(waitMs), signalOf(signal)]
    const describe = () => this.#native.begin(key, wait)
    // A function without a result has none.
    const [value] = await fly(this.run, stop, describe, async () => [(await fn()) ?? null])
    return value ?? null
  }

  /** @type {Surface['redisKey']} */
  redisKey(id) {
    const key = bytesOf('id', id)
    return construct(this.redisKey, () => this.#native.redisKey(key))
  }

  [inspect.custom]() {
    return `Once { name: ${inspect(this.#name)} }`
  }
}

module.exports = { Once }
