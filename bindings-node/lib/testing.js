'use strict'

// For tests of Quotalock and of what uses it.

const native = require('./native.js')
const { bytesOf, number, options, text } = require('./argument.js')
const { submitNow } = require('./channel.js')
const { Client, nativeOf } = require('./client.js')
const { construct } = require('./errors.js')

const CLOCK_OPTIONS = ['atMs']
const DECISION_OPTIONS = ['policy', 'used', 'cost', 'name', 'key', 'onError']

/** The time of a new clock. */
const BEGINS = 1_700_000_000_000
/** Where nobody listens. */
const AWAY = 'unix:///nonexistent/quotalock.sock'

let memories = 0

/** @typedef {import('../index.js').Clock} Surface */

/** The time of one client, which stands still until a test moves it. */
class Clock {
  #native
  #nowMs = 0

  /**
   * @param {import('../index.js').Client} client
   * @param {{ atMs?: number | undefined }} [given]
   */
  constructor(client, given) {
    const { atMs = BEGINS } = options(given, CLOCK_OPTIONS)
    this.#native = nativeOf(client)
    this.#set(Clock, number('atMs', atMs))
  }

  get nowMs() {
    return this.#nowMs
  }

  /** @type {Surface['advance']} */
  advance(ms) {
    this.#set(this.advance, this.#nowMs + number('ms', ms))
  }

  /**
   * @param {Function} caller
   * @param {number} nowMs
   */
  #set(caller, nowMs) {
    construct(caller, () => native.setTime(this.#native, Math.round(nowMs * 1000)))
    this.#nowMs = nowMs
  }
}

/** @type {typeof import('../index.js').testing} */
const testing = {
  Clock,

  async decision(given) {
    const {
      policy = '10/minute',
      used = 0,
      cost = 1,
      name = 'test',
      key = 'test',
      onError,
    } = options(given, DECISION_OPTIONS)
    const client = new Client(onError === undefined ? `memory://of-a-decision-${memories++}` : AWAY, { onError })
    try {
      new Clock(client)
      const limiter = client.limiter(name, policy)
      if (onError === undefined && number('used', used) > 0) await limiter.require(key, { cost: used })
      return await limiter.consume(key, { cost })
    } finally {
      await client.close()
    }
  },

  setTime(client, micros) {
    const time = micros === null ? null : number('micros', micros)
    construct(testing.setTime, () => native.setTime(nativeOf(client), time))
  },

  async put(client, redisKey, kind, value) {
    const [own, key, word] = [nativeOf(client), bytesOf('redisKey', redisKey), text('kind', kind)]
    const bytes = bytesOf('value', value)
    await submitNow(testing.put, (channel, id) => channel.put(id, own, key, word, bytes))
  },

  async get(client, redisKey) {
    const [own, key] = [nativeOf(client), bytesOf('redisKey', redisKey)]
    const found = await submitNow(testing.get, (channel, id) => channel.get(id, own, key))
    return found && { ...found }
  },
}

module.exports = { testing }
