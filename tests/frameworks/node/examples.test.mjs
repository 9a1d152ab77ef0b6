// Each example, started as its readers start it and asked over HTTP.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ownRedis } from '../../node/support.mjs'
import { start, until } from './support.mjs'

const EXAMPLES = ['express', 'fastify', 'hono', 'koa', 'nest', 'nest on fastify']
/** What counts by the store of another package. */
const STORES = ['express', 'fastify', 'hono', 'nest', 'nest on fastify']

/** @typedef {Awaited<ReturnType<typeof start>>} App */

/**
 * The first refusal, after three answers at most of each window that may have begun; and how many answers there were.
 * @param {App} app
 * @param {string} path
 * @param {(answered: number) => Record<string, string>} headers
 */
async function denied(app, path = '/search', headers = () => ({})) {
  const began = performance.now()
  for (let answered = 0; ; answered++) {
    const reply = await app.get(path, headers(answered))
    if (reply.status !== 200) return { ...reply, answered }
    // One has begun before, and one may begin every two seconds.
    const tookMs = performance.now() - began
    assert.ok(answered + 1 <= 3 * (Math.floor(tookMs / 2_000) + 2), 'too little was refused')
    assert.ok(tookMs < 60_000, 'nothing was refused')
  }
}

/**
 * A folder for a Redis that is started twice.
 * @param {import('node:test').TestContext} context
 */
function folder(context) {
  const made = mkdtempSync(join(tmpdir(), 'ql-'))
  context.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** @param {import('node:child_process').ChildProcess} server */
async function stop(server) {
  server.kill('SIGKILL')
  if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
}

for (const name of EXAMPLES) {
  test(`${name}: from nothing to a proper 429`, async (context) => {
    const { url } = await ownRedis(context)
    const app = await start(context, name, url)
    const first = await app.get('/search')
    assert.equal(first.status, 200, app.log())
    assert.equal(first.body, 'found\n')
    assert.equal(first.headers.get('retry-after'), null)
    assert.equal(first.headers.get('ratelimit-policy'), '"search";q=3;w=2')
    assert.match(`${first.headers.get('ratelimit')}`, /^"search";r=2;t=2$/)
    assert.equal(first.headers.get('x-ratelimit-limit'), '3')
    const refused = await denied(app)
    assert.equal(refused.status, 429)
    assert.match(`${refused.headers.get('retry-after')}`, /^[12]$/)
    assert.match(`${refused.headers.get('ratelimit')}`, /^"search";r=0;t=[12]$/)
    // Express adds what JSON does not need.
    assert.match(`${refused.headers.get('content-type')}`, /^application\/problem\+json(; charset=utf-8)?$/)
    const problem = JSON.parse(refused.body)
    assert.equal(problem.status, 429)
    assert.match(problem.type, /quota-exceeded$/)
    assert.deepEqual(problem['violated-policies'], ['search'])
    assert.doesNotMatch(refused.body, /127\.0\.0\.1/)
    await until(async () => (await app.get('/search')).status === 200)
    for (let asked = 0; asked < 7; asked++) assert.equal((await app.get('/health')).status, 200)
  })

  test(`${name}: nobody is believed about an address`, async (context) => {
    const { url } = await ownRedis(context)
    const app = await start(context, name, url)
    const refused = await denied(app, '/search', (answered) => ({ 'x-forwarded-for': `203.0.113.${answered % 250}` }))
    assert.equal(refused.status, 429)
  })

  test(`${name}: Redis is away and everything is refused`, async (context) => {
    const place = folder(context)
    const { url, server } = await ownRedis(context, place)
    const app = await start(context, name, url, 'closed')
    assert.equal((await app.get('/search')).status, 200)
    await stop(server)
    const refused = await app.get('/search')
    assert.equal(refused.status, 503)
    assert.ok(Number(refused.headers.get('retry-after')) >= 1)
    assert.equal(refused.headers.get('ratelimit'), null)
    assert.match(JSON.parse(refused.body).type, /temporary-reduced-capacity$/)
    assert.equal((await app.get('/health')).status, 200)
    await ownRedis(context, place)
    await until(async () => (await app.get('/search')).status === 200)
  })

  test(`${name}: Redis is away and everything passes`, async (context) => {
    const place = folder(context)
    const { url, server } = await ownRedis(context, place)
    const app = await start(context, name, url, 'open')
    await stop(server)
    for (let asked = 0; asked < 5; asked++) {
      const reply = await app.get('/search')
      assert.equal(reply.status, 200)
      assert.equal(reply.headers.get('ratelimit'), null)
    }
    await ownRedis(context, place)
    await until(async () => (await app.get('/search')).headers.has('ratelimit'))
  })

  test(`${name}: Redis is away and each process counts`, async (context) => {
    const { url, server } = await ownRedis(context)
    const app = await start(context, name, url, 'local')
    await stop(server)
    assert.equal((await app.get('/search')).status, 200)
    assert.equal((await denied(app)).status, 429)
  })

  test(`${name}: Redis is away and that is an error`, async (context) => {
    const place = folder(context)
    const { url, server } = await ownRedis(context, place)
    const app = await start(context, name, url, 'raise')
    await stop(server)
    assert.equal((await app.get('/search')).status, 500)
    await ownRedis(context, place)
    await until(async () => (await app.get('/search')).status === 200)
  })
}

for (const name of STORES) {
  test(`${name}: the package that it had counts in Redis`, async (context) => {
    const place = folder(context)
    const { url, server } = await ownRedis(context, place)
    const app = await start(context, name, url)
    assert.equal((await app.get('/old')).status, 200, app.log())
    const refused = await denied(app, '/old')
    assert.equal(refused.status, 429)
    assert.match(`${refused.headers.get('retry-after')}`, /^[12]$/)
    await until(async () => (await app.get('/old')).status === 200)
    await stop(server)
    // Hono takes no status from an error of another's.
    assert.equal((await app.get('/old')).status, name === 'hono' ? 500 : 503)
  })
}

test('express: several limits are one decision', async (context) => {
  const { url } = await ownRedis(context)
  const app = await start(context, 'express', url)
  const first = await app.get('/report')
  assert.equal(first.headers.get('ratelimit-policy'), '"report";q=3;w=2, "reports";q=1000;w=3600')
  const refused = await denied(app, '/report')
  assert.deepEqual(JSON.parse(refused.body)['violated-policies'], ['report'])
  // The refused one cost the other limit nothing.
  const left = Number(/"reports";r=(\d+)/.exec(`${refused.headers.get('ratelimit')}`)?.[1])
  assert.equal(left, 1000 - 1 - refused.answered)
})
