// What workers of Deno hold when they end: Deno finalizes none of a worker's values, and the process goes on with its thread. And the
// end of files of its test runner.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { client, freshPrefix, ROOT, redis } from './support.mjs'

const DENO = fileURLToPath(new URL('bindings-node/node_modules/.bin/deno', ROOT))
/** How a program of Deno gets the package, wherever the program is. */
const PACKAGE = `const { Client } = (await import('node:module')).createRequire('${fileURLToPath(import.meta.url)}')('quotalock')`
/** No test waits so long for a lease. */
const LEASE = 'ttlMs: 300_000'

/** What ends a worker: a line of its main thread's program, or of the worker itself as it is told to. */
const ENDS = {
  'terminate()': { main: 'worker.terminate()' },
  'self.close()': { worker: 'self.close()' },
  'Deno.exit()': { worker: 'Deno.exit()' },
  'an error': { worker: 'throw new Error("unhandled")' },
}

/**
 * Starts a process of Deno, which stays until the test ends, and gives a function that has a worker do `text`, then end; it may be
 * called several times. `own` is a client of this process with the prefix of the workers.
 * @param {import('node:test').TestContext} context
 * @param {string} text what the worker does first, with its `client`
 * @param {{ main?: string, worker?: string }} end
 */
function deno(context, text, { main = 'worker.postMessage("end")', worker = '' } = ENDS['terminate()']) {
  const prefix = freshPrefix()
  const inside = `${PACKAGE}
    const client = new Client('${redis()}', { prefix: '${prefix}', timeoutMs: 10_000 })
    const kept = []
    self.onmessage = () => { ${worker} }
    ${text}
    self.postMessage('here')`
  const program = `
    const { createInterface } = await import('node:readline')
    for await (const _ of createInterface({ input: process.stdin })) {
      const worker = new Worker(${JSON.stringify(`data:text/javascript,${encodeURIComponent(inside)}`)}, { type: 'module' })
      const ended = new Promise((resolve) => {
        worker.onerror = (event) => { event.preventDefault(); resolve(event.message) }
      })
      const here = new Promise((resolve) => (worker.onmessage = ({ data }) => resolve(data)))
      console.log(await Promise.race([here, ended]))
      ${main}
      console.log('ended')
    }`
  const child = spawn(DENO, ['eval', '--no-config', '--no-lock', program], { stdio: ['pipe', 'pipe', 'inherit'] })
  context.after(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  /** Has a worker begin and end, and waits until it was told to. */
  const play = async () => {
    child.stdin.write('play\n')
    assert.equal((await lines.next()).value, 'here')
    assert.equal((await lines.next()).value, 'ended')
  }
  return { play, child, own: client(redis(), { prefix }) }
}

for (const [name, end] of Object.entries(ENDS)) {
  test(`a worker's lock is free when the worker ends by ${name}`, async (context) => {
    const { play, own } = deno(context, `kept.push(await client.lock('l', { ${LEASE} }))`, end)
    await play()
    await (await own.lock('l', { waitMs: 60_000 })).release()
  })
}

/**
 * What a worker does, and what another client does then, which fails or waits for 60 seconds unless all was given back.
 * @type {Record<string, [string, (own: import('quotalock').Client) => Promise<any>]>}
 */
const HOLDS = {
  'a permit of a semaphore': [
    `kept.push(await client.semaphore('s', 1, { ${LEASE} }))`,
    (own) => own.semaphore('s', 1, { waitMs: 60_000 }),
  ],
  'a read lock': [
    `kept.push(await client.readLock('rw', { ${LEASE} }))`,
    (own) => own.writeLock('rw', { waitMs: 60_000 }),
  ],
  'several names': [
    `kept.push(await client.lockAll(['a', 'b'], { ${LEASE} }))`,
    (own) => own.lockAll(['b', 'a'], { waitMs: 60_000 }),
  ],
  'what it adopted': [
    `kept.push(await client.adopt((await client.lock('l', { ${LEASE} })).handover()))`,
    (own) => own.lock('l', { waitMs: 60_000 }),
  ],
  'a load of a cache': [
    `await new Promise((loads) => client.cache('home', { leaseMs: 300_000 }).get('k', () => (loads(), new Promise(() => {}))))`,
    (own) => own.cache('home').get('k', () => 'v', { waitMs: 60_000 }),
  ],
  'a run of once': [
    `await new Promise((runs) => client.once('orders', { leaseMs: 300_000 }).run('o', () => (runs(), new Promise(() => {}))))`,
    (own) => own.once('orders').run('o', () => 'v', { waitMs: 60_000 }),
  ],
}

for (const [what, [text, get]] of Object.entries(HOLDS)) {
  test(`a worker that is terminated gives back ${what}`, async (context) => {
    const { play, own } = deno(context, text)
    await play()
    assert.ok(await get(own))
  })
}

test('a worker that is terminated while it waits for a lock leaves the queue', async (context) => {
  const { play, own } = deno(
    context,
    `void client.lock('l', { ${LEASE}, waitMs: 300_000 })
    while ((await (await client.lock('l', { acquire: false })).inspect()).waiters === 0);`,
  )
  const first = await own.lock('l', { ttlMs: 300_000 })
  await play()
  while ((await first.inspect()).waiters > 0);
  assert.equal(await first.release(), true)
  assert.equal(await (await own.lock('l')).release(), true)
})

test('a lock that is not renewed is meant to end by itself, also when its worker is terminated', async (context) => {
  const { play, own } = deno(
    context,
    `kept.push(await client.lock('kept', { ${LEASE}, renew: false }), await client.lock('l', { ${LEASE} }))`,
  )
  await play()
  await own.lock('l', { waitMs: 60_000 })
  assert.equal((await (await own.lock('kept', { acquire: false })).inspect()).holders.length, 1)
})

test('a process goes on after many workers whose calls were under way, and losses that nobody hears of', async (context) => {
  const { play, child, own } = deno(
    context,
    `
    const limiter = client.limiter('n', '1000000/hour')
    await limiter.consume('k')
    for (let i = 0; i < 50; i++) void limiter.consume('k')
    void limiter.wait('full', { cost: 1_000_000, timeoutMs: 300_000 })
    const lock = await client.lock('l', { ${LEASE}, renew: false, waitMs: 60_000 })
    kept.push(lock, lock.signal)`,
  )
  /** @param {string} fd */
  const isSocket = (fd) => {
    try {
      return readlinkSync(`/proc/${child.pid}/fd/${fd}`).startsWith('socket:')
    } catch {
      return false // It was closed meanwhile.
    }
  }
  const sockets = () => readdirSync(`/proc/${child.pid}/fd`).filter(isSocket).length
  await play()
  const first = sockets()
  for (let i = 0; i < 20; i++) {
    await (await own.lock('l', { acquire: false })).forceRelease()
    await play()
  }
  // Neither do connections stay: each worker had some.
  while (sockets() > first + 10) await sleep(10)
  assert.equal(child.exitCode, null)
})

test('files of `deno test` end, whatever they have left as garbage', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quotalock-deno-'))
  const file = `
    import { test } from 'node:test'
    ${PACKAGE}
    test('many', async () => {
      const client = new Client('memory://')
      for (let i = 0; i < 3000; i++) await client.limiter('n' + (i % 50), '1000/hour').consume('k')
    })`
  const names = ['one', 'two', 'three'].map((name) => join(folder, `${name}.test.mjs`))
  for (const name of names) writeFileSync(name, file)
  const options = ['test', '--allow-all', '--no-check', '--no-config', '--no-lock']
  const { status, signal, stdout } = spawnSync(DENO, [...options, ...names], { encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  assert.deepEqual([status, signal], [0, null], stdout)
  assert.match(stdout, /3 passed/)
})
