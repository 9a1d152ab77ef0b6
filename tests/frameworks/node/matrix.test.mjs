// What limits in the packages for frameworks admit, next to what they allow: every row of ../matrix.json in every framework.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Client, testing } from 'quotalock'
import { rateLimitGuard } from 'quotalock/nest'
import { frameworks, OWN_EXPOSED } from './apps.mjs'

/** @typedef {import('./apps.mjs').Limit} Limit */
/** @typedef {Record<string, any>} Case */

/** @type {{ rows: Case[] }} */
const { rows } = JSON.parse(readFileSync(new URL('../matrix.json', import.meta.url), 'utf8'))

/** The default of these is one count for all routes, which the limit of a route is added to; that of Fastify's replaces it. */
const ONE_DEFAULT = { get: 3, post: 2, elsewhere: 2 }
/** @type {Record<string, Case>} */
const DEFAULTS = {
  express: ONE_DEFAULT,
  hono: ONE_DEFAULT,
  koa: ONE_DEFAULT,
  fastify: { get: 4, post: 5, elsewhere: 3 },
}

/** Bodies by which a client spoils a key. @type {Record<string, string | undefined>} */
const SPOILERS = {
  'the field is missing': '{}',
  'no body': undefined,
  'an empty text': '{"user":""}',
  '1,025 bytes': JSON.stringify({ user: 'u'.repeat(1025) }),
  'a list': '{"user":["ada"]}',
  'an object': '{"user":{"toString":"ada"}}',
  'no text': '{"user":true}',
  nothing: '{"user":null}',
  'a fraction': '{"user":1.5}',
  'a lone surrogate': '{"user":"\\ud800"}',
  'a body that is none': 'null',
}

let memories = 0
/** @type {Record<string, Record<string, string>>} */
const cells = {}
/** @type {any[]} */
const warnings = []
process.on('warning', (warning) => warnings.push(warning))

/**
 * The application of a situation, and who counts there.
 * @param {Case} situation
 * @param {import('./apps.mjs').Framework} framework
 */
function described({ limits, requests }, framework) {
  /** @type {import('./apps.mjs').App} */
  const app = { everywhere: [], notFound: [], routes: [], common: {} }
  const routeOf = (/** @type {string} */ prefix, /** @type {string} */ path, /** @type {string} */ method) => {
    if (app.routes.some((one) => one.prefix === prefix && one.path === path && one.methods[0] === method)) return
    app.routes.push({ prefix, path, methods: [method], name: 'pages', limits: [] })
  }
  for (const asked of requests) {
    const method = asked.method ?? 'POST'
    if (method !== 'HEAD' && method !== 'OPTIONS' && !asked.path?.includes('{')) {
      routeOf(asked.mount ?? (asked.class ? `/${asked.class}` : ''), asked.path ?? '/a', method)
    }
  }
  for (const [id, limit] of /** @type {[string, Case][]} */ (Object.entries(limits))) {
    const { key = 'address', method, path, mount, class: className } = limit
    /** @type {Record<string, any>} */
    const options = key === 'address' ? {} : { key: framework.field(key) }
    if (limit.expose_headers) options.exposeHeaders = true
    const made = { name: limit.name ?? (framework.isNameless ? undefined : id), policy: limit.policy, options }
    const times = limit.twice ? 2 : 1
    if (limit.default) app.everywhere.push(made)
    else if (limit.not_found) app.notFound.push({ ...made, name: limit.name ?? 'not-found' })
    else {
      const prefix = mount ?? (className ? `/${className}` : '')
      const own = app.routes.filter(
        (route) =>
          route.prefix === prefix &&
          (path === undefined || route.path === path) &&
          (method === undefined || route.methods[0] === method),
      )
      assert.notEqual(own.length, 0, id)
      for (const route of own) for (let time = 0; time < times; time++) route.limits.push(made)
    }
  }
  return app
}

/**
 * Plays a situation: how many requests of each sender were admitted, and what was answered.
 * @param {Case} situation
 * @param {import('./apps.mjs').Framework} framework
 * @param {import('node:test').TestContext} context
 * @param {(app: import('./apps.mjs').App) => void} change
 */
async function played(situation, framework, context, change = () => {}) {
  const client = new Client(`memory://matrix-${memories++}`)
  const clock = new testing.Clock(client)
  const app = described(situation, framework)
  app.common = { client, trusted: ['loopback'] }
  change(app)
  warnings.length = 0
  const send = await framework.build(app, context)
  /** @type {Record<string, number>} */
  const admitted = {}
  /** @type {Record<string, Record<string, number>>} */
  const statuses = {}
  /** @type {Response[]} */
  const replies = []
  for (let round = 0; round < situation.rounds; round++) {
    for (const asked of situation.requests) {
      const { sender, method = 'POST', address = '192.0.2.1', user, shop, body, mount, class: className } = asked
      const path = `${mount ?? (className ? `/${className}` : '')}${asked.path ?? '/a'}`.replace('{round}', `${round}`)
      const text = 'body' in asked ? body : JSON.stringify({ user, shop })
      const hasBody = method === 'POST' && text !== undefined
      const headers = { 'x-forwarded-for': address, ...(hasBody && { 'content-type': 'application/json' }) }
      const reply = await send({ method, path, headers, ...(hasBody && { body: text }) })
      const isAdmitted = reply.status < 400
      admitted[sender] = (admitted[sender] ?? 0) + Number(isAdmitted)
      const seen = statuses[sender] ?? {}
      statuses[sender] = seen
      seen[reply.status] = (seen[reply.status] ?? 0) + 1
      replies.push(reply)
    }
    clock.advance(situation.every_ms)
  }
  await turn()
  const named = warnings.filter(({ code }) => code === 'QUOTALOCK_NAME')
  return { admitted, statuses, replies, warnings: named }
}

