// 100,000 keys, and days of traffic: what the page does each second stays small, and so does the page.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { Client } from 'quotalock'
import { Scripted } from './scripted.mjs'
import { busy } from './states.mjs'
import { browser, enter, part, redis, serve, until } from './support.mjs'

const KEYS = 100_000
/** How many elements the page may have, whatever there is to show. */
const ELEMENTS = 2_500
/** No task may keep the page from answering for longer. In time of the processor: others may use the machine too. */
const LONGEST_S = 0.2
/** `make soak ONLY=page`: for how long the day of traffic is played. */
const SOAK_MS = 60_000 * Number(process.env.QUOTALOCK_PAGE_SOAK ?? 0)

/** @typedef {import('playwright-core').Page} Page */

/** What the browser knows of a page: its memory and its work. @param {Page} page */
async function gauge(page) {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  return async (/** @type {boolean} */ collect = false) => {
    if (collect) for (let times = 0; times < 3; times++) await session.send('HeapProfiler.collectGarbage')
    const { metrics } = await session.send('Performance.getMetrics')
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]))
  }
}

/** What an update costs the processor, the most of several. @param {Page} page @param {() => Promise<Record<string, number>>} look */
async function costs(page, look) {
  const spent = []
  for (let update = 0; update < 8; update++) {
    const before = (await look()).TaskDuration ?? 0
    const clock = await page.locator('#version').evaluate(() => performance.now())
    // The page hears of a state once a second.
    await page.waitForFunction((since) => performance.now() > since + 1_000, clock, { polling: 250 })
    spent.push(((await look()).TaskDuration ?? 0) - before)
  }
  return spent
}

test('100,000 refused keys do not slow the page down', async (context) => {
  const { url } = await redis(context)
  const client = new Client(url, { timeoutMs: 30_000 })
  context.after(() => client.close())
  const flood = client.limiter('flood', '1/h')
  await flood.consume('first')
  const page = await browser(context)
  await enter(page, (await serve(context, url, ['--rate', '1000000'])).url)
  const refused = part(page, 'Denied or near the limit')
  await refused.getByText('1 key, the worst first').waitFor()
  const look = await gauge(page)
  const few = await costs(page, look)

  const raw = new Redis(url)
  context.after(() => raw.disconnect())
  const stem = 'ql:limit:flood:{'
  const copy = `redis.call('SET', '${stem}user:' .. i .. '}', value, 'PX', 3600000)`
  await raw.eval(`local value = redis.call('GET', '${stem}first}') for i = 0, ${KEYS - 1} do ${copy} end`, 0)
  await refused.getByText('100,001 keys, the worst first').waitFor({ timeout: 120_000 })
  const many = await costs(page, look)
  assert.ok(Math.max(...many) < LONGEST_S, `an update takes ${many} s`)
  const middle = (/** @type {number[]} */ values) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0
  assert.ok(middle(many) < 5 * middle(few) + 0.03, `${many} s beside ${few} s`)
  assert.ok((await page.locator('*').count()) < ELEMENTS)

  // All rows that the server keeps can be scrolled to, and only those in view exist.
  const scroller = refused.locator('.scroller')
  assert.equal(await refused.getByRole('table').getAttribute('aria-rowcount'), '1001')
  for (const part of [0.5, 1]) {
    await scroller.evaluate((element, part) => element.scrollTo(0, part * element.scrollHeight), part)
    const rows = refused.getByRole('row').filter({ hasText: /user:\d+/ })
    const last = async () => Number(await rows.last().getAttribute('aria-rowindex'))
    await until(async () => (await rows.count()) >= 8 && Math.abs((await last()) - 1_000 * part) < 40, 'rows come')
    assert.ok((await page.locator('*').count()) < ELEMENTS)
  }
  await refused.getByText('The first 1,000 of 100,001').waitFor()
})

/** The state of one second of a day: other keys, other locks, other numbers. @param {ReturnType<typeof busy>} state @param {number} second */
function next(state, second) {
  const now = state.now_ms + 1_000
  const rows = Array.from({ length: 100 }, (_, at) => {
    const key = `user:${(second * 37 + at * 11) % 100_000}`
    return { ...state.denied[1], id: key, key, until_ms: now + 1_000 * at, state: at % 9 === 0 ? 'near' : 'denied' }
  })
  const limiters = state.limiters.map((row, at) => ({
    ...row,
    history: [[now, 200 + ((second * (at + 3)) % 90), second % 40]],
  }))
  const locks = state.locks.map((row, at) => ({
    ...row,
    id: `${second >> 3}-${at}`,
    name: `job:${second >> 3}-${at}`,
    waiters: second % 5,
  }))
  const stuck =
    second % 60 < 5
      ? [
          {
            key: `limit:sku:${second}`,
            family: 'a counter',
            kind: 'no_ttl',
            means: 'it is stuck',
            state: 'stuck',
            why: 'seen',
          },
        ]
      : []
  return {
    now_ms: now,
    denied: rows,
    denied_total: 60_000 + (second % 50_000),
    limiters,
    locks,
    without_ttl: stuck,
    without_ttl_total: stuck.length,
    stuck_total: stuck.length,
    looks_stuck_total: 0,
  }
}

test('a day of traffic leaves nothing behind', { timeout: 2 * SOAK_MS + 240_000 }, async (context) => {
  const scripted = await Scripted.begun(context)
  Object.assign(scripted.state, busy())
  scripted.beats = false
  const page = await browser(context)
  await page.goto(scripted.url)
  await page.getByText('Live', { exact: true }).waitFor()
  const look = await gauge(page)
  const [day, end] = [86_400, Date.now() + SOAK_MS]
  const seconds = SOAK_MS > 0 ? day : 3_000
  let [second, early] = [0, /** @type {Record<string, number>} */ ({})]
  for (; second < seconds; second++) {
    scripted.push(next(scripted.state, second))
    if (second % 25 !== 0) continue
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => resolve(null))))
    if (second === seconds / 3) early = await look(true)
    const ahead = SOAK_MS > 0 ? end - Date.now() - (1 - second / day) * SOAK_MS : 0
    if (ahead > 0) await new Promise((resolve) => setTimeout(resolve, Math.min(ahead, 1_000)))
  }
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => resolve(null))))
  const late = await look(true)
  const told = `${seconds} states: ${['JSHeapUsedSize', 'Nodes', 'JSEventListeners'].map((name) => `${name} ${early[name]}, then ${late[name]}`).join('; ')}`
  context.diagnostic(told)
  assert.ok((late.JSHeapUsedSize ?? 0) < 1.1 * (early.JSHeapUsedSize ?? 0) + 1_000_000, told)
  assert.ok((late.Nodes ?? 0) < 1.1 * (early.Nodes ?? 0) + 200, told)
  assert.ok((late.JSEventListeners ?? 0) < 1.1 * (early.JSEventListeners ?? 0) + 50, told)
  assert.ok((await page.locator('*').count()) < ELEMENTS)
})
