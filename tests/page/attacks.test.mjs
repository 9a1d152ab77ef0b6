// What others write into Redis, and what their pages try with a browser that is logged in.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { Client } from 'quotalock'
import { calm, Scripted } from './scripted.mjs'
import { browser, enter, line, part, redis, serve, until, verdict } from './support.mjs'

/** @typedef {import('node:test').TestContext} Context */

/** What runs if somebody takes it for markup, and what turns a line around. */
const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(2)</script>',
  "' onmouseover='alert(3)' x='",
  '<svg/onload=alert(4)>',
  'javascript:alert(5)',
  '{{alert(6)}}<%= alert(7) %>',
  'שלום עולם',
]
/** What moves, hides or ends a line. */
const UNSEEN = 'a\u202eb\u0000c\u001b[2Jd\ne'
const SEEN = 'a\\u{202e}b\\u{0}c\\u{1b}[2Jd\\u{a}e'

/** Nothing on the page that the page did not bring. @param {import('playwright-core').Page} page */
async function isUntouched(page) {
  const strange =
    'img, iframe, object, embed, script:not([src^="/assets/"]), [onerror], [onload], [onmouseover], style, [href^="javascript"]'
  assert.equal(await page.locator(strange).count(), 0)
}

test('names are text, whoever made them', async (context) => {
  const { url } = await redis(context)
  const client = new Client(url, { timeoutMs: 10_000 })
  const raw = new Redis(url)
  raw.on('error', () => {})
  context.after(() => client.close())
  context.after(() => raw.disconnect())
  for (const name of [...HOSTILE, UNSEEN]) {
    await client.limiter(name, '5/h').block(name, 3_600_000)
    const lock = await client.lock(name, { label: name.replaceAll(/\p{C}/gu, '') })
    context.after(() => lock.release())
    await client.stock(name).open(3)
    await raw.decr(`limit:${name}`)
  }
  const page = await browser(context)
  await enter(page, (await serve(context, url, ['--allow-writes'])).url)
  for (const name of [...HOSTILE, SEEN]) {
    await page.getByRole('searchbox').fill(name)
    for (const section of ['Denied or near the limit', 'Locks', 'Stocks', 'Keys without TTL', 'Decisions per second']) {
      await line(page, section, name).first().waitFor()
    }
  }
  await isUntouched(page)

  // And each is still the name of what it names.
  const [name] = HOSTILE
  await page.getByRole('searchbox').fill(`${name}`)
  await line(page, 'Denied or near the limit', `${name}`).getByRole('button').click()
  await until(async () => (await client.limiter(`${name}`, '5/h').peek(`${name}`)).allowed, 'it is unblocked')
  await line(page, 'Locks', `${name}`).getByRole('button').click()
  await page
    .getByRole('dialog')
    .getByRole('heading', { name: `Force release lock ${name}?` })
    .waitFor()
  await isUntouched(page)
})

test('all else that a state says is text too: hosts, labels, reasons, addresses', async (context) => {
  const scripted = await Scripted.begun(context)
  const [name] = HOSTILE
  const state = calm(Date.now())
  const holder = { host: name, process: 1, label: name, age_ms: 99_000, remaining_ms: 1_000, token: name }
  state.problems = [`${name}`]
  state.server = state.prefix = state.version = `${name}`
  state.locks = [
    { id: 'l', name, kind: 'lock', holders: [holder], waiters: 3, waited_ms: 60_000, permits: 1, has_ttl: true },
  ]
  state.locks_total = 1
  state.nodes = [{ ...state.nodes[0], address: name, role: name, ok: false, why: [name], version: name }].map(
    (node) => /** @type {any} */ (node),
  )
  state.without_ttl = [{ key: name, family: name, kind: name, means: name, state: name, why: name }]
  Object.assign(state, { without_ttl_total: 1, stuck_total: 1, looks_stuck_total: 0 })
  state.caches = [
    { name, hits_per_s: 1, stale_per_s: 1, loads_per_s: 1, entries: 1, fresh: 1, stale: 0, loading: 0, failed: 0 },
  ]
  state.limiters = [
    {
      name,
      allowed_per_s: 0,
      denied_per_s: 1,
      would_deny_per_s: 1,
      error_per_s: 1,
      by_source: { [`${name}`]: 1 },
      history: [],
      keys: 1,
    },
  ]
  Object.assign(scripted.state, state)
  const page = await browser(context)
  await page.goto(scripted.url)
  await verdict(page).getByText(`${name}`).waitFor()
  await part(page, 'Servers').getByText(`${name}`).first().waitFor()
  await isUntouched(page)
  assert.equal(await page.title(), `(4) ${name} · Quotalock`)
})

