// What express-rate-limit and @nestjs/throttler document of themselves, on Quotalock's store and storage.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Client, testing } from 'quotalock'
import { QuotalockStore } from 'quotalock/express'
import { rateLimitStore } from 'quotalock/fastify'
import { QuotalockThrottlerStorage } from 'quotalock/nest'
import { client, stores } from '../../node/support.mjs'
import { framework } from './support.mjs'

const express = framework('express')
const { rateLimit } = framework('express-rate-limit')

/** @typedef {Record<string, any>} Options */

/**
 * An application with express-rate-limit, asked over HTTP.
 * @param {import('node:test').TestContext} context
 * @param {Options} options
 */
async function limited(context, options) {
  const limiter = rateLimit({ windowMs: 60_000, ...options })
  const app = express()
  app.use(limiter)
  app.get('/', (/** @type {any} */ request, /** @type {any} */ response) => {
    response.status(Number(request.query.status ?? 200)).json(request.rateLimit ?? null)
  })
  const server = app.listen(0, '127.0.0.1')
  context.after(() => server.close())
  await once(server, 'listening')
  const get = async (/** @type {Record<string, string>} */ headers = {}, query = '') => {
    const url = `http://127.0.0.1:${server.address().port}/${query}`
    const reply = await fetch(url, { headers: { connection: 'close', ...headers } })
    const body = await reply.text()
    return { status: reply.status, headers: reply.headers, body }
  }
  return { get, limiter }
}

for (const [name, url] of Object.entries(stores())) {
  const own = () => client(url)

  test(`limit and windowMs, and the headers of each draft (${name})`, async (context) => {
    const store = new QuotalockStore('api', { client: own() })
    const { get } = await limited(context, { limit: 2, standardHeaders: 'draft-6', store })
    const first = await get()
    assert.equal(first.headers.get('ratelimit-limit'), '2')
    assert.equal(first.headers.get('ratelimit-remaining'), '1')
    assert.equal(first.headers.get('ratelimit-policy'), '2;w=60')
    assert.equal(first.headers.get('x-ratelimit-remaining'), '1')
    const { limit, used, remaining, resetTime } = JSON.parse(first.body)
    assert.deepEqual([limit, used, remaining], [2, 1, 1])
    assert.ok(Math.abs(Date.parse(resetTime) - Date.now() - 60_000) < 10_000)
    assert.equal((await get()).status, 200)
    const denied = await get()
    assert.equal(denied.status, 429)
    assert.equal(denied.body, 'Too many requests, please try again later.')
    const retryAfter = Number(denied.headers.get('retry-after'))
    assert.ok(retryAfter >= 50 && retryAfter <= 60)
  })

  test(`statusCode, message and handler (${name})`, async (context) => {
    const store = new QuotalockStore('api', { client: own() })
    const { get } = await limited(context, { limit: 1, statusCode: 420, message: { calm: true }, store })
    await get()
    const denied = await get()
    assert.equal(denied.status, 420)
    assert.deepEqual(JSON.parse(denied.body), { calm: true })
  })

  test(`keyGenerator counts each key apart, and skip none (${name})`, async (context) => {
    const store = new QuotalockStore('api', { client: own() })
    const { get } = await limited(context, {
      limit: 1,
      keyGenerator: (/** @type {any} */ request) => request.headers['x-user'],
      skip: (/** @type {any} */ request) => request.headers['x-user'] === 'admin',
      store,
    })
    const statuses = []
    for (const user of ['a', 'b', 'a', 'admin', 'admin']) statuses.push((await get({ 'x-user': user })).status)
    assert.deepEqual(statuses, [200, 200, 429, 200, 200])
  })

  test(`a limit that a function tells (${name})`, async (context) => {
    const store = new QuotalockStore('api', { client: own() })
    const limit = (/** @type {any} */ request) => (request.headers['x-paid'] ? 3 : 1)
    const { get } = await limited(context, { limit, store })
    assert.equal((await get()).status, 200)
    assert.equal((await get()).status, 429)
    assert.equal((await get({ 'x-paid': 'yes' })).status, 200)
    assert.equal((await get({ 'x-paid': 'yes' })).status, 429)
  })

  for (const [option, free, counted] of [
    ['skipFailedRequests', '?status=500', ''],
    ['skipSuccessfulRequests', '', '?status=500'],
  ]) {
    test(`${option} (${name})`, async (context) => {
      const store = new QuotalockStore('api', { client: own() })
      const { get } = await limited(context, { limit: 2, [String(option)]: true, store })
      const address = '127.0.0.1'
      const settled = async (/** @type {number} */ hits) => {
        // They are taken back after the response.
        while (((await store.get(address))?.totalHits ?? 0) !== hits) await new Promise((go) => setImmediate(go))
      }
      for (let asked = 0; asked < 4; asked++) {
        assert.notEqual((await get({}, free)).status, 429)
        await settled(0)
      }
      for (let asked = 0; asked < 2; asked++) assert.notEqual((await get({}, counted)).status, 429)
      assert.equal((await get({}, counted)).status, 429)
    })
  }

  test(`resetKey and getKey (${name})`, async (context) => {
    const store = new QuotalockStore('api', { client: own() })
    const { get, limiter } = await limited(context, { limit: 1, keyGenerator: () => 'one', store })
    assert.equal(await limiter.getKey('one'), undefined)
    await get()
    assert.equal((await limiter.getKey('one')).totalHits, 1)
    assert.equal((await get()).status, 429)
    await limiter.resetKey('one')
    assert.equal((await get()).status, 200)
  })

  test(`processes and instances of one name count together, others apart (${name})`, async () => {
    const shared = own()
    const [first, second, other] = ['api', 'api', 'login'].map((each) => new QuotalockStore(each, { client: shared }))
    for (const store of [first, second, other]) store?.init({ windowMs: 60_000 })
    const counts = await Promise.all(Array.from({ length: 40 }, (_, i) => (i % 2 ? first : second)?.increment('a')))
    assert.deepEqual(
      counts.map((count) => count?.totalHits).sort((a = 0, b = 0) => a - b),
      Array.from({ length: 40 }, (_, i) => i + 1),
    )
    assert.equal((await other?.increment('a'))?.totalHits, 1)
  })

  test(`@nestjs/throttler: ttl, limit and blockDuration (${name})`, async () => {
    const shared = own()
    const storage = new QuotalockThrottlerStorage({ client: shared })
    const at = (/** @type {number} */ seconds) => testing.setTime(shared, 1e15 + seconds * 1e6)
    const ask = () => storage.increment('a', 10_000, 2, 30_000, 'default')
    at(0)
    assert.deepEqual(await ask(), { totalHits: 1, timeToExpire: 10, isBlocked: false, timeToBlockExpire: 0 })
    at(4)
    assert.deepEqual(await ask(), { totalHits: 2, timeToExpire: 6, isBlocked: false, timeToBlockExpire: 0 })
    const crossed = await ask()
    assert.deepEqual([crossed.totalHits, crossed.isBlocked, crossed.timeToBlockExpire], [3, true, 30])
    // Asking while it is blocked lengthens nothing.
    at(24)
    const blocked = await ask()
    assert.deepEqual([blocked.totalHits, blocked.isBlocked, blocked.timeToBlockExpire], [3, true, 10])
    at(34.5)
    assert.deepEqual(await ask(), { totalHits: 1, timeToExpire: 10, isBlocked: false, timeToBlockExpire: 0 })
  })

  test(`@nestjs/throttler: a block that is shorter than the window ends when it says (${name})`, async () => {
    const shared = own()
    const storage = new QuotalockThrottlerStorage({ client: shared })
    const at = (/** @type {number} */ seconds) => testing.setTime(shared, 1e15 + seconds * 1e6)
    const ask = () => storage.increment('a', 60_000, 1, 5000, 'default')
    at(0)
    await ask()
    assert.equal((await ask()).timeToBlockExpire, 5)
    at(5.5)
    assert.deepEqual(await ask().then(({ totalHits, isBlocked }) => [totalHits, isBlocked]), [1, false])
  })
}

