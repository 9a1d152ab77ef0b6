'use strict'

// The store that express-rate-limit and hono-rate-limiter ask.

const { options, refusal } = require('./argument.js')
const { Counter } = require('./counter.js')
const { ownName } = require('./names.js')
const { at, keyOf } = require('./web.js')

const PLACE = 'QuotalockStore'

class QuotalockStore {
  #counter
  #windowMs = 60_000
  /** All processes count together: express-rate-limit asks. */
  localKeys = false

  /**
   * @param {string} name
   * @param {unknown} [given]
   */
  constructor(name, given) {
    const { client } = at(PLACE, () => options(given, ['client']))
    this.#counter = at(PLACE, () => new Counter(client, ownName('name', name)))
    /** What tells its keys from those of other stores: express-rate-limit asks. */
    this.prefix = `${name}:`
  }

  /** @param {{ windowMs: number }} how */
  init({ windowMs }) {
    at(PLACE, () => {
      if (typeof windowMs !== 'number') throw refusal('windowMs', windowMs, 'a number')
      this.#counter.check(windowMs)
      this.#counter.register(`hits/${windowMs}ms`, PLACE)
    })
    this.#windowMs = windowMs
  }

  /** @param {string} key */
  async increment(key) {
    return told(await this.#counter.hit(named(key), this.#windowMs))
  }

  /** @param {string} key */
  async get(key) {
    const count = await this.#counter.look(named(key), this.#windowMs)
    return count.hits === 0 ? undefined : told(count)
  }

  /** @param {string} key */
  async decrement(key) {
    await this.#counter.back(named(key), this.#windowMs, 1)
  }

  /** @param {string} key */
  async resetKey(key) {
    await this.#counter.reset(named(key), this.#windowMs)
  }

  async resetAll() {
    throw refusal('resetAll', undefined, 'resetKey(key) for each key: forgetting all keys at once is not supported')
  }
}

/** @param {unknown} key */
function named(key) {
  return /** @type {string} */ (keyOf(PLACE, key))
}

/** @param {import('./counter.js').Count} count */
function told({ hits, resetMs }) {
  return { totalHits: hits, resetTime: new Date(Date.now() + resetMs) }
}

module.exports = { QuotalockStore }
