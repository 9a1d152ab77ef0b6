// One application in each framework, from the same description: what the matrix asks.

import { once } from 'node:events'
import { createServer } from 'node:http'
import * as express from 'quotalock/express'
import { quotalock } from 'quotalock/fastify'
import * as hono from 'quotalock/hono'
import * as koa from 'quotalock/koa'
import * as nest from 'quotalock/nest'
import * as next from 'quotalock/next'
import { framework, INSTALLED } from './support.mjs'

/**
 * A limit: its options are the framework's own.
 * @typedef {{ name?: string | undefined, policy: string, options: Record<string, any> }} Limit
 * @typedef {{ prefix: string, name: string, methods: string[], path: string, limits: Limit[] }} Route
 * @typedef {{ everywhere: Limit[], notFound: Limit[], routes: Route[], common: Record<string, any> }} App
 * @typedef {{ method: string, path: string, headers?: Record<string, string>, body?: string | undefined }} Sent
 * @typedef {(sent: Sent) => Promise<Response>} Send
 * @typedef {{
 *   isNameless?: boolean, none?: Record<string, string>, field: (name: string) => (...request: any[]) => any,
 *   ownBodies: Record<string, (decision: any, ...request: any[]) => any>,
 *   build: (app: App, context: import('node:test').TestContext) => Promise<Send>
 * }} Framework
 */

// Nest is found from where an application is started.
process.chdir(INSTALLED)

/** What an application sets itself for pages of other origins. */
export const OWN_EXPOSED = 'X-Own'
const NO_SOCKETS = 'it has no websockets'

/** What several limits of one route are, in one call. @param {Limit[]} limits */
const together = (limits) => limits.map(({ name, policy, options: { key } }) => ({ name, policy, key }))

/** The options of a limit that all of a route have in common. @param {Limit} limit */
const shared = ({ options: { key: _key, ...options } }) => options

/**
 * Middleware of a package, one for each limit.
 * @param {any} rateLimit
 * @param {Limit[]} limits
 * @param {Record<string, any>} common
 */
const each = (rateLimit, limits, common) =>
  limits.map(({ name, policy, options }) => rateLimit(name, policy, { ...common, ...options }))

/** @param {(request: any, response: any) => any} listener @param {import('node:test').TestContext} context @returns {Promise<Send>} */
async function listening(listener, context) {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => server.closeAllConnections() ?? server.close())
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return ({ path, ...sent }) =>
    fetch(`http://127.0.0.1:${port}${path}`, { ...sent, headers: { ...sent.headers, connection: 'close' } })
}

