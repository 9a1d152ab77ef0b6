'use strict'

// For Nest: a guard, middleware, and a storage for @nestjs/throttler.

const { options } = require('../lib/argument.js')
const { Counter } = require('../lib/counter.js')
const { failure } = require('../lib/errors.js')
const { PROBLEM_TYPE, callerOf, put, putReply, withStatus } = require('../lib/http.js')
const { generated, ownName } = require('../lib/names.js')
const { Limits, TRIAL, at, keyOf } = require('../lib/web.js')
const { rateLimit } = require('./express.js')

const PLACE = 'quotalock/nest'

/** @type {typeof import('./nest.js').rateLimitGuard} */
function rateLimitGuard(/** @type {any} */ name, /** @type {any} */ policy, /** @type {any} */ given) {
  const limitsOf = limitsFor(name, policy, given)
  const { HttpException } = nest()
  const thrown = (/** @type {any} */ response, /** @type {import('../lib/web.js').Told} */ { status, body }) => {
    if (response?.raw !== undefined) response.header('Content-Type', PROBLEM_TYPE)
    else response?.setHeader?.('Content-Type', PROBLEM_TYPE)
    return new HttpException(JSON.parse(body), status)
  }
  return {
    async canActivate(/** @type {any} */ context) {
      const limits = limitsOf(context)
      const { request, response, source, one } = partsOf(context)
      /** @type {import('../lib/web.js').Decided | null} */
      let decision
      try {
        decision = await limits.decide(callerOf, source, one, request, context)
      } catch (error) {
        const unfit = limits.unfit(error)
        throw unfit === undefined ? error : thrown(response, unfit)
      }
      if (decision === null) return true
      const told = limits.told(decision)
      // Fastify's reply keeps its own headers.
      if (response?.raw !== undefined) putReply(response, told.fields)
      else if (response !== undefined) put(response, told.fields)
      if (decision.allowed) return true
      if (limits.onDenied !== undefined) {
        try {
          if ((await limits.onDenied(decision, request, context)) === true) return true
        } catch (error) {
          throw withStatus(error, told.status)
        }
        // Unless it has answered by itself: a guard that only says no is a 403.
        if (response?.headersSent || response?.sent) return false
      }
      throw thrown(response, told)
    },
  }
}

/** How many guards without a name a handler has, whose order is always the same. @type {WeakMap<object, WeakMap<object, number>>} */
const guards = new WeakMap()
/** The verbs of Nest's RequestMethod, in its order. */
const VERBS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'ALL', 'OPTIONS', 'HEAD', 'SEARCH']

/**
 * The limits of a guard; those without a name are of each handler of each class.
 * @param {any} name
 * @param {any} policy
 * @param {any} given
 * @returns {(context: any) => import('../lib/web.js').LimitsLike}
 */
function limitsFor(name, policy, given) {
  const isNamed = !Array.isArray(name) || name.every((one) => one?.name !== undefined)
  if (isNamed) {
    const limits = new Limits(PLACE, name, policy, given)
    return () => limits
  }
  // Invalid options are refused when the application starts.
  new Limits(PLACE, name, policy, given, TRIAL)
  /** @type {WeakMap<object, WeakMap<object, import('../lib/web.js').LimitsLike>>} */
  const made = new WeakMap()
  return (context) => {
    const [controller, handler] = [context.getClass(), context.getHandler()]
    const handlers = made.get(controller) ?? new WeakMap()
    made.set(controller, handlers)
    let limits = handlers.get(handler)
    if (limits === undefined) {
      limits = new Limits(PLACE, name, policy, given, namingOf(controller, handler))
      handlers.set(handler, limits)
    }
    return limits
  }
}

/**
 * Where a handler stands: its class and name, and the route, by which two classes of one name differ.
 * @param {any} controller
 * @param {any} handler
 * @returns {import('../lib/web.js').Naming}
 */
function namingOf(controller, handler) {
  const told = (/** @type {string} */ what, /** @type {any} */ of) =>
    /** @type {any} */ (globalThis.Reflect).getMetadata?.(what, of) ?? null
  const verb = VERBS[told('method', handler)]
  const handlers = guards.get(controller) ?? new WeakMap()
  const before = handlers.get(handler) ?? 0
  guards.set(controller, handlers.set(handler, before + 1))
  return {
    place: `${controller.name}.${handler.name}`,
    methods: verb === undefined || verb === 'ALL' ? [] : [verb],
    more: [before, ...['path', 'host', '__version__'].map((what) => told(what, controller)), told('path', handler)],
  }
}

/**
 * The request and the response of a call over HTTP. Of a message over a WebSocket they are the client and none, and each message
 * is charged.
 * @param {any} context
 */
function partsOf(context) {
  if (context.getType?.() === 'ws') {
    const client = context.switchToWs().getClient()
    // Of ws, and of Socket.IO.
    const source = { socket: client._socket ?? client.conn, headers: client.handshake?.headers ?? {} }
    return { request: client, response: undefined, source, one: source }
  }
  const http = context.switchToHttp()
  const [request, response] = [http.getRequest(), http.getResponse()]
  const source = request.raw ?? request
  return { request, response, source, one: source }
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
    this.#counter = at(PLACE, () => new Counter(client, ownName('name', name)))
  }

  /**
   * @param {string} key
   * @param {number} ttl
   * @param {number} limit
   * @param {number} blockDuration
   * @param {string} throttlerName
   */
  async increment(key, ttl, limit, blockDuration, throttlerName) {
    // Their key has the names of the class and the method, which two modules may share.
    const place = generated({ place: throttlerName, key: 'key', more: [limit, ttl, blockDuration] })
    const named = `${place} ${keyOf(`${PLACE}, throttler ${throttlerName}`, key)}`
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