/** A page of somebody else. @param {Context} context @param {string} html */
async function elsewhere(context, html) {
  const server = createServer((_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(html))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)))
  context.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
}

test('a page of another origin can neither read nor change anything, though the browser is logged in', async (context) => {
  const { url } = await redis(context)
  const client = new Client(url, { timeoutMs: 10_000 })
  context.after(() => client.close())
  const logins = client.limiter('login', '5/h')
  await logins.block('ada', 3_600_000)
  const { url: at } = await serve(context, url, ['--allow-writes'])
  // The same host, so that SameSite alone keeps nothing from it.
  const evil = await elsewhere(context, '<title>evil</title><form method=post enctype=text/plain></form>')
  const page = await browser(context, {}, /CORS|blocked|403|Forbidden/)
  await enter(page, at)
  await line(page, 'Denied or near the limit', 'ada').waitFor()
  const { id, csrf } = await page.evaluate(async () => {
    const [state, session] = await Promise.all(
      ['state', 'session'].map(async (path) => (await fetch(`/api/${path}`)).json()),
    )
    return { id: state.denied[0].id, csrf: session.csrf }
  })
  await page.goto(evil)
  const body = JSON.stringify({ id })
  const tries = await page.evaluate(
    async ({ at, body, csrf }) => {
      const said = (/** @type {Promise<Response>} */ answer) =>
        answer.then(
          ({ type, status }) => `${type} ${status}`,
          () => 'refused',
        )
      const post = { method: 'POST', credentials: /** @type {const} */ ('include'), body }
      return Promise.all([
        said(fetch(`${at}/api/state`, { credentials: 'include' })),
        said(fetch(`${at}/api/unblock`, { ...post, mode: 'no-cors', headers: { 'Content-Type': 'text/plain' } })),
        // Even whoever has stolen the token of the session.
        said(
          fetch(`${at}/api/unblock`, { ...post, headers: { 'Content-Type': 'application/json', 'X-Quotalock': csrf } }),
        ),
      ])
    },
    { at, body, csrf },
  )
  assert.deepEqual(tries, ['refused', 'refused', 'refused'])
  const [answer] = await Promise.all([
    page.waitForResponse(`${at}/api/unblock`),
    page.evaluate(
      ({ at, body }) => {
        const form = /** @type {HTMLFormElement} */ (document.querySelector('form'))
        form.action = `${at}/api/unblock`
        const input = document.createElement('input')
        ;[input.name, input.value] = [`${body.slice(0, -1)},"x":"`, '"}']
        form.append(input)
        // Not before this has answered: the page it leads to has no place for an answer.
        setTimeout(() => form.submit())
      },
      { at, body },
    ),
  ])
  assert.equal(answer.status(), 403)
  assert.equal((await logins.peek('ada')).allowed, false)
})

test('nobody puts the page into a frame', async (context) => {
  const { url } = await redis(context)
  const { url: at } = await serve(context, url)
  const page = await browser(context, {}, /frame/i)
  await enter(page, at)
  const evil = await elsewhere(context, `<iframe src="${at}/"></iframe><iframe src="${at}/login"></iframe>`)
  await page.goto(evil)
  await page.waitForLoadState('networkidle')
  for (const frame of page.frames().slice(1)) {
    assert.equal(
      await frame
        .getByRole('heading')
        .filter({ hasText: /Nothing|Sign in|Looking/ })
        .count(),
      0,
    )
  }
  assert.equal(page.frames().length, 3)
})