test('a store says at the start what cannot be, and refuses what it does not promise', async () => {
  assert.throws(() => new QuotalockStore(''), /QuotalockStore: .*name/)
  assert.throws(() => new QuotalockStore(/** @type {any} */ ({ client: 1 })), /QuotalockStore: name/)
  assert.throws(() => new QuotalockStore('a', /** @type {any} */ ({ prefix: 'x' })), /option 'prefix' is unknown/)
  assert.throws(() => new QuotalockStore('a').init({ windowMs: 1e18 }), /QuotalockStore: .*period/)
  const store = new QuotalockStore('a', { client: new Client('memory://') })
  await assert.rejects(store.increment(/** @type {any} */ (undefined)), { code: 'invalid_argument' })
  await assert.rejects(store.increment(''), { code: 'invalid_argument' })
  await assert.rejects(store.resetAll(), /one key|each key/)
  const Store = rateLimitStore('a', { client: new Client('memory://') })
  assert.throws(() => new Store({ exponentialBackoff: true }), /exponentialBackoff is not supported/)
  assert.throws(() => new Store({ continueExceeding: true, ban: 2 }), /ban beside continueExceeding/)
  assert.throws(() => new QuotalockThrottlerStorage({ name: '' }), /quotalock\/nest: .*name/)
})

test('a store whose Redis is away', async () => {
  const away = (/** @type {any} */ onError) =>
    new QuotalockStore('a', { client: client('redis://127.0.0.1:1', { onError }) })
  await assert.rejects(away('raise').increment('a'), { code: 'unavailable' })
  await assert.rejects(away('closed').increment('a'), { code: 'unavailable', status: 503 })
  assert.equal((await away('open').increment('a')).totalHits, 1)
  const local = away('local')
  await local.increment('a')
  assert.equal((await local.increment('a')).totalHits, 2)
})
