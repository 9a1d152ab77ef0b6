// How the page looks and is used: light and dark, a small phone, by keyboard, by screen reader.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { Scripted } from './scripted.mjs'
import { busy, wrong } from './states.mjs'
import { browser, line, part, until, verdict } from './support.mjs'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** @typedef {import('playwright-core').Page} Page */

/** What axe finds that keeps people out. @param {Page} page */
async function barriers(page) {
  // By the browser's own means: the page lets no script in that is not its own.
  await page.evaluate(AXE)
  const found = await page.evaluate(() =>
    /** @type {any} */ (window).axe.run(document, { resultTypes: ['violations'] }),
  )
  const serious = found.violations.filter((/** @type {any} */ one) => ['serious', 'critical'].includes(one.impact))
  return serious.map(
    (/** @type {any} */ one) =>
      `${one.id}, ${one.nodes.length} times, as ${one.nodes[0].target}: ${one.nodes[0].failureSummary}`,
  )
}

/** A page that shows a state. @param {import('node:test').TestContext} context @param {object} state @param {import('playwright-core').BrowserContextOptions} [options] */
async function shown(context, state, options) {
  const scripted = await Scripted.begun(context)
  Object.assign(scripted.state, state)
  const page = await browser(context, options)
  await page.goto(scripted.url)
  // The last that is drawn of a state. "Live" is there before: a state is heard at once, and drawn with the next frame.
  await page
    .locator('#version')
    .getByText(/^Quotalock/)
    .waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  return { page, scripted }
}

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  for (const [name, state] of Object.entries({ busy: busy(), wrong: wrong() })) {
    test(`axe finds no barrier: ${name}, ${colorScheme}`, async (context) => {
      const { page } = await shown(context, state, { colorScheme })
      assert.deepEqual(await barriers(page), [])
      await page.getByRole('button', { name: 'Force release lock invoices' }).click()
      assert.deepEqual(await barriers(page), [])
    })
  }
}

test('axe finds no barrier: the door, and a lost connection', async (context) => {
  const { page, scripted } = await shown(context, busy())
  const inBoth = async () => {
    for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
      await page.emulateMedia({ colorScheme })
      assert.deepEqual(await barriers(page), [], colorScheme)
    }
  }
  scripted.isHung = true
  await verdict(page)
    .getByText(/^No connection/)
    .waitFor()
  await inBoth()
  scripted.isHung = false
  await page.goto(`${scripted.url}/login`)
  await inBoth()
})

test('it is dark where the system is, unless somebody chose, which lasts', async (context) => {
  const { page } = await shown(context, busy(), { colorScheme: 'dark' })
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  const dark = await paper()
  await page.getByLabel('Colours').selectOption('light')
  assert.notEqual(await paper(), dark)
  await page.reload()
  assert.notEqual(await paper(), dark)
  await page.getByLabel('Colours').selectOption('auto')
  assert.equal(await paper(), dark)
  await page.emulateMedia({ colorScheme: 'light' })
  assert.notEqual(await paper(), dark)
})

for (const width of [320, 360, 768, 1280, 2200]) {
  test(`nothing stands out of a window of ${width} pixels`, async (context) => {
    const { page } = await shown(context, wrong(), { viewport: { width, height: 740 } })
    const [full, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
    assert.equal(full, inner)
    // What is cut is a name, never a number or a button.
    const cut = await page.evaluate(() => {
      const all = [...document.querySelectorAll('td.number, td.number *, button, .figure .value')]
      return all
        .filter(
          (one) =>
            one.checkVisibility() &&
            one.scrollWidth > one.clientWidth + 1 &&
            getComputedStyle(one).display !== 'inline',
        )
        .map((one) => one.outerHTML)
    })
    assert.deepEqual(cut, [])
  })
}

test('the keyboard: past the head, to the filter and back', async (context) => {
  const { page } = await shown(context, busy())
  await page.keyboard.press('Tab')
  const skip = page.getByRole('link', { name: 'Skip to the state' })
  assert.equal(await skip.evaluate((element) => element === document.activeElement), true)
  assert.ok(((await skip.boundingBox())?.y ?? -1) >= 0, 'it is seen')
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'main')

  await page.keyboard.press('/')
  const filter = page.getByRole('searchbox', { name: 'Filter all lists by name' })
  assert.equal(await filter.evaluate((element) => element === document.activeElement), true)
  await page.keyboard.type('INVOICES/')
  assert.equal(await filter.inputValue(), 'INVOICES/')
  await filter.fill('invoices')
  await line(page, 'Locks', 'invoices').waitFor()
  await until(async () => (await line(page, 'Locks', 'sku:42').count()) === 0, 'others are left out')
  await part(page, 'Locks').getByText('1 of 3 fit the filter').waitFor()
  await page.keyboard.press('Escape')
  await line(page, 'Locks', 'sku:42').waitFor()
  assert.equal(await filter.inputValue(), '')
})

