// The night of the incident: what is stuck is told within seconds, and gone when it is mended. And what a person may change.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { Client } from 'quotalock'
import { browser, enter, line, part, quotalock, redis, serve, shop, until, verdict } from './support.mjs'

/** @typedef {import('node:test').TestContext} Context */

/** A connection that ends with the test. @param {Context} context @param {string} url */
function connection(context, url) {
  const own = new Redis(url, { retryStrategy: null })
  own.on('error', () => {})
  context.after(() => own.disconnect())
  return own
}

/** @param {Context} context @param {string} url */
function client(context, url) {
  const own = new Client(url, { timeoutMs: 10_000 })
  context.after(() => own.close())
  return own
}

test('a counter without TTL appears within seconds, and is gone after the doctor was there', async (context) => {
  const { url } = await redis(context)
  const folder = mkdtempSync(join(tmpdir(), 'quotalock-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const raw = connection(context, url)
  const page = await browser(context)
  await enter(page, (await serve(context, url)).url)
  await verdict(page).getByText('No problems found').waitFor()

  // The article's own limiter: the key expired between its two commands.
  await raw.decr('limit:sku:42')
  await raw.decr('limit:sku:42')
  await verdict(page).getByText('1 key without a TTL looks stuck').waitFor()
  const stuck = line(page, 'Keys without TTL', 'limit:sku:42')
  await stuck.getByText('Looks stuck').waitFor()
  // Only calls that are denied prove it.
  const denied = setInterval(() => raw.decr('limit:sku:42').catch(() => {}), 50)
  context.after(() => clearInterval(denied))
  await verdict(page).getByText('1 key is stuck').waitFor()
  await stuck.getByText('SET NX EX, then DECR').waitFor()
  await stuck.getByText('every call is denied for ever').waitFor()
  await part(page, 'Keys without TTL').getByText('quotalock doctor --fix').waitFor()
  assert.match(await page.title(), /^\(1\) 1 key/)

  const fix = ['doctor', '--fix', 'set-nx-decr', '--ttl', '1s', '--allow-short-ttl', '--watch', '1h']
  assert.equal(await quotalock([...fix, '--undo-file', join(folder, 'undo')], url), 0)
  clearInterval(denied)
  await raw.del('limit:sku:42')
  await verdict(page).getByText('No problems found').waitFor()
  // The lists are drawn with the frame after that.
  await until(async () => (await stuck.count()) === 0, 'its line is gone')
})

test('near the limit is amber, and says so', async (context) => {
  const { url } = await redis(context)
  const api = client(context, url).limiter('api', '100/h')
  await api.consume('token:9f3c', { cost: 95 })
  const page = await browser(context)
  await enter(page, (await serve(context, url)).url)
  const row = line(page, 'Denied or near the limit', 'token:9f3c')
  const badge = row.getByText('Near: 95 % used')
  await badge.waitFor()
  await row.getByText('100/h').waitFor()
  const [red, green, blue] =
    (await badge.evaluate((element) => getComputedStyle(element).color)).match(/\d+/g)?.map(Number) ?? []
  assert.ok(Number(red) > Number(green) && Number(green) > Number(blue) + 40, 'it is amber')
})

test('a block is taken back by the keyboard alone', async (context) => {
  const { url } = await redis(context)
  const logins = client(context, url).limiter('login', '5/h')
  await logins.block('ip:203.0.113.9', 3_600_000)
  await logins.block('ip:203.0.113.10', 3_600_000)
  const page = await browser(context)
  await enter(page, (await serve(context, url, ['--allow-writes'])).url)
  const row = line(page, 'Denied or near the limit', 'ip:203.0.113.9')
  await row.getByText('Blocked').waitFor()

  // Whoever has no mouse filters, then goes on with Tab until the button is there.
  await page.keyboard.press('/')
  await page.keyboard.type('113.9')
  await until(
    async () =>
      (await part(page, 'Denied or near the limit')
        .getByRole('button', { name: /^Unblock/ })
        .count()) === 1,
    'the filter leaves one',
  )
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '')
  for (let presses = 0; (await focused()) !== 'Unblock ip:203.0.113.9 of limiter login'; presses++) {
    assert.ok(presses < 60, 'Tab does not lead to the button')
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Enter')
  await page
    .getByText(/unblocked.*203\.0\.113\.9/i)
    .first()
    .waitFor()
  assert.equal((await logins.peek('ip:203.0.113.9')).allowed, true)
  assert.equal((await logins.peek('ip:203.0.113.10')).allowed, false)
  await until(async () => (await row.count()) === 0, 'its line is gone')
})

test('who may only look has no buttons, and a POST is refused', async (context) => {
  const { url } = await redis(context)
  await client(context, url).limiter('login', '5/h').block('ada', 3_600_000)
  const lock = await client(context, url).lock('invoices')
  const page = await browser(context)
  await enter(page, (await serve(context, url)).url)
  await line(page, 'Denied or near the limit', 'ada').waitFor()
  await line(page, 'Locks', 'invoices').waitFor()
  assert.equal(await page.getByRole('button', { name: /Unblock|Take/ }).count(), 0)
  await page.getByText('read-only').waitFor()

  const answers = await page.evaluate(async () => {
    const { csrf } = await (await fetch('/api/session')).json()
    const state = await (await fetch('/api/state')).json()
    const post = async (/** @type {string} */ path, /** @type {string} */ id) => {
      const headers = { 'Content-Type': 'application/json', 'X-Quotalock': csrf }
      const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify({ id }) })
      return [answer.status, (await answer.json()).code]
    }
    return [await post('/api/unblock', state.denied[0].id), await post('/api/release', state.locks[0].id)]
  })
  assert.deepEqual(answers, [
    [403, 'read_only'],
    [403, 'read_only'],
  ])
  assert.equal(lock.held, true)
})

test('taking a lock away asks first, says what happens, and Escape leaves it', async (context) => {
  const { url } = await redis(context)
  await shop(context, url, '600')
  const page = await browser(context)
  await enter(page, (await serve(context, url, ['--allow-writes'])).url)
  const row = line(page, 'Locks', 'invoices')
  await row.getByText('night run').waitFor()
  const button = row.getByRole('button', { name: 'Force release lock invoices' })
  await button.click()
  const dialog = page.getByRole('dialog', { name: 'Force release lock invoices?' })
  await dialog.getByText('may still be working under it').waitFor()
  await dialog.getByText('Only the fencing token protects your data').waitFor()
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Leave it')
  await page.keyboard.press('Escape')
  await until(async () => !(await dialog.isVisible()), 'the dialog is closed')
  await row.getByText('night run').waitFor()

  await button.click()
  await dialog.getByRole('button', { name: 'Force release it' }).click()
  await page
    .getByText(/released/i)
    .first()
    .waitFor()
  // The next one has it.
  await row.getByText('day run').waitFor()
})
