'use strict'

// For Nest: a guard, middleware, and a storage for @nestjs/throttler.

const { options, text } = require('../lib/argument.js')
const { Counter } = require('../lib/counter.js')
const { failure } = require('../lib/errors.js')
const { PROBLEM_TYPE, callerOf, put, putReply } = require('../lib/http.js')
const { Limits, at, keyOf } = require('../lib/web.js')
const { rateLimit } = require('./express.js')

const PLACE = 'quotalock/nest'

/** @type {typeof import('./nest.js').rateLimitGuard} */
function rateLimitGuard(/** @type {any} */ name, /** @type {any} */ policy, /** @type {any} */ given) {
  const limits = new Limits(PLACE, name, policy, given)
  const { HttpException } = nest()
  return {
    async canActivate(/** @type {any} */ context) {
      const http = context.switchToHttp()
      const [request, response] = [http.getRequest(), http.getResponse()]
      const decision = await limits.decide(callerOf, request.raw ?? request, request, context)
      if (decision === null) return true
      const { fields, status, body } = limits.told(decision)
      // Fastify's reply keeps its own headers.
      const isFastify = response.raw !== undefined
      if (isFastify) putReply(response, fields)
      else put(response, fields)
      if (decision.allowed) return true
      if (limits.onDenied) return limits.onDenied(decision, request, context)
      if (isFastify) response.header('Content-Type', PROBLEM_TYPE)
      else response.setHeader('Content-Type', PROBLEM_TYPE)
      throw new HttpException(JSON.parse(body), status)
    },
  }
}

/** @returns {any} Nest itself, of the application. */
function nest() {
  try {
    // The application's, also where packages see only what they name.
    return require(require.resolve('@nestjs/common', { paths: [__dirname, process.cwd()] }))
  } catch (cause) {
    const error = failure('invalid_argument', `${PLACE} needs @nestjs/common: npm install @nestjs/common`)
    throw Object.assign(error, { cause })
  }
}

class QuotalockThrottlerStorage {
  #counter

  /** @param {unknown} [given] */
  constructor(given) {
    const { client, name = 'throttler' } = at(PLACE, () => options(given, ['client', 'name']))
    this.#counter = at(PLACE, () => new Counter(client, text('name', name)))
  }

  /**
   * @param {string} key
   * @param {number} ttl
   * @param {number} limit
   * @param {number} blockDuration
   * @param {string} throttlerName
   */
  async increment(key, ttl, limit, blockDuration, throttlerName) {
    const named = /** @type {string} */ (keyOf(`${PLACE}, throttler ${throttlerName}`, key))
    const count = await this.#counter.hit(named, ttl)
    const crossed = !count.blocked && count.hits > limit
    if (crossed && blockDuration > 0) {
      if (count.hits === limit + 1) await this.#counter.block(named, ttl, blockDuration)
      return record(limit + 1, count.resetMs, blockDuration)
    }
    if (count.blocked) return record(limit + 1, count.resetMs, count.resetMs)
    return record(count.hits, count.resetMs, crossed ? count.resetMs : 0)
  }
}

/**
 * What the guard of @nestjs/throttler is told, in seconds.
 * @param {number} totalHits
 * @param {number} resetMs
 * @param {number} blockMs
 */
function record(totalHits, resetMs, blockMs) {
  return {
    totalHits,
    timeToExpire: Math.ceil(resetMs / 1000),
    isBlocked: blockMs > 0,
    timeToBlockExpire: Math.ceil(blockMs / 1000),
  }
}

module.exports = { QuotalockThrottlerStorage, rateLimit, rateLimitGuard }
