'use strict'

// For Fastify: a plugin, and a store for @fastify/rate-limit.

const { options } = require('../lib/argument.js')
const { failure } = require('../lib/errors.js')
const { Counter } = require('../lib/counter.js')
const { PROBLEM_TYPE, callerOf, putReply } = require('../lib/http.js')
const { generated, ownName } = require('../lib/names.js')
const { Limits, at, checkOptions, keyOf } = require('../lib/web.js')

const PLACE = 'quotalock/fastify'
/** Stands for the routes that share their counts. */
const EVERYWHERE = '*'
const HOOKS = ['onRequest', 'preParsing', 'preValidation', 'preHandler']

/** How many plugins an application has registered with limits of a prefix, in their order. @type {WeakMap<object, number>} */
const registered = new WeakMap()

/**
 * The plugin. A route's `config.quotalock` has limits of its own, or is false; `notFound` is the same for what no route has.
 * @param {any} fastify
 * @param {any} given
 */
async function quotalock(fastify, { prefix: _prefix, limits, hook = 'onRequest', notFound, ...given }) {
  if (!HOOKS.includes(hook)) throw failure('invalid_argument', `${PLACE}: hook is none of ${HOOKS.join(', ')}`)
  const order = registered.get(fastify.server) ?? 0
  registered.set(fastify.server, order + 1)
  const { name, policy, ...common } = given
  const isEverywhere = name !== undefined || policy !== undefined || limits !== undefined
  const all = { place: `${fastify.prefix}/*`, more: ['everywhere', order] }
  const everywhere = isEverywhere ? handlerOf(PLACE, { limits, ...given }, all) : null
  // With nothing but what routes have in common, that is looked at now too.
  if (everywhere === null) checkOptions(PLACE, common)
  fastify.addHook('onRoute', (/** @type {any} */ route) => {
    const { method, url, config, constraints = null } = route
    const naming = { place: url, methods: [method].flat(), more: ['route', constraints, order] }
    const handler = handlerFor(`${PLACE}, ${method} ${url}`, config?.quotalock, naming)
    if (handler !== null) route[hook] = [...[route[hook] ?? []].flat(), handler]
  })
  const unfound = handlerFor(`${PLACE}, notFound`, notFound, {
    place: `${fastify.prefix}/*`,
    more: ['not found', order],
  })
  if (unfound === null) return
  // Fastify tells onRoute of no route for these; the hooks of the application run for them too.
  fastify.addHook(hook, async (/** @type {any} */ request, /** @type {any} */ reply) =>
    request.is404 ? unfound(request, reply) : undefined,
  )

  /** @param {string} place @param {any} own @param {import('../lib/web.js').Naming} naming */
  function handlerFor(place, own, naming) {
    return own === undefined ? everywhere : own === false ? null : handlerOf(place, { ...common, ...own }, naming)
  }
}

/**
 * A hook that asks limits.
 * @param {string} place
 * @param {any} given
 * @param {import('../lib/web.js').Naming} naming
 */
function handlerOf(place, { limits: several, name, policy, ...given }, naming) {
  const limits = several
    ? new Limits(place, several, given, undefined, naming)
    : new Limits(place, name, policy, given, naming)
  return async (/** @type {any} */ request, /** @type {any} */ reply) => {
    /** @type {import('../lib/web.js').Decided | null} */
    let decision
    try {
      decision = await limits.decide(callerOf, request.raw, request.raw, request, reply)
    } catch (error) {
      const unfit = limits.unfit(error)
      if (unfit === undefined) throw error
      return answer(reply, unfit)
    }
    if (decision === null) return
    const told = limits.told(decision)
    putReply(reply, told.fields)
    if (decision.allowed) return
    if (limits.onDenied === undefined) return answer(reply, told)
    // The status of an answer of its own, unless it sets one.
    reply.code(told.status)
    const body = await limits.onDenied(decision, request, reply)
    if (reply.sent || body === reply) return reply
    return body === undefined ? answer(reply, told) : reply.send(body)
  }
}

/**
 * @param {any} reply
 * @param {import('../lib/web.js').Told} told
 */
function answer(reply, { status, body }) {
  return reply.code(status).header('Content-Type', PROBLEM_TYPE).serializer(asIs).send(body)
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
  const counter = at(PLACE, () => new Counter(client, ownName('name', name)))
  return class extends Store {
    /** @param {any} params */
    constructor(params) {
      super(counter, EVERYWHERE, params)
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
    const { max, timeWindow, routeInfo: { method = '', url = '' } = {} } = params
    // As theirs, which counts HEAD apart from the GET of its route.
    const more = [typeof max === 'number' ? max : 'max', typeof timeWindow === 'number' ? timeWindow : 'timeWindow']
    return new Store(this.#counter, generated({ place: `${method} ${url}`, key: 'key', more }), params)
  }

  /** @param {string} key */
  #named(key) {
    return `${this.#place} ${keyOf(`${PLACE}, keyGenerator`, key)}`
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
