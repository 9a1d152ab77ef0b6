// Loaders that are killed, and callers who give up: the next one may load.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once as event } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { client, freshPrefix, ROOT, redis, run, servers, stores } from './support.mjs'

const texts = (/** @type {(Buffer | null)[]} */ values) => new Set(values.map(String))

const LOADER = (/** @type {string} */ url, /** @type {string} */ prefix, /** @type {number} */ leaseMs) => `
  import { Client } from 'quotalock'
  const cache = new Client('${url}', { prefix: '${prefix}', timeoutMs: 10_000 }).cache('home', { leaseMs: ${leaseMs} })
  setInterval(() => {}, 1000)
  // Within reach, or its lease would end with it.
  globalThis.never = new Promise(() => {})
  await cache.get('k', () => {
    console.log('loading')
    return never
  })`

for (const [store, url] of Object.entries(servers())) {
  test(`a loader that is killed is followed by one, after its lease, on ${store}`, async (context) => {
    const prefix = freshPrefix()
    const how = { cwd: fileURLToPath(ROOT) }
    const began = Date.now()
    const child = spawn(process.execPath, ['--input-type=module', '--eval', LOADER(url, prefix, 1500)], how)
    context.after(() => child.kill('SIGKILL'))
    await event(child.stdout, 'data')
    child.kill('SIGKILL')
    const killed = Date.now()
    const cache = client(url, { prefix }).cache('home')
    let loads = 0
    let at = 0
    const gets = Array.from({ length: 20 }, () =>
      cache.get('k', async () => {
        loads++
        at = Date.now()
        await sleep(20)
        return 'v'
      }),
    )
    assert.deepEqual(texts(await Promise.all(gets)), new Set(['v']))
    assert.equal(loads, 1)
    // The lease began after the process did.
    assert.ok(at - began >= 1500 && at - killed < 8_000, `${at - began} ms, ${at - killed} ms`)
  })
}

test('a worker that is terminated while it loads frees the way', async () => {
  const prefix = freshPrefix()
  const text = LOADER(redis(), prefix, 60_000).replace("console.log('loading')", 'process.stdout.write("loading")')
  const module = new URL(
    `data:text/javascript,${encodeURIComponent(text.replace("'quotalock'", `'${import.meta.resolve('quotalock')}'`))}`,
  )
  const worker = new Worker(module, { stdout: true })
  await event(worker.stdout, 'data')
  const waiting = client(redis(), { prefix })
    .cache('home')
    .get('k', () => 'v', { waitMs: 20_000 })
  await worker.terminate()
  assert.equal(String(await waiting), 'v')
})

test('a process that waits for nothing more ends', async () => {
  const text = `
    import { Client } from 'quotalock'
    const own = new Client('${redis()}', { prefix: '${freshPrefix()}', timeoutMs: 10_000 })
    const cache = own.cache('home', { freshMs: 100, beta: 0 })
    const load = () => new Promise((done) => setTimeout(done, 100, 'v'))
    const both = await Promise.all([cache.get('k', load), cache.get('k', load)])
    console.log(both.join())
    const stop = new AbortController()
    globalThis.never = new Promise(() => {})
    void cache.get('other', () => never)
    const gone = cache.get('other', load, { signal: stop.signal, waitMs: 60_000 })
    setTimeout(() => stop.abort(new Error('gone')), 100)
    await gone.catch(({ message }) => console.log(message))`
  const began = Date.now()
  const { code, output } = await run(text)
  assert.deepEqual([code, output], [0, 'v,v\ngone\n'])
  assert.ok(Date.now() - began < 15_000)
})

test('a caller who gives up while it loads frees the way, and its error is nobody else’s', async () => {
  for (const url of Object.values(stores())) {
    const shop = client(url)
    const [cache, orders] = [
      shop.cache('home', { leaseMs: 60_000, errorTtlMs: 60_000 }),
      shop.once('orders', { errorTtlMs: 60_000 }),
    ]
    /** @type {[(load: () => any, signal?: AbortSignal) => Promise<any>, string][]} */
    const ways = [
      [(load, signal) => cache.get('k', load, { signal }), 'one'],
      [
        async (load, signal) => (await cache.getMany(['l'], async () => ({ l: await load() }), { signal })).get('l'),
        'many',
      ],
      [(load, signal) => orders.run('o', load, { signal }), 'run'],
    ]
    for (const [get, way] of ways) {
      const stop = new AbortController()
      const mine = get(() => sleep(60_000, 'never', { signal: stop.signal }), stop.signal)
      setTimeout(() => stop.abort(), 50)
      assert.equal((await mine.catch((error) => error)).name, 'AbortError')
      assert.equal(String(await get(() => 'another')), 'another', way)
    }
  }
})
