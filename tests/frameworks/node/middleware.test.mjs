// What the packages refuse at the start, whom they count, and Next's handlers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'quotalock'
import * as express from 'quotalock/express'
import { quotalock } from 'quotalock/fastify'
import * as hono from 'quotalock/hono'
import * as koa from 'quotalock/koa'
import * as nest from 'quotalock/nest'
import { rateLimit } from 'quotalock/next'
import { client } from '../../node/support.mjs'
import { framework, until } from './support.mjs'

const Fastify = framework('fastify')
const makers = Object.entries({ express, hono, koa, nest }).map(([name, { rateLimit: make }]) => [name, make])

for (const [name, make] of /** @type {[string, any][]} */ (makers)) {
  test(`${name}: what cannot be is told at the start, with its place`, () => {
    const place = name === 'nest' ? 'express' : name
    /** @type {[any[], RegExp][]} */
    const refused = [
      [['login', '10/fortnight'], /^quotalock\/\w+, limit "login": unit "fortnight"/],
      [['', '10/minute'], /^quotalock\/\w+, limit "": .*name/],
      [['login'], /limit "login": policy/],
      [['login', '10/minute', { keys: 1 }], /option 'keys' is unknown/],
      [['login', '10/minute', { key: 'ip' }], /limit "login": key 'ip' is a string: give a function/],
      [['login', '10/minute', { cost: 0 }], /limit "login": cost 0 .*: give a whole number, 1 or more/],
      [['login', '10/minute', { cost: Number.NaN }], /limit "login": cost NaN/],
      [['login', '10/minute', { cost: '2' }], /limit "login": cost '2' is a string/],
      [['login', '10/minute', { trusted: ['0.0.0.0/0'] }], /is everybody/],
      [['login', '10/minute', { trusted: 'loopback' }], /trusted/],
      [['login', '10/minute', { client: 'redis://:secret@h' }], /client is a string: give a Client/],
      [['login', '10/minute', { syntax: 'draft-3' }], /draft-3/],
      [[[]], /limits/],
      [[[{ name: 'a', policy: '1/minute' }], { key: () => 'a' }], /option 'key' is unknown/],
    ]
    for (const [given, message] of refused) {
      assert.throws(
        () => make(...given),
        (/** @type {any} */ error) => {
          assert.match(error.message, message)
          assert.ok(error.message.startsWith(`quotalock/${place}`), error.message)
          return true
        },
      )
    }
  })
}

/**
 * Asks Express' middleware about a request.
 * @param {(request: any, response: any, next: (error?: any) => void) => Promise<void>} middleware
 * @param {any} request
 */
async function asked(middleware, request) {
  /** @type {Record<string, any>} */
  const headers = {}
  /** @type {any} */
  const told = { next: 0 }
  const response = {
    getHeader: (/** @type {string} */ name) => headers[name],
    setHeader: (/** @type {string} */ name, /** @type {string} */ value) => {
      headers[name] = value
    },
    end: (/** @type {string} */ body) => Object.assign(told, { body }),
  }
  await middleware({ headers: {}, socket: { remoteAddress: '192.0.2.1' }, ...request }, response, (error) => {
    told.next++
    told.error = error
  })
  return { ...told, headers }
}

test('whom a request counts for', async () => {
  const limited = express.rateLimit('a', '1/hour', { client: client('memory://'), trusted: ['192.0.2.1'] })
  const from = (/** @type {string} */ address) => asked(limited, { headers: { 'x-forwarded-for': address } })
  assert.equal((await from('203.0.113.1')).next, 1)
  assert.equal((await from('203.0.113.2')).next, 1)
  assert.equal((await from('198.51.100.9, 203.0.113.2')).next, 0)
  assert.equal((await from('2001:db8:1:2::1')).next, 1)
  assert.equal((await from('2001:db8:1:2:ffff::1')).next, 0)
})

