'use strict'

// A limiter with the calls and answers of rate-limiter-flexible.

const { options, refusal } = require('../lib/argument.js')
const { Counter } = require('../lib/counter.js')
const { generated, ownName } = require('../lib/names.js')
const { at, keyOf } = require('../lib/web.js')

const PLACE = 'RateLimiterQuotalock'
const OPTIONS = ['client', 'keyPrefix', 'points', 'duration', 'blockDuration']

class RateLimiterRes {
  /**
   * @param {number} remainingPoints
   * @param {number} msBeforeNext
   * @param {number} consumedPoints
   * @param {boolean} isFirstInDuration
   */
  constructor(remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration) {
    this.remainingPoints = remainingPoints
    this.msBeforeNext = msBeforeNext
    this.consumedPoints = consumedPoints
    this.isFirstInDuration = isFirstInDuration
  }

  toJSON() {
    return { ...this }
  }

  toString() {
    return JSON.stringify(this)
  }
}

class RateLimiterQuotalock {
  #counter

  /** @param {unknown} given */
  constructor(given) {
    const { client, keyPrefix, points, duration, blockDuration = 0 } = at(PLACE, () => options(given, OPTIONS))
    at(PLACE, () => {
      whole('points', points, 0)
      whole('blockDuration', blockDuration, 0)
      if (typeof duration !== 'number' || !(duration > 0)) {
        throw refusal('duration', duration, 'seconds above 0: nothing is counted forever')
      }
    })
    this.keyPrefix = keyPrefix ?? 'rlflx'
    this.points = points
    this.duration = duration
    this.blockDuration = blockDuration
    const policy = `${points}/${this.msDuration}ms`
    const more = [policy, this.msBlockDuration]
    const name =
      keyPrefix === undefined ? generated({ place: 'rlflx', key: 'key', more }) : ownName('keyPrefix', keyPrefix)
    this.#counter = at(PLACE, () => new Counter(client, name))
    at(PLACE, () => this.#counter.check(this.msDuration))
    if (keyPrefix === undefined) this.#counter.registerGenerated(PLACE, 'a keyPrefix')
    else this.#counter.register(policy, PLACE)
  }

  get msDuration() {
    return Math.round(this.duration * 1000)
  }

  get msBlockDuration() {
    return this.blockDuration * 1000
  }

  /** @type {import('./rate-limiter-flexible.js').RateLimiterQuotalock['consume']} */
  async consume(key, points = 1, given) {
    none(given)
    whole('points', points, 0)
    const count = await this.#counter.hit(named(key), this.msDuration, points)
    const found = this.#told(count, points)
    if (!count.blocked && count.hits <= this.points) return found
    // Only by whom the limit is crossed, so that the block is not lengthened.
    if (!count.blocked && this.blockDuration > 0 && count.hits - points <= this.points) {
      await this.#counter.block(named(key), this.msDuration, this.msBlockDuration)
      found.msBeforeNext = this.msBlockDuration
    }
    throw found
  }

  /** @type {import('./rate-limiter-flexible.js').RateLimiterQuotalock['penalty']} */
  async penalty(key, points = 1, given) {
    none(given)
    whole('points', points, 1)
    return this.#told(await this.#counter.hit(named(key), this.msDuration, points), points)
  }

  /** @type {import('./rate-limiter-flexible.js').RateLimiterQuotalock['reward']} */
  async reward(key, points = 1, given) {
    none(given)
    whole('points', points, 1)
    return this.#told(await this.#counter.back(named(key), this.msDuration, points), -points)
  }

  /** @type {import('./rate-limiter-flexible.js').RateLimiterQuotalock['get']} */
  async get(key, given) {
    none(given)
    const count = await this.#counter.look(named(key), this.msDuration)
    return count.hits === 0 && !count.blocked ? null : this.#told(count, 0)
  }

  /** @type {import('./rate-limiter-flexible.js').RateLimiterQuotalock['block']} */
  async block(key, seconds, given) {
    none(given)
    if (typeof seconds !== 'number' || !(seconds > 0))
      throw refusal('secDuration', seconds, 'seconds above 0: nothing is blocked forever')
    const ms = Math.round(seconds * 1000)
    await this.#counter.block(named(key), this.msDuration, ms)
    return new RateLimiterRes(0, ms, this.points + 1, false)
  }

  /** @type {import('./rate-limiter-flexible.js').RateLimiterQuotalock['delete']} */
  async delete(key, given) {
    const found = await this.get(key, given)
    await this.#counter.reset(named(key), this.msDuration)
    return found !== null
  }

  /** @param {string | number} key */
  getKey(key) {
    return this.keyPrefix === '' ? String(key) : `${this.keyPrefix}:${key}`
  }

  /**
   * @param {import('../lib/counter.js').Count} count
   * @param {number} changed
   */
  #told({ hits, resetMs, blocked }, changed) {
    const consumed = blocked ? this.points + 1 : hits
    return new RateLimiterRes(
      Math.max(this.points - consumed, 0),
      resetMs,
      consumed,
      !blocked && changed > 0 && hits === changed,
    )
  }
}

/** @param {unknown} key */
function named(key) {
  return /** @type {string} */ (keyOf(PLACE, key))
}

/** @param {unknown} given options of a call, of which there are none */
function none(given) {
  options(given, ['no other: customDuration is not supported'])
}

/**
 * @param {string} what
 * @param {unknown} given
 * @param {number} least
 */
function whole(what, given, least) {
  if (!Number.isSafeInteger(given) || /** @type {number} */ (given) < least) {
    throw refusal(what, given, `a whole number, ${least} or more`)
  }
}

module.exports = { RateLimiterQuotalock, RateLimiterRes }