/** Reads a body of JSON, as applications do; what is no JSON is no body. @param {any} request */
async function bodyOf(request) {
  let text = ''
  for await (const chunk of request) text += chunk
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** @type {Framework} */
const onExpress = {
  none: { websocket: NO_SOCKETS },
  field: (name) => (request) => request.body[name],
  ownBodies: {
    send: (_decision, _request, response) => response.send('slowly'),
    json: (_decision, _request, response) => response.json('slowly'),
    end: (_decision, _request, response) => response.end('slowly'),
    error: () => {
      throw new Error('slowly')
    },
  },
  async build({ everywhere, notFound, routes, common }, context) {
    const Express = framework('express')
    const app = Express()
    // Its own answer to an error, without a log.
    app.set('env', 'test')
    app.use(
      Express.json({ strict: false }),
      (/** @type {any} */ _, /** @type {any} */ response, /** @type {any} */ next) => {
        response.setHeader('Access-Control-Expose-Headers', OWN_EXPOSED)
        next()
      },
    )
    for (const limited of each(express.rateLimit, everywhere, common)) app.use(limited)
    /** @type {Map<string, any>} */
    const routers = new Map()
    for (const { prefix, path, methods, limits } of routes) {
      const router = routers.get(prefix) ?? Express.Router()
      if (!routers.has(prefix)) app.use(prefix || '/', router)
      routers.set(prefix, router)
      for (const method of methods) {
        router[method.toLowerCase()](
          path,
          ...each(express.rateLimit, limits, common),
          (/** @type {any} */ _, /** @type {any} */ response) => response.send('ok'),
        )
      }
    }
    for (const limited of each(express.rateLimit, notFound, common)) app.use(limited)
    return listening(app, context)
  },
}

/** @type {Framework} */
const onKoa = {
  none: { websocket: NO_SOCKETS },
  field: (name) => (context) => context.request.body[name],
  ownBodies: {
    body: (_decision, context) => {
      context.body = 'slowly'
    },
    json: (_decision, context) => {
      context.body = { detail: 'slowly' }
    },
    nothing: () => undefined,
    error: () => {
      throw new Error('slowly')
    },
    thrown: (_decision, context) => context.throw(429, 'slowly'),
  },
  async build({ everywhere, notFound, routes, common }, context) {
    const app = new (framework('koa'))()
    app.silent = true
    app.use(async (/** @type {any} */ context, /** @type {any} */ next) => {
      context.request.body = await bodyOf(context.req)
      context.set('Access-Control-Expose-Headers', OWN_EXPOSED)
      await next()
    })
    const made = (/** @type {Limit[]} */ limits) => each(koa.rateLimit, limits, common)
    const all = made(everywhere)
    const table = routes.flatMap(({ prefix, path, methods, limits }) =>
      methods.map((method) => ({ method, path: `${prefix}${path}`, limits: made(limits) })),
    )
    const none = { limits: made(notFound) }
    app.use(async (/** @type {any} */ context, /** @type {any} */ next) => {
      const method = context.method === 'HEAD' ? 'GET' : context.method
      const found = table.find((route) => route.method === method && route.path === context.path)
      const chain = [...all, ...(found ?? none).limits]
      const run = async (/** @type {number} */ at) => {
        const middleware = chain[at]
        if (middleware !== undefined) return middleware(context, () => run(at + 1))
        if (found === undefined) return next()
        context.body = 'ok'
      }
      await run(0)
    })
    return listening(app.callback(), context)
  },
}

/** @type {Framework} */
const onHono = {
  none: { websocket: NO_SOCKETS },
  field: (name) => async (context) => (await context.req.json())[name],
  ownBodies: {
    text: (_decision, context) => context.text('slowly'),
    json: (_decision, context) => context.json('slowly'),
    response: () => new Response('slowly'),
    error: () => {
      throw new Error('slowly')
    },
  },
  async build({ everywhere, notFound, routes, common }, context) {
    const { Hono } = framework('hono')
    const { getRequestListener } = framework('@hono/node-server')
    const app = new Hono()
    app.use(async (/** @type {any} */ context, /** @type {any} */ next) => {
      context.header('Access-Control-Expose-Headers', OWN_EXPOSED)
      await next()
    })
    for (const limited of each(hono.rateLimit, everywhere, common)) app.use(limited)
    for (const { prefix, path, methods, limits } of routes) {
      const sub = new Hono()
      for (const method of methods) {
        sub.on(method, path, ...each(hono.rateLimit, limits, common), (/** @type {any} */ context) =>
          context.text('ok'),
        )
      }
      app.route(prefix || '/', sub)
    }
    for (const limited of each(hono.rateLimit, notFound, common)) app.use(limited)
    return listening(getRequestListener(app.fetch), context)
  },
}

/** @type {Framework} */
const onFastify = {
  isNameless: true,
  none: { websocket: 'without a plugin it has no websockets' },
  field: (name) => (request) => request.body[name],
  ownBodies: {
    send: (_decision, _request, reply) => reply.send('slowly'),
    returned: () => 'slowly',
    nothing: () => undefined,
    error: () => {
      throw new Error('slowly')
    },
  },
  async build({ everywhere, notFound, routes, common }) {
    const app = framework('fastify')({ routerOptions: { ignoreTrailingSlash: true } })
    app.addHook('onRequest', async (/** @type {any} */ _, /** @type {any} */ reply) => {
      reply.header('Access-Control-Expose-Headers', OWN_EXPOSED)
    })
    const own = (/** @type {Limit[]} */ limits) =>
      limits[0] === undefined ? undefined : { ...shared(limits[0]), limits: together(limits) }
    // A body is read after onRequest.
    const plugin = { ...common, hook: 'preHandler', notFound: own(notFound) }
    for (const one of everywhere)
      await app.register(quotalock, { ...plugin, ...one.options, name: one.name, policy: one.policy })
    if (everywhere.length === 0) await app.register(quotalock, plugin)
    for (const { prefix, path, methods, limits } of routes) {
      await app.register(
        async (/** @type {any} */ sub) => {
          sub.route({ method: methods, url: path, config: { quotalock: own(limits) }, handler: async () => 'ok' })
        },
        { prefix },
      )
    }
    return async ({ path, body, ...sent }) => {
      const headers = { ...sent.headers }
      const {
        statusCode,
        headers: told,
        payload,
      } = await app.inject({ ...sent, headers, url: path, ...(body && { payload: body }) })
      return new Response(payload, { status: statusCode, headers: Object.entries(told).map(([n, v]) => [n, `${v}`]) })
    }
  },
}

/** @param {string} platform @returns {Framework} */
function onNest(platform) {
  return {
    isNameless: true,
    field: (name) => (request) => request.body[name],
    ownBodies: {
      exception: () => {
        throw new (framework('@nestjs/common').HttpException)('slowly', 429)
      },
      error: () => {
        throw new Error('slowly')
      },
      nothing: () => undefined,
      no: () => false,
    },
    async build({ everywhere, notFound, routes, common }, context) {
      framework('reflect-metadata')
      const core = framework('@nestjs/core')
      const { Controller, HttpCode, Module, RequestMethod, UseGuards, RequestMapping } = framework('@nestjs/common')
      const guards = (/** @type {Limit[]} */ limits) =>
        limits.map(({ name, policy, options: { key, ...options } }) =>
          nest.rateLimitGuard([{ ...(name && { name }), policy, key }], { ...common, ...options }),
        )
      // Two controllers of one name that inherit their handler.
      class Base {
        handle() {
          return 'ok'
        }
      }
      const controllers = routes.map(({ prefix, path, methods, limits }) => {
        const Made = { Pages: class extends Base {} }.Pages
        Object.defineProperty(Made.prototype, 'handle', { value: () => 'ok', configurable: true, writable: true })
        const method = [Made.prototype, 'handle', Object.getOwnPropertyDescriptor(Made.prototype, 'handle')]
        for (const verb of methods) RequestMapping({ path, method: RequestMethod[verb] })(...method)
        HttpCode(200)(...method)
        if (limits.length > 0) UseGuards(...guards(limits))(...method)
        Controller(prefix)(Made)
        return Made
      })
      class App {
        /** @param {any} consumer */
        configure(consumer) {
          const own = (/** @type {any} */ _, /** @type {any} */ response, /** @type {any} */ next) => {
            response.setHeader('Access-Control-Expose-Headers', OWN_EXPOSED)
            next()
          }
          consumer.apply(own, ...each(nest.rateLimit, notFound, common)).forRoutes('{*all}')
        }
      }
      Module({ controllers })(App)
      const adapter = platform === 'fastify' ? [new (framework('@nestjs/platform-fastify').FastifyAdapter)()] : []
      const app = await core.NestFactory.create(App, ...adapter, { logger: false })
      if (everywhere.length > 0) app.useGlobalGuards(...guards(everywhere))
      await app.listen(0, '127.0.0.1')
      context.after(() => app.close())
      const url = await app.getUrl()
      return ({ path, ...sent }) =>
        fetch(`${url}${path}`, { ...sent, headers: { connection: 'close', ...sent.headers } })
    },
  }
}

/** @type {Framework} */
const onNext = {
  none: {
    websocket: NO_SOCKETS,
    not_found: 'a path without a handler is answered by Next',
    defaults: 'it has no default limits: a wrapper is of its handler',
  },
  field: (name) => async (request) => (await request.clone().json())[name],
  ownBodies: {
    response: () => new Response('slowly'),
    json: () => Response.json('slowly'),
    nothing: () => undefined,
  },
  async build({ routes, common }) {
    const table = routes.flatMap(({ prefix, path, methods, limits }) => {
      const wrappers = each(next.rateLimit, limits, common)
      /** @type {any} */
      let handler = async () => new Response('ok')
      for (const wrap of wrappers.reverse()) handler = wrap(handler)
      return methods.map((method) => ({ method, path: `${prefix}${path}`, handler }))
    })
    return async ({ path, method, body, headers }) => {
      // As Next does: HEAD is its GET, and OPTIONS is answered by Next.
      const asked = method === 'HEAD' ? 'GET' : method
      const found = table.find((route) => route.method === asked && route.path === path)
      if (found === undefined) return new Response(null, { status: method === 'OPTIONS' ? 204 : 404 })
      const given = body === undefined ? {} : { body }
      const reply = await found.handler(
        new Request(`http://localhost${path}`, { method, headers: headers ?? {}, ...given }),
        {},
      )
      reply.headers.append('Access-Control-Expose-Headers', OWN_EXPOSED)
      return reply
    }
  },
}

/** @type {Record<string, Framework>} */
export const frameworks = {
  express: onExpress,
  fastify: onFastify,
  hono: onHono,
  koa: onKoa,
  'nest on express': onNest('express'),
  'nest on fastify': onNest('fastify'),
  next: onNext,
}
