// What the tests of the page share: servers and programs of their own, and a browser that notices whatever goes wrong in it.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { freePort, ownRedis } from '../node/support.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const TOKEN = 'a-token-for-the-tests-of-the-page'
/** How long anything may take to be seen, on a machine that does other things too. */
export const SOON = 60_000

const chrome = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  // Its sandbox does not work for root, as whom CI may run.
  chromiumSandbox: process.getuid?.() !== 0,
})
after(() => chrome.close())

/** @typedef {import('node:test').TestContext} Context */
/** @typedef {import('playwright-core').Page} Page */

/** A Redis of one's own, empty; it ends with the test. @param {Context} context @param {...string} options */
export async function redis(context, ...options) {
  const port = await freePort()
  const { server } = await ownRedis(context, undefined, '--port', port, '--bind', '127.0.0.1', ...options)
  return { url: `redis://127.0.0.1:${port}`, server }
}

/**
 * Starts a program that ends with the test, and waits until it says something.
 * @param {Context} context
 * @param {string[]} command
 * @param {RegExp} [ready]
 * @param {Record<string, string>} [env]
 */
export async function started(context, command, ready, env = {}) {
  const how = ['--pdeathsig', 'KILL', '--', ...command]
  const child = spawn('setpriv', how, { cwd: ROOT, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (log += data))
  context.after(() => child.kill('SIGKILL'))
  const end = Date.now() + SOON
  while (ready && !ready.test(log)) {
    assert.equal(child.exitCode, null, log)
    assert.ok(Date.now() < end, `it did not begin: ${log}`)
    await sleep(20)
  }
  return { child, log: () => log }
}

/** Starts `quotalock serve`. @param {Context} context @param {string} url @param {string[]} options @param {string} [port] */
export async function serve(context, url, options = [], port) {
  const own = port ?? (await freePort())
  const command = ['target/debug/quotalock', 'serve', '--url', url, '--listen', `127.0.0.1:${own}`, ...options]
  const { child, log } = await started(context, command, /serve: http:/, { QUOTALOCK_SERVE_TOKEN: TOKEN })
  return { url: `http://127.0.0.1:${own}`, port: own, log, stop: () => ended(child) }
}

/** Runs `quotalock` to its end. @param {string[]} words @param {string} url */
export async function quotalock(words, url) {
  const child = spawn('target/debug/quotalock', words, {
    cwd: ROOT,
    env: { ...process.env, QUOTALOCK_URL: url },
    stdio: 'ignore',
  })
  const [code] = await once(child, 'exit')
  return code
}

/** @param {import('node:child_process').ChildProcess} child */
async function ended(child) {
  child.kill('SIGKILL')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

/** Processes of a shop, in Python, that work on a Redis as their words say. @param {Context} context @param {string} url @param {...string} words */
export function shop(context, url, ...words) {
  return started(context, ['.venv/bin/python', 'tests/page/shop.py', url, ...words], /open/)
}

/**
 * A browser of its own. Whatever runs that must not, or is refused by the policy of the page, fails the test at its end.
 * @param {Context} context
 * @param {import('playwright-core').BrowserContextOptions} [options]
 * @param {RegExp} [expected] what its console may say beside
 */
export async function browser(context, options = {}, expected = /(?!)/) {
  const own = await chrome.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB', ...options })
  own.setDefaultTimeout(SOON)
  const page = await own.newPage()
  /** @type {string[]} */
  const wrong = []
  page.on('dialog', (dialog) => {
    wrong.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('pageerror', (error) => wrong.push(`an error: ${error.stack}`))
  page.on('console', (message) => {
    // A server that is away, or a session that is over, is told by the browser too: tests of that look for it themselves.
    const isExpected =
      /Failed to load resource|ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/.test(message.text()) ||
      expected.test(message.text())
    if (message.type() === 'error' && !isExpected) wrong.push(`the console: ${message.text()}`)
  })
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    )
  })
  context.after(async () => {
    await own.close()
    assert.deepEqual(wrong, [])
  })
  return page
}

/** Goes through the door, and waits until the page is live. @param {Page} page @param {string} url */
export async function enter(page, url) {
  await page.goto(url)
  await page.getByLabel('Token').fill(TOKEN)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Live', { exact: true }).waitFor()
}

/** Asks until it is so: what is on a page comes when it comes. @param {() => Promise<boolean>} isSo @param {string} what */
export async function until(isSo, what, within = SOON) {
  const end = Date.now() + within
  while (!(await isSo())) {
    assert.ok(Date.now() < end, `it did not come: ${what}`)
    await sleep(50)
  }
}

/** The one line at the top. @param {Page} page */
export const verdict = (page) => page.getByRole('heading', { level: 1 })

/** A part of the page, by its heading. @param {Page} page @param {string} name */
export const part = (page, name) => page.getByRole('region', { name, exact: true })

/** The line of a table that has a text. @param {Page} page @param {string} section @param {string | RegExp} text */
export const line = (page, section, text) => part(page, section).getByRole('row').filter({ hasText: text })
