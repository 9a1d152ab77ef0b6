// What the page says when nobody answers it, and how it comes back.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Scripted } from './scripted.mjs'
import { browser, enter, part, redis, serve, until, verdict } from './support.mjs'

test('serve is restarted: the page says since when it is old, and the way back leads to it', async (context) => {
  const { url } = await redis(context)
  const first = await serve(context, url)
  const page = await browser(context)
  await enter(page, first.url)
  await verdict(page).getByText('No problems found').waitFor()
  await first.stop()
  await verdict(page)
    .getByText(/No connection to quotalock serve since \d\d:\d\d:\d\d/)
    .waitFor()
  await page.getByText(/What you see below is from then, .* ago/).waitFor()
  assert.match(await page.title(), /^No connection/)
  await until(
    () =>
      part(page, 'Servers').evaluate(
        (element) => getComputedStyle(element.closest('.columns') ?? element).filter === 'grayscale(1)',
      ),
    'what is old is grey',
  )

  // Sessions end with the process that knew them: the page leads to the door by itself.
  await serve(context, url, [], first.port)
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await enter(page, first.url)
  await verdict(page).getByText('No problems found').waitFor()
})

test('a connection that breaks is made again, without a reload', async (context) => {
  const scripted = await Scripted.begun(context)
  const page = await browser(context)
  await page.goto(scripted.url)
  await page.getByText('Live', { exact: true }).waitFor()
  await page.evaluate(() => Object.assign(window, { isStill: true }))
  const port = Number(new URL(scripted.url).port)
  await scripted.stop()
  await verdict(page)
    .getByText(/^No connection/)
    .waitFor()
  await scripted.start(port)
  await page.getByText('Live', { exact: true }).waitFor()
  await verdict(page).getByText('No problems found').waitFor()
  assert.equal(await page.evaluate(() => 'isStill' in window), true)
  assert.equal(await page.evaluate(() => document.body.classList.contains('lost')), false)
})

test('a server that says nothing is as one that is away', async (context) => {
  const scripted = await Scripted.begun(context)
  const page = await browser(context)
  await page.goto(scripted.url)
  await page.getByText('Live', { exact: true }).waitFor()
  scripted.isHung = true
  await verdict(page)
    .getByText(/^No connection/)
    .waitFor()
  scripted.isHung = false
  await verdict(page).getByText('No problems found').waitFor()
})

test('a session that ends leads to the door', async (context) => {
  const { url } = await redis(context)
  const page = await browser(context)
  const { url: at } = await serve(context, url)
  await page.goto(at)
  await page.getByLabel('Token').fill('a wrong one, of which there are many')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('this is not the token').waitFor()
  await enter(page, at)
  // Another tab of the same session ends it.
  const other = await page.context().newPage()
  // One that knows nothing of its session yet.
  await other.route('**/api/state', () => {})
  await other.goto(at)
  await other.getByRole('button', { name: 'Sign out' }).click()
  await other.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.goto(at)
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
})

test('who cannot be signed out is told so', async (context) => {
  const { url } = await redis(context)
  const page = await browser(context)
  const { url: at, stop } = await serve(context, url)
  await enter(page, at)
  await stop()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.locator('#told').getByText('You are still signed in').waitFor()
})

test('a Redis that is away is told by name, and so is its return', async (context) => {
  const first = await redis(context)
  const page = await browser(context)
  await enter(page, (await serve(context, first.url)).url)
  await verdict(page).getByText('No problems found').waitFor()
  const place = first.url.replace('redis://', '')
  first.server.kill('SIGKILL')
  await verdict(page).getByText(`${place} refused the connection`).waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  await redis(context, '--port', `${place.split(':')[1]}`)
  await verdict(page).getByText('No problems found').waitFor()
})
