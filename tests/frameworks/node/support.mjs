// Applications that are started as their users start them, and what they answer.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cpSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../node/support.mjs'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** Where setup.sh installed the frameworks. */
export const INSTALLED = join(ROOT, 'target/frameworks/node/')
const require = createRequire(INSTALLED)

/** A framework, as an application finds it. @returns {any} */
export function framework(/** @type {string} */ name) {
  return require(name)
}

/**
 * Waits for a condition.
 * @param {() => Promise<boolean>} ready
 */
export async function until(ready, within = 30_000) {
  const end = Date.now() + within
  while (!(await ready())) {
    assert.ok(Date.now() < end, 'it did not come')
    await sleep(50)
  }
}

/**
 * Starts an example, with a Redis and an `onError`; it ends with the test.
 * @param {import('node:test').TestContext} context
 * @param {string} example its folder, and what it runs on if it can run on several: `nest on fastify`
 * @param {string} url
 * @param {string} onError
 */
export async function start(context, example, url, onError = 'closed') {
  const [name = example, platform = ''] = example.split(' on ')
  // Where its framework is found.
  const folder = join(INSTALLED, 'examples', name)
  cpSync(join(ROOT, 'examples', name), folder, { recursive: true })
  const port = await freePort()
  const env = { ...process.env, PORT: port, QUOTALOCK_URL: url, ON_ERROR: onError, PLATFORM: platform }
  const command = ['--pdeathsig', 'KILL', '--', process.execPath, 'app.mjs']
  const child = spawn('setpriv', command, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (log += data))
  context.after(() => child.kill('SIGKILL'))
  const get = async (/** @type {string} */ path, /** @type {Record<string, string>} */ headers = {}) => {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close', ...headers } })
    return { status: reply.status, headers: reply.headers, body: await reply.text() }
  }
  await until(async () => {
    assert.equal(child.exitCode, null, log)
    return await get('/health').then(
      ({ status }) => status === 200,
      () => false,
    )
  })
  return { get, log: () => log }
}
