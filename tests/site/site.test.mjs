// The site of the documentation, as `make docs` built it: it is searched, switched and read in Chromium.

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import path from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { navigation } from '../../docs/.vitepress/navigation.mjs'
import { collect } from '../../docs/.vitepress/pages.mjs'
import { browser, until } from '../page/support.mjs'

const SITE = fileURLToPath(new URL('../../target/site/html/', import.meta.url))
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** @type {Record<string, string>} */
const TYPES = { css: 'text/css', html: 'text/html', js: 'text/javascript', png: 'image/png', svg: 'image/svg+xml' }

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://site')
  const file = path.join(SITE, decodeURIComponent(pathname.replace(/\/$/, '/index.html')))
  try {
    const content = await readFile(file)
    response.setHeader('content-type', TYPES[path.extname(file).slice(1)] ?? 'text/plain').end(content)
  } catch {
    response.writeHead(404).end()
  }
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
after(() => server.close())

/** @typedef {import('playwright-core').Page} Page */

/**
 * A page of the site, when its scripts have taken over. Whatever it asks for in vain fails the test.
 * @param {import('node:test').TestContext} context @param {string} place @param {import('playwright-core').BrowserContextOptions} [options]
 */
async function opened(context, place, options) {
  const page = await browser(context, options)
  /** @type {string[]} */
  const missing = []
  page.on('response', (response) => response.status() >= 400 && missing.push(response.url()))
  context.after(() => assert.deepEqual(missing, []))
  await went(page, place)
  return page
}

/** @param {Page} page @param {string} place */
async function went(page, place) {
  await page.goto(`http://127.0.0.1:${port}/${place}`)
  await until(
    () => page.evaluate(() => /** @type {any} */ (document.querySelector('#app')).__vue_app__ !== undefined),
    'the scripts of the page',
  )
}

/** The languages that the tabs of a page show, each once. @param {Page} page */
const shown = async (page) => [...new Set(await page.locator('[role=tab][aria-selected=true]').allTextContents())]

test('no link is dead; one to a missing page, file or heading is found, and so is a page without a place', () => {
  assert.deepEqual(collect().dead, [])
  const text =
    '# X\n[a](gone.md) [b](promises.md#gone) [c](#x) [d](images/gone.svg) [e](../examples/gone.py) ![f](images/gone.png)\n'
  const { pages, dead } = collect({ 'docs/x.md': `${text}\n\`\`\`text\n[g](no-link.md)\n\`\`\`\n` })
  assert.deepEqual(dead, [
    'docs/x.md: gone.md',
    'docs/x.md: images/gone.svg',
    'docs/x.md: ../examples/gone.py',
    'docs/x.md: images/gone.png',
    'docs/x.md: promises.md#gone, a heading that is missing',
  ])
  assert.deepEqual(navigation(pages).outside, ['x'])
})

test('every address on every page is there, with its heading', () => {
  const files = readdirSync(SITE, { encoding: 'utf8', recursive: true }).filter((name) => name.endsWith('.html'))
  assert.ok(files.length > 150)
  const pages = new Map(files.map((name) => [`/${name}`, readFileSync(path.join(SITE, name), 'utf8')]))
  const ids = new Map(
    [...pages].map(([name, html]) => [name, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]),
  )
  const missing = new Set()
  for (const [name, html] of pages) {
    for (const [, link = ''] of html.matchAll(/ href="((?:\/|#|\.)[^"]*)"/g)) {
      const { pathname, hash } = new URL(link, `http://site${name}`)
      const bare = decodeURIComponent(pathname).replace(/\/$/, '/index.html')
      const to = pages.has(`${bare}.html`) ? `${bare}.html` : bare
      const isThere = existsSync(path.join(SITE, to)) && (!hash || ids.get(to)?.has(decodeURIComponent(hash.slice(1))))
      if (!isThere) missing.add(`${name}: ${link}`)
    }
  }
  assert.deepEqual([...missing], [])
})

test('a tab switches all tabs of its page and of others, and lasts', async (context) => {
  const page = await opened(context, 'guide/once.html')
  const tabs = page.getByRole('tab', { name: 'PHP' })
  assert.ok((await tabs.count()) > 2)
  assert.deepEqual(await shown(page), ['Python'])
  await tabs.nth(1).click()
  await until(async () => (await shown(page)).join() === 'PHP', 'all tabs show PHP')
  await page.getByRole('link', { name: 'Hooks', exact: false }).first().click()
  await page.waitForURL(/hooks/)
  await until(async () => (await shown(page)).join() === 'PHP', 'those of another page do')
  await went(page, 'reference/consume.html')
  await until(async () => (await shown(page)).join() === 'PHP', 'and those of the reference, after a reload')
})

test('the switch at the top is the same choice', async (context) => {
  const page = await opened(context, 'guide/once.html')
  await page.getByLabel('Language of the examples').first().selectOption('Node')
  await until(async () => (await shown(page)).join() === 'Node', 'all tabs show Node')
  await page.locator('.vp-doc .language-js').first().waitFor()
})

test('a search finds a page by its words', async (context) => {
  const page = await opened(context, 'promises.html')
  await page.getByRole('button', { name: 'Search' }).first().click()
  await page.getByRole('searchbox').fill('fencing token')
  const result = page.getByRole('option').filter({ hasText: 'Fencing tokens' }).first()
  await result.waitFor()
  await result.click()
  await page.getByRole('heading', { name: 'Fencing tokens' }).first().waitFor()
})

test('a page is copied as Markdown, and llms.txt lists it', async (context) => {
  const page = await opened(context, 'guide/once.html', { permissions: ['clipboard-read', 'clipboard-write'] })
  await page.getByRole('button', { name: 'Copy as Markdown' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  assert.match(copied, /^# /)
  assert.match(copied, /^```python\n/m)
  const listed = readFileSync(path.join(SITE, 'llms.txt'), 'utf8')
  const places = [...listed.matchAll(/\]\(\/([^)]+)\)/g)].map(([, place]) => `${place}`)
  assert.ok(places.includes('guide/once.md'))
  for (const place of places) assert.match(readFileSync(path.join(SITE, place), 'utf8'), /^# \S/m, place)
})

const LOOKS = {
  light: { colorScheme: /** @type {const} */ ('light') },
  dark: { colorScheme: /** @type {const} */ ('dark') },
  phone: { colorScheme: /** @type {const} */ ('dark'), viewport: { width: 360, height: 740 } },
}
for (const [name, options] of Object.entries(LOOKS)) {
  test(`axe finds no barrier, and nothing stands out of the window: ${name}`, async (context) => {
    const page = await opened(context, 'guide/once.html', options)
    for (const place of ['index.html', 'guide/once.html', 'reference/consume.html', 'survive.html']) {
      await went(page, place)
      await page.evaluate(AXE)
      const found = await page.evaluate(() =>
        /** @type {any} */ (window).axe.run(document, { resultTypes: ['violations'] }),
      )
      const serious = found.violations.filter((/** @type {any} */ one) => ['serious', 'critical'].includes(one.impact))
      const said = serious.map(
        (/** @type {any} */ one) => `${one.id}: ${one.nodes[0].target}: ${one.nodes[0].failureSummary}`,
      )
      assert.deepEqual(said, [], place)
      const [full, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
      assert.equal(full, inner, place)
    }
  })
}
