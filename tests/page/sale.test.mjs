// A flash sale, live: a shop in Python works, and a person looks.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browser, enter, line, part, redis, serve, shop, until, verdict } from './support.mjs'

/** The number in a cell. @param {import('playwright-core').Locator} row @param {number} column */
async function number(row, column) {
  return Number.parseInt((await row.getByRole('cell').nth(column).textContent())?.replaceAll(',', '') ?? '', 10)
}

test('a person sees the sale sell, the limiter deny and the lock held', async (context) => {
  const { url } = await redis(context)
  await shop(context, url, '600')
  const page = await browser(context)
  await enter(page, (await serve(context, url)).url)

  const sale = line(page, 'Stocks', 'sneaker-42')
  await sale.getByText('of 4,000').waitFor()
  const [sold, held, left] = [2, 3, 4]
  await until(async () => (await number(sale, sold)) > 0 && (await number(sale, held)) > 0, 'units are sold and held')
  const before = await number(sale, left)
  await until(async () => (await number(sale, left)) < before, 'fewer are left')
  assert.match((await sale.getByRole('img').getAttribute('aria-label')) ?? '', /% sold, .*% held, .*% left/)

  const refused = part(page, 'Denied or near the limit')
  const buyer = refused
    .getByRole('row')
    .filter({ hasText: /user:\d+/ })
    .first()
  await buyer.getByText('Denied', { exact: true }).waitFor()
  await buyer.getByText('3/10 seconds: 0 of 3 left').waitFor()
  // Nothing has to be pressed: it comes back by itself.
  assert.equal(await refused.getByRole('button').count(), 0)

  const lock = line(page, 'Locks', 'invoices')
  await lock.getByText('night run').waitFor()
  await until(async () => (await number(lock, 3)) === 2, 'two wait')
  await verdict(page)
    .getByText(/Lock invoices is held for \d+[sm] by night run on .*, and 2 wait/)
    .waitFor()

  const limiter = line(page, 'Decisions per second', 'checkout')
  await until(
    async () => (await number(limiter, 2)) > 0 && (await number(limiter, 3)) > 0,
    'checkout admits and denies',
  )
  assert.match(
    (await limiter.getByRole('img').getAttribute('aria-label')) ?? '',
    /at most [\d.]+ per second admitted, at most [\d.]+ denied/,
  )
  await line(page, 'Caches', 'prices').getByText('1 entry').waitFor()
})

test('a free in that counts down ends', async (context) => {
  const { url } = await redis(context)
  await shop(context, url, '1')
  const page = await browser(context)
  await enter(page, (await serve(context, url)).url)
  const buyer = part(page, 'Denied or near the limit').getByRole('row').filter({ hasText: 'user:' }).first()
  const left = async () => number(buyer, 2)
  await until(async () => (await left()) >= 1 && (await left()) <= 10, 'somebody is refused for up to ten seconds')
})
