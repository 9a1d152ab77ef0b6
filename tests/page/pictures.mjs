// Makes the pictures of docs/guide/serve.md: a shop at work, then the incident, in light, in dark and on a phone.
// `make figures ONLY=pictures`; SHOP_SECONDS=5 makes them sooner, with less of a history. With `node --test`, which gives
// it a context to end with.

import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { Client } from 'quotalock'
import { browser, enter, line, redis, serve, shop, verdict } from './support.mjs'

const IMAGES = new URL('../../docs/images/', import.meta.url)
/** How long the shop works before it is looked at: as long as a plot looks back. */
const HISTORY_MS = 1000 * Number(process.env.SHOP_SECONDS ?? 310)
const DESK = { width: 1440, height: 1180 }

/** @param {import('playwright-core').Page} page @param {string} name */
const picture = (page, name) => page.screenshot({ path: fileURLToPath(new URL(`serve-${name}.png`, IMAGES)) })

test('pictures of the page', { timeout: 20 * 60_000 }, async (context) => {
  const { url } = await redis(context, '--maxmemory', '64mb')
  await redis(context, '--replicaof', ...url.replace('redis://', '').split(':'))
  // So many buyers that few of them are denied.
  await shop(context, url, '3', '600', '40000')
  const own = new Client(url)
  context.after(() => own.close())
  const logins = own.limiter('login', '5/h')
  await logins.consume('ip:198.51.100.7', { cost: 3 })
  await logins.block('ip:203.0.113.9', 5_400_000)
  await own.limiter('api', '1000/h').consume('token:9f3c', { cost: 962 })
  await own.lock('reports', { label: 'nightly' }).then((lock) => context.after(() => lock.release()))
  const { url: at } = await serve(context, url, ['--allow-writes'])

  const light = await browser(context, { viewport: DESK, colorScheme: 'light', deviceScaleFactor: 1.5 })
  const dark = await browser(context, { viewport: DESK, colorScheme: 'dark', deviceScaleFactor: 1.5 })
  const phone = await browser(context, { viewport: { width: 360, height: 780 }, deviceScaleFactor: 2, hasTouch: true })
  for (const page of [light, dark, phone]) await enter(page, at)
  await sleep(HISTORY_MS)
  await picture(light, 'light')
  await picture(dark, 'dark')

  const waiting = new Client(url)
  await own.lock('invoices', { label: 'night run' })
  waiting.lock('invoices', { waitMs: 600_000 }).catch(() => {})
  await verdict(light).getByText('Lock invoices is held').waitFor()
  context.after(() => waiting.close())

  const raw = new Redis(url)
  for (let calls = 0; calls < 374; calls++) await raw.decr('limit:sku:42')
  await raw.set('login_attempts:10.0.0.1', 9)
  const denied = setInterval(() => raw.decr('limit:sku:42').catch(() => {}), 100)
  context.after(() => {
    clearInterval(denied)
    raw.disconnect()
  })
  await verdict(light).getByText('1 key is stuck').waitFor()
  await line(light, 'Keys without TTL', 'login_attempts:10.0.0.1').waitFor()
  await picture(light, 'incident')
  await picture(phone, 'phone')
})