test('without proxies the socket tells whom a request counts for, however many there are', async () => {
  const limited = express.rateLimit('a', '2/hour', { client: client('memory://') })
  const from = (/** @type {string} */ remoteAddress) =>
    asked(limited, { socket: { remoteAddress }, headers: { 'x-forwarded-for': '203.0.113.1' } })
  assert.equal((await from('2001:db8:1:2::1')).next, 1)
  for (let i = 0; i < 1_100; i++) assert.equal((await from(`10.0.${i >> 8}.${i & 255}`)).next, 1)
  assert.equal((await from('2001:db8:1:2:ffff::1')).next, 1)
  assert.equal((await from('2001:db8:1:2::1')).next, 0)
  assert.equal((await from('10.0.0.0')).next, 1)
  assert.equal((await from('10.0.0.0')).next, 0)
})

test('a key that is nothing is a 400, and neither unlimited nor one for all', async (context) => {
  /** @type {string[]} */
  const warned = []
  const listen = (/** @type {any} */ warning) => warning.code === 'QUOTALOCK_KEY' && warned.push(warning.message)
  process.on('warning', listen)
  context.after(() => process.off('warning', listen))
  const keys = [undefined, null, '', {}, Number.NaN, 1.5, true, new Uint8Array(), 'k'.repeat(1025), '\ud800', ['a']]
  for (const key of keys) {
    const limited = express.rateLimit('a', '1/hour', {
      client: client('memory://'),
      key: () => /** @type {any} */ (key),
    })
    const { next, body } = await asked(limited, {})
    assert.equal(next, 0)
    assert.equal(JSON.parse(body).status, 400)
    await asked(limited, {})
  }
  // No socket's address and no key.
  const { body } = await asked(express.rateLimit('a', '1/hour', { client: client('memory://') }), { socket: {} })
  assert.equal(JSON.parse(body).status, 400)
  await until(async () => warned.length > keys.length)
  // Once for each limit, however many such requests there are.
  assert.equal(warned.length, keys.length + 1)
  for (const warning of warned) assert.match(warning, /^quotalock\/express/)
})

test('what a key function throws is a 400 if the request is the reason, else the error', async () => {
  const thrown = async (/** @type {Error} */ error) => {
    const key = async () => {
      throw error
    }
    return asked(express.rateLimit('a', '1/hour', { client: client('memory://'), key }), {})
  }
  for (const error of [new TypeError('t'), new SyntaxError('s'), new URIError('u')]) {
    assert.equal(JSON.parse((await thrown(error)).body).status, 400)
  }
  const away = new Error('the database is down')
  assert.equal((await thrown(away)).error, away)
})

test('a request passes a limit once: the same middleware twice, or two of one name, policy and key', async () => {
  const own = client('memory://')
  const limited = express.rateLimit('a', '2/hour', { client: own })
  const again = express.rateLimit('a', '2/hour', { client: own })
  const costly = express.rateLimit('a', '2/hour', { client: own, cost: 2 })
  const request = { headers: {}, socket: { remoteAddress: '192.0.2.1' } }
  const passed = async (/** @type {any[]} */ ...all) => {
    const one = { ...request }
    let count = 0
    for (const each of all) {
      const response = { getHeader: () => undefined, setHeader: () => undefined, end: () => undefined }
      await each(one, response, () => count++)
    }
    return count
  }
  assert.equal(await passed(limited, limited, again), 3)
  assert.equal((await own.limiter('a', '2/hour').peek('192.0.2.1')).remaining, 1)
  // Another cost is another charge.
  assert.equal(await passed(limited, costly), 1)
})

