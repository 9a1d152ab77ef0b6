// Limits that take a prefetch: in every package ten requests take one call, and the first one beyond the limit is refused.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import * as express from 'quotalock/express'
import { quotalock } from 'quotalock/fastify'
import * as hono from 'quotalock/hono'
import * as koa from 'quotalock/koa'
import * as nest from 'quotalock/nest'
import * as next from 'quotalock/next'
import { client, ownRedis } from '../../node/support.mjs'
import { framework } from './support.mjs'

/**
 * How a package is asked: tells the status of an answer, its type and its body.
 * @typedef {{ status: number, type?: string | null, body?: string }} Answer
 * @typedef {(name: string, policy: string, options: any) => Promise<() => Promise<Answer>>} Maker
 */

const socket = { remoteAddress: '192.0.2.1' }

/** An answer of Node's own, as far as the packages use it. */
function response() {
  /** @type {any} */
  const made = { statusCode: 200, headers: {}, body: '' }
  made.getHeader = (/** @type {string} */ name) => made.headers[name.toLowerCase()]
  made.setHeader = (/** @type {string} */ name, /** @type {string} */ value) => {
    made.headers[name.toLowerCase()] = value
  }
  made.end = (/** @type {string} */ body) => {
    made.body = body
  }
  made.answer = () => ({ status: made.statusCode, type: made.headers['content-type'], body: made.body })
  return made
}

/** @param {Response} reply */
async function fetched(reply) {
  return { status: reply.status, type: reply.headers.get('content-type'), body: await reply.text() }
}

/** @type {Record<string, Maker>} */
const packages = {
  async express(name, policy, options) {
    const limited = express.rateLimit(name, policy, options)
    return async () => {
      const made = response()
      await limited(/** @type {any} */ ({ headers: {}, socket }), made, assert.ifError)
      return made.answer()
    }
  },
  async koa(name, policy, options) {
    const limited = koa.rateLimit(name, policy, options)
    return async () => {
      const res = response()
      const context = { req: { headers: {}, socket }, res, status: 200, body: '', set: res.setHeader }
      await limited(/** @type {any} */ (context), async () => {})
      return { status: context.status, type: res.getHeader('Content-Type'), body: context.body }
    }
  },
  async fastify(name, policy, options) {
    const app = framework('fastify')()
    await app.register(quotalock, { name, policy, ...options })
    app.get('/', async () => 'found\n')
    return async () => {
      const { statusCode, headers, body } = await app.inject('/')
      return { status: statusCode, type: headers['content-type'], body }
    }
  },
  async hono(name, policy, options) {
    const app = new (framework('hono').Hono)()
    app.use(hono.rateLimit(name, policy, options))
    app.get('/', (/** @type {any} */ context) => context.text('found\n'))
    return async () => fetched(await app.request('/', {}, { incoming: { socket } }))
  },
  async next(name, policy, options) {
    const handler = next.rateLimit(name, policy, { key: () => '192.0.2.1', ...options })(() => new Response('found\n'))
    return async () => fetched(await handler(new Request('http://localhost/'), {}))
  },
}

for (const [name, make] of Object.entries(packages)) {
  test(`${name}: ten requests take one call with a prefetch of ten`, async (context) => {
    const { url, socket: file } = await ownRedis(context)
    const admin = new Redis(file)
    context.after(() => admin.disconnect())
    const ask = await make('a "b" é', '200/hour', { client: client(url), prefetch: 10 })
    const admitted = async (/** @type {number} */ count) => {
      for (let i = 0; i < count; i++) assert.equal((await ask()).status, 200)
    }
    // A prefetch begins small, and ends small when little is left.
    await admitted(50)
    await admin.config('RESETSTAT')
    await admitted(100)
    const calls = /cmdstat_evalsha:calls=(\d+),/.exec(await admin.info('commandstats'))
    assert.ok(Math.abs(Number(calls?.[1]) - 10) <= 1, `${calls?.[1]} calls for 100 requests`)
    await admitted(50)
    const { status, type, body } = await ask()
    assert.deepEqual([status, type], [429, 'application/problem+json'])
    const problem = JSON.parse(`${body}`)
    assert.deepEqual(problem['violated-policies'], ['a "b" é'])
    assert.equal(body, JSON.stringify(problem))
  })
}

test('nest: its middleware is that of express, and its guard takes a prefetch too', async () => {
  assert.equal(nest.rateLimit, express.rateLimit)
  const own = client('memory://')
  assert.throws(() => nest.rateLimitGuard('a', 'sliding-log 10/hour', { client: own, prefetch: 10 }), /prefetch/)
  assert.throws(() => express.rateLimit('a', '10/hour', { client: own, prefetch: 11 }), /limit "a": .*prefetch/)
})