/** @param {Case} counts */
const shown = (counts) =>
  Object.entries(counts)
    .map(([who, count]) => `${who} ${count}`)
    .join(', ')

for (const [name, framework] of Object.entries(frameworks)) {
  for (const row of rows) {
    test(`${name}: ${row.title}`, async (context) => {
      const line = cells[row.id] ?? {}
      cells[row.id] = line
      const none = framework.none?.[row.id]
      if (none !== undefined) {
        line[name] = `none: ${none}`
        return
      }
      /** @type {string[]} */
      const cell = []
      const record = (/** @type {Case} */ admitted, /** @type {Case} */ allowed) => {
        const found = Object.fromEntries(Object.keys(allowed).map((who) => [who, admitted[who]]))
        cell.push(`${shown(found)} of ${Object.values(allowed).join(', ')}`)
        line[name] = cell.join('; ')
      }
      for (const situation of row.situations) {
        if (row.id === 'websocket') {
          const admitted = await sockets(situation)
          record({ socket: admitted }, situation.admitted)
          assert.equal(admitted, situation.admitted.socket)
        } else if (row.id === 'own_body') {
          for (const [how, onDenied] of Object.entries(framework.ownBodies)) {
            const { admitted, statuses, replies } = await played(situation, framework, context, (app) => {
              app.common.onDenied = onDenied
            })
            record(admitted, { all: 5 })
            assert.deepEqual(statuses, situation.statuses, how)
            for (const reply of replies.slice(5)) {
              for (const field of situation.headers_of_refusals) assert.ok(reply.headers.get(field), `${how}: ${field}`)
              const body = await reply.text()
              assert.ok(
                how === 'nothing' || how === 'no' || how === 'error' || body.includes('slowly'),
                `${how}: ${body}`,
              )
            }
          }
        } else if (row.id === 'hostile_key') {
          for (const [how, body] of Object.entries(SPOILERS)) {
            const spoiled = { ...situation, rounds: 2, requests: [{ sender: 'spoiler', body }] }
            const { admitted, statuses } = await played(spoiled, framework, context)
            record(admitted, { spoiler: 0 })
            assert.deepEqual(statuses, { spoiler: { 400: 2 } }, how)
          }
        } else {
          const { admitted, statuses, replies, warnings: named } = await played(situation, framework, context)
          const allowed = row.id === 'defaults' ? (DEFAULTS[name] ?? situation.admitted) : situation.admitted
          if (allowed !== undefined) {
            record(admitted, allowed)
            const asked = Object.fromEntries(Object.keys(allowed).map((who) => [who, admitted[who]]))
            assert.deepEqual(asked, allowed)
          }
          for (const [who, most] of Object.entries(situation.at_most ?? {})) {
            record(admitted, situation.at_most)
            assert.ok((admitted[who] ?? 0) <= most, `${who}: ${admitted[who]} of ${most}`)
          }
          if (situation.statuses) {
            record({ nowhere: statuses.nowhere?.[404] }, { nowhere: situation.statuses.nowhere[404] })
            assert.deepEqual(statuses, situation.statuses)
          }
          assert.equal(named.length, situation.warnings ?? 0, `${named}`)
          for (const field of situation.headers_of_all ?? []) {
            for (const reply of replies) {
              const listed = reply.headers.get(field) ?? ''
              for (const part of [OWN_EXPOSED, 'RateLimit', 'RateLimit-Policy', 'Retry-After']) {
                assert.ok(listed.split(', ').includes(part), `${reply.status}: ${listed}`)
              }
            }
          }
        }
      }
    })
  }
}

/**
 * Messages over a socket to a gateway of Nest's, as its guards see them.
 * @param {Case} situation
 */
async function sockets({ limits, rounds, every_ms }) {
  const client = new Client(`memory://matrix-${memories++}`)
  const clock = new testing.Clock(client)
  const guard = rateLimitGuard([{ policy: limits.socket.policy }], { client })
  class Gateway {
    message() {}
  }
  const socket = { _socket: { remoteAddress: '192.0.2.1' } }
  let admitted = 0
  for (let round = 0; round < rounds; round++) {
    const context = {
      getType: () => 'ws',
      getClass: () => Gateway,
      getHandler: () => Gateway.prototype.message,
      switchToWs: () => ({ getClient: () => socket }),
    }
    try {
      admitted += Number(await guard.canActivate(context))
    } catch (error) {
      assert.equal(/** @type {any} */ (error).getStatus(), 429)
    }
    clock.advance(every_ms)
  }
  return admitted
}

after(() => {
  for (const row of rows) {
    console.log(`\n${row.id}: ${row.title}`)
    for (const name of Object.keys(frameworks)) console.log(`  ${name.padEnd(16)} ${cells[row.id]?.[name] ?? '-'}`)
  }
})