test('a name with two meanings is warned of once, with both places', async (context) => {
  /** @type {any[]} */
  const warned = []
  const listen = (/** @type {any} */ warning) => warning.code === 'QUOTALOCK_NAME' && warned.push(warning)
  process.on('warning', listen)
  context.after(() => process.off('warning', listen))
  const own = client('memory://')
  const options = { client: own }
  for (let i = 0; i < 3; i++) {
    express.rateLimit('policies', '5/hour', options)
    koa.rateLimit('policies', '100/minute', options)
    express.rateLimit('kinds', '5/hour', options)
    express.rateLimit('kinds', '5/hour', { ...options, key: () => 'a' })
    express.rateLimit('same', '5/hour', options)
    // Another client's is another limit.
    express.rateLimit('same', '6/hour', { client: client('memory://') })
  }
  await until(async () => warned.length > 1)
  const [policies, kinds] = warned.map(({ message }) => message)
  assert.match(policies, /"policies" has the policy 5\/hour \(quotalock\/express at .*middleware.test.mjs:\d+:\d+\)/)
  assert.match(policies, /and 100\/minute \(quotalock\/koa at .*middleware.test.mjs:\d+:\d+\)/)
  assert.match(
    kinds,
    /"kinds" counts by the address \(.*\) and by a key function, .*: give each limit a name of its own$/,
  )
  assert.equal(warned.length, 2)
})

test('no name of a developer is like a generated one, and middleware needs one', () => {
  for (const make of makers.map(([, make]) => /** @type {any} */ (make))) {
    assert.throws(() => make('~a', '1/hour'), /name "~a" begins with ~/)
    assert.throws(() => make(undefined, '1/hour'), /name undefined is missing: give the limit a name/)
    assert.throws(() => make([{ policy: '1/hour' }]), /name undefined is missing/)
  }
  assert.throws(() => nest.rateLimitGuard([{ name: '~a', policy: '1/hour' }]), /name "~a" begins with ~/)
})

test('a denial whose onDenied goes on is answered as if nothing had happened, and its errors keep the status', async () => {
  const own = client('memory://')
  const Express = framework('express')
  const app = Express()
  app.set('env', 'test')
  const limited = (/** @type {any} */ onDenied) =>
    express.rateLimit('a', '1/hour', { client: own, key: () => 'a', onDenied })
  const ok = (/** @type {any} */ _request, /** @type {any} */ response) => response.send('ok')
  app.get(
    '/on',
    limited((/** @type {any[]} */ ...[, , , next]) => next()),
    ok,
  )
  app.get(
    '/other',
    limited((/** @type {any} */ _d, /** @type {any} */ _q, /** @type {any} */ response) => response.status(503).end()),
    ok,
  )
  const server = app.listen(0, '127.0.0.1')
  await until(async () => server.listening)
  const get = (/** @type {string} */ path) =>
    fetch(`http://127.0.0.1:${server.address().port}${path}`, { headers: { connection: 'close' } })
  assert.equal((await get('/on')).status, 200)
  assert.equal((await get('/on')).status, 200)
  assert.equal((await get('/other')).status, 503)
  server.close()
})

test('cost, skip, onDenied, enforce, and headers of several limits', async () => {
  const own = client('memory://')
  const costly = express.rateLimit('c', '5/hour', { client: own, cost: (request) => request.cost, key: async () => 42 })
  assert.match((await asked(costly, { cost: 4 })).headers.RateLimit, /r=1/)
  assert.equal((await asked(costly, { cost: 2 })).next, 0)
  const denied = express.rateLimit('d', '1/hour', {
    client: own,
    skip: (request) => request.skip,
    onDenied: (decision, _request, response) => response.end(`${decision.allowed}`),
  })
  await asked(denied, {})
  const { body, headers } = await asked(denied, {})
  assert.equal(body, 'false')
  assert.match(headers['Retry-After'], /^\d+$/)
  assert.deepEqual((await asked(denied, { skip: true })).headers, {})
  const tried = express.rateLimit('e', '1/hour', { client: own, enforce: false })
  for (let i = 0; i < 3; i++) assert.equal((await asked(tried, {})).next, 1)
  const none = express.rateLimit('f', '1/hour', { client: own, syntax: 'none' })
  assert.deepEqual((await asked(none, {})).headers, {})
  const both = async (/** @type {any} */ request, /** @type {any} */ response, /** @type {any} */ next) => {
    await express.rateLimit('g', '9/hour', { client: own })(request, response, () => {})
    await express.rateLimit('h', '5/hour', { client: own })(request, response, next)
  }
  assert.equal((await asked(both, {})).headers['RateLimit-Policy'], '"g";q=9;w=3600, "h";q=5;w=3600')
})