test('whatever has the focus shows it', async (context) => {
  const { page } = await shown(context, busy())
  const seen = new Set()
  for (let presses = 0; presses < 30; presses++) {
    await page.keyboard.press('Tab')
    const [what, outline, name] = await page.evaluate(() => {
      const element = document.activeElement ?? document.body
      return [element.outerHTML.slice(0, 80), getComputedStyle(element).outlineStyle, element.localName]
    })
    // Behind the last is the browser's own.
    if (name === 'body') break
    assert.notEqual(outline, 'none', what)
    seen.add(what)
  }
  assert.ok(seen.size > 15, 'there is much to come by')
})

test('a screen reader finds landmarks, headings and named tables', async (context) => {
  const { page } = await shown(context, busy())
  for (const role of /** @type {const} */ (['banner', 'main', 'contentinfo', 'search']))
    assert.equal(await page.getByRole(role).count(), 1, role)
  await page.getByRole('navigation', { name: 'Overview' }).waitFor()
  const headings = [
    'Decisions per second',
    'Denied or near the limit',
    'Keys without TTL',
    'Locks',
    'Stocks',
    'Caches',
    'Servers',
  ]
  for (const name of headings) await page.getByRole('heading', { level: 2, name, exact: true }).waitFor()
  const table = page.getByRole('table', { name: 'Locks that are held' })
  assert.equal(await table.getByRole('columnheader').count(), 5)
  assert.equal(await table.getByRole('row').count(), 4)
  assert.equal(await table.getAttribute('aria-rowcount'), '4')
})

test('only news is said aloud, not each number that changes', async (context) => {
  const state = busy()
  state.locks = wrong().locks
  const { page, scripted } = await shown(context, state)
  const status = page.getByRole('status')
  await page.evaluate(() => {
    const heard = /** @type {string[]} */ ([])
    Object.assign(window, { heard })
    const place = document.getElementById('announcer')
    if (place)
      new MutationObserver(() => heard.push(place.textContent ?? '')).observe(place, {
        childList: true,
        characterData: true,
        subtree: true,
      })
  })
  for (let age = 0; age < 5; age++) {
    for (const lock of scripted.state.locks.slice(0, 1)) lock.holders[0].age_ms = 732_000 + 61_000 * age
    scripted.push()
    await verdict(page)
      .getByText(`is held for ${12 + age}m`)
      .waitFor()
  }
  scripted.push({ locks: [], locks_total: 0 })
  await status.getByText('No problems found').waitFor()
  assert.deepEqual(await page.evaluate(() => /** @type {any} */ (window).heard), ['No problems found'])
  const regions = await page.locator('[aria-live], [role=status], [role=alert]').count()
  assert.equal(regions, 1)
})

test('focus, selection and scroll stay while numbers change', async (context) => {
  const { page, scripted } = await shown(context, busy())
  const button = page.getByRole('button', { name: 'Force release lock invoices' })
  await button.focus()
  await part(page, 'Denied or near the limit').getByText('user:1042').selectText()
  await button.focus()
  const key = part(page, 'Denied or near the limit').getByText('user:1042')
  await key.selectText()
  const scroller = part(page, 'Denied or near the limit').locator('.scroller')
  await scroller.evaluate((element) => element.scrollTo(0, 60))
  await scroller.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => resolve(null))))
  const elements = await button.elementHandle()
  for (let step = 0; step < 5; step++) {
    scripted.state.locks.reverse()
    for (const lock of scripted.state.locks) lock.waiters += 1
    scripted.push()
    await until(
      async () =>
        (await line(page, 'Locks', 'invoices')
          .getByText(`${scripted.state.locks.find((one) => one.name === 'invoices')?.waiters}`, { exact: true })
          .count()) > 0,
      'the state is shown',
    )
  }
  assert.equal(await page.evaluate((element) => document.activeElement === element, elements), true)
  assert.equal(await page.evaluate(() => getSelection()?.toString()), 'user:1042')
  assert.equal(await scroller.evaluate((element) => element.scrollTop), 60)
})

test('what moves can be told not to', async (context) => {
  const { page } = await shown(context, busy(), { reducedMotion: 'reduce' })
  const moving = await page.evaluate(() => document.getAnimations().length)
  assert.equal(moving, 0)
})

test('a list keeps its order while somebody points at it', async (context) => {
  const { page, scripted } = await shown(context, busy())
  const refused = part(page, 'Denied or near the limit')
  const first = refused.getByRole('row').nth(1)
  await first.getByText('ip:203.0.113.9').hover()
  const gone = scripted.state.denied[1]?.key
  scripted.push({ denied: scripted.state.denied.filter((row) => row.key !== gone).reverse(), denied_total: 15 })
  await refused.getByText('15 keys, the worst first').waitFor()
  assert.match((await first.textContent()) ?? '', /^ip:203\.0\.113\.9/)
  assert.equal(await line(page, 'Denied or near the limit', `${gone}`).getAttribute('class'), 'gone')
  await page.mouse.move(5, 5)
  scripted.push()
  await until(async () => /^token:9f3c/.test((await first.textContent()) ?? ''), 'the new order is shown')
  assert.equal(await line(page, 'Denied or near the limit', `${gone}`).count(), 0)
})
