'use strict'

// For Fastify: a plugin, and a store for @fastify/rate-limit.

const { options, text } = require('../lib/argument.js')
const { failure } = require('../lib/errors.js')
const { Counter } = require('../lib/counter.js')
const { PROBLEM_TYPE, callerOf, putReply } = require('../lib/http.js')
const { Limits, at, keyOf } = require('../lib/web.js')

const PLACE = 'quotalock/fastify'
const HOOKS = ['onRequest', 'preParsing', 'preValidation', 'preHandler']

/**
 * The plugin. A route's `config.quotalock` has limits of its own, or is false.
 * @param {any} fastify
 * @param {any} given
 */
async function quotalock(fastify, { prefix: _prefix, limits, hook = 'onRequest', ...given }) {
  if (!HOOKS.includes(hook)) throw failure('invalid_argument', `${PLACE}: hook is none of ${HOOKS.join(', ')}`)
  const everywhere = given.name === undefined && limits === undefined ? null : handlerOf(PLACE, { limits, ...given })
  const { name: _name, policy: _policy, ...common } = given
  // With nothing but what routes have in common, that is looked at now too.
  if (everywhere === null) handlerOf(PLACE, { name: 'route', policy: '1/second', ...common })
  fastify.addHook('onRoute', (/** @type {any} */ route) => {
    const own = route.config?.quotalock
    const place = `${PLACE}, ${route.method} ${route.url}`
    const handler = own === undefined ? everywhere : own === false ? null : handlerOf(place, { ...common, ...own })
    if (handler !== null) route[hook] = [...[route[hook] ?? []].flat(), handler]
  })
}

/**
 * A hook that asks limits.
 * @param {string} place
 * @param {any} given
 */
function handlerOf(place, { limits: several, name, policy, ...given }) {
  const limits = several ? new Limits(place, several, given, undefined) : new Limits(place, name, policy, given)
  return async (/** @type {any} */ request, /** @type {any} */ reply) => {
    const decision = await limits.decide(callerOf, request.raw, request, reply)
    if (decision === null) return
    const { fields, status, body } = limits.told(decision)
    putReply(reply, fields)
    if (decision.allowed) return
    if (limits.onDenied) return limits.onDenied(decision, request, reply)
    return reply.code(status).header('Content-Type', PROBLEM_TYPE).serializer(asIs).send(body)
  }
}

/**
 * The body is text already. With a serializer of its own Fastify adds no charset, which `application/problem+json` has not.
 * @param {string} body
 */
function asIs(body) {
  return body
}

Object.assign(quotalock, {
  // It holds for the whole application, and says which Fastify it is for.
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'quotalock',
  [Symbol.for('plugin-meta')]: { fastify: '5.x', name: 'quotalock' },
})

/** @type {typeof import('./fastify.js').rateLimitStore} */
function rateLimitStore(name, given) {
  const { client } = at(PLACE, () => options(given, ['client']))
  const counter = at(PLACE, () => new Counter(client, text('name', name)))
  return class extends Store {
    /** @param {any} params */
    constructor(params) {
      super(counter, '', params)
    }
  }
}

class Store {
  #counter
  #place
  #continues

  /**
   * @param {import('../lib/counter.js').CounterLike} counter
   * @param {string} place the route
   * @param {any} params
   */
  constructor(counter, place, { continueExceeding = false, exponentialBackoff = false, ban = -1, timeWindow }) {
    if (exponentialBackoff) {
      throw failure('invalid_argument', `${PLACE}: exponentialBackoff is not supported: use ban, or continueExceeding`)
    }
    if (continueExceeding && ban > 0) {
      throw failure(
        'invalid_argument',
        `${PLACE}: ban beside continueExceeding must be 0: requests that are refused are not counted`,
      )
    }
    if (typeof timeWindow === 'number') at(PLACE, () => counter.check(timeWindow))
    this.#counter = counter
    this.#place = place
    this.#continues = continueExceeding
  }

  /**
   * @param {string} key
   * @param {(error: Error | null, found?: { current: number, ttl: number }) => void} done
   * @param {number} timeWindow
   * @param {number} max
   */
  incr(key, done, timeWindow, max) {
    this.#hit(key, timeWindow, max).then(
      (found) => done(null, found),
      (error) => done(error),
    )
  }

  /**
   * @param {string} key
   * @param {(error: Error | null, found?: { current: number, ttl: number }) => void} done
   * @param {number} timeWindow
   * @param {number} max
   */
  read(key, done, timeWindow, max) {
    this.#look(key, timeWindow, max).then(
      (found) => done(null, found),
      (error) => done(error),
    )
  }

  /** @param {any} params */
  child(params) {
    const { method = '', url = '' } = params.routeInfo ?? {}
    return new Store(this.#counter, `${method}${url}-`, params)
  }

  /** @param {string} key */
  #named(key) {
    return `${this.#place}${keyOf(`${PLACE}, keyGenerator`, key)}`
  }

  /**
   * @param {string} key
   * @param {number} timeWindow
   * @param {number} max
   */
  async #hit(key, timeWindow, max) {
    const named = this.#named(key)
    const { hits, resetMs, blocked } = await this.#counter.hit(named, timeWindow)
    const current = blocked ? max + 1 : hits
    if (!this.#continues || current <= max) return { current, ttl: resetMs }
    await this.#counter.block(named, timeWindow, timeWindow)
    return { current, ttl: timeWindow }
  }

  /**
   * @param {string} key
   * @param {number} timeWindow
   * @param {number} max
   */
  async #look(key, timeWindow, max) {
    const { hits, resetMs, blocked } = await this.#counter.look(this.#named(key), timeWindow)
    return { current: blocked ? max + 1 : hits, ttl: resetMs }
  }
}

module.exports = { quotalock, rateLimitStore }