test('fastify: what cannot be is told when the route is added, with its place', async () => {
  const app = Fastify()
  await app.register(quotalock, { client: client('memory://') })
  const add = (/** @type {any} */ own) => () => app.get('/a', { config: { quotalock: own } }, async () => 'a')
  assert.throws(
    add({ name: 'a', policy: '1/fortnight' }),
    /^InvalidPolicyError: quotalock\/fastify, GET \/a, limit "a"/,
  )
  assert.throws(add({}), /GET \/a: policy undefined is missing/)
  assert.throws(add({ name: 'a', policy: '1/minute', kee: 1 }), /option 'kee' is unknown/)
  await assert.rejects(async () => await Fastify().register(quotalock, { hook: 'onSend' }), /hook is none of/)
  await assert.rejects(async () => await Fastify().register(quotalock, { trusted: ['0.0.0.0/0'] }), /is everybody/)
})

test('fastify: a key of the body, in a later hook', async () => {
  const app = Fastify()
  const key = (/** @type {any} */ request) => request.body.user
  await app.register(quotalock, {
    client: client('memory://'),
    name: 'login',
    policy: '1/hour',
    hook: 'preHandler',
    key,
  })
  app.post('/login', async () => 'in')
  const login = (/** @type {string} */ user) => app.inject({ method: 'POST', url: '/login', payload: { user } })
  assert.equal((await login('a')).statusCode, 200)
  assert.equal((await login('b')).statusCode, 200)
  assert.equal((await login('a')).statusCode, 429)
  assert.equal((await login('')).statusCode, 400)
})

test('next: a handler behind a proxy', async () => {
  process.env.QUOTALOCK_URL = `memory://next`
  const { GET } = await import(new URL('../../../examples/next/app/search/route.mjs', import.meta.url).href)
  const get = (/** @type {string} */ address) =>
    GET(new Request('http://localhost/search', { headers: { 'x-forwarded-for': address } }), {})
  const first = await get('203.0.113.1')
  assert.equal(await first.text(), 'found\n')
  assert.equal(first.headers.get('ratelimit-policy'), '"search";q=3;w=2')
  /** @type {any} */
  let refused
  await until(async () => {
    refused = await get('203.0.113.1')
    return refused.status === 429
  })
  assert.equal(refused?.headers.get('content-type'), 'application/problem+json')
  assert.match(`${refused?.headers.get('retry-after')}`, /^[12]$/)
  // The last entry is the proxy's word; what stands before it was written by the client.
  assert.equal((await get('203.0.113.1, 203.0.113.9')).status, 200)
  assert.equal((await GET(new Request('http://localhost/search'), {})).status, 400)
})

test('next: it needs proxies or a key, and handlers keep what they answer', async () => {
  assert.throws(
    () => rateLimit('a', '1/minute', {}),
    /^InvalidArgumentError: quotalock\/next: trusted undefined is missing: give the proxies/,
  )
  assert.throws(() => rateLimit([{ name: 'a', policy: '1/minute' }]), /trusted undefined is missing/)
  const own = new Client('memory://next-more')
  const moved = rateLimit('a', '1/hour', { client: own, key: () => 'a' })(() => Response.redirect('http://h/', 302))
  const reply = await moved(new Request('http://h/'), {})
  assert.deepEqual([reply.status, reply.headers.get('location')], [302, 'http://h/'])
  assert.match(`${reply.headers.get('ratelimit')}`, /^"a";r=0/)
  assert.equal((await moved(new Request('http://h/'), {})).status, 429)
})
