// What ends with an exception: the last reference to an object of ours, a batch of answers, a thread.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUN, client, freshPrefix, often, ROOT, redis, run } from './support.mjs'

/** What makes an object of each class, by its name; each may be forgotten in any moment. */
const MAKERS = (/** @type {string} */ url, /** @type {string} */ prefix) => `
  import * as quotalock from 'quotalock'
  const own = new quotalock.Client('${url}', { prefix: '${prefix}', timeoutMs: 10_000 })
  const limiter = own.limiter('n', '1000000/hour')
  const cache = own.cache('pages', { freshMs: 60_000 })
  const stock = own.stock('sale')
  let count = 0
  const next = () => process.pid + ':' + count++
  const makers = {
    Client: async () => new quotalock.Client('${url}'),
    Limiter: async () => own.limiter(next(), '1/s'),
    used: async () => { const made = new quotalock.Client('${url}', { timeoutMs: 10_000 }).limiter(next(), '1/s'); await made.consume('k'); return made },
    calling: async () => { const made = own.limiter(next(), '1/s'); made.consume('k').catch(() => {}); return made },
    Reservation: async () => limiter.reserve('k', 1, { ttlMs: 1000 }),
    Decision: async () => limiter.consume('k'),
    CombinedDecision: async () => own.consumeAll([[limiter, 'a'], [limiter, 'b']]),
    Stock: async () => own.stock(next()),
    Taken: async () => { await stock.open(1000).catch(() => {}); return stock.take('buyer') },
    Once: async () => own.once(next()),
    Cache: async () => own.cache(next()),
    value: async () => cache.get(next(), () => 'v'),
    Lock: async () => own.lock(next(), { acquire: false }),
    held: async () => own.lock(next()),
    watched: async () => { const lock = await own.lock(next()); void lock.signal; return lock },
    waiting: async () => { const name = next(); await own.lock(name); const made = await own.lock(name, { acquire: false }); made.acquire({ waitMs: 20 }).catch(() => {}); return made },
    Semaphore: async () => own.semaphore(next(), 2),
    read: async () => own.readLock(next()),
    write: async () => own.writeLock(next()),
    all: async () => own.lockAll([next(), next()]),
    Inspection: async () => (await own.lock(next())).inspect(),
    Error: async () => limiter.consume('').catch((error) => error),
  }`

for (const [name, url] of [
  ['redis', redis()],
  ['memory', 'memory://'],
]) {
  test(`every class may lose its last reference to an exception, on ${name}`, async () => {
    const text = `
      import { setImmediate as turn } from 'node:timers/promises'
      ${MAKERS(`${url}`, freshPrefix())}
      const kinds = {
        caught: async (make) => { const made = await make(); throw new Error(typeof made) },
        collected: async (make) => { try { const made = await make(); throw new Error(typeof made) } finally { globalThis.gc() } },
        nested: async (make) => { try { throw new Error(typeof (await make())) } finally { try { throw new Error(typeof (await make())) } catch { globalThis.gc() } } },
        aggregate: (make) => Promise.any([make().then((made) => { throw new Error(typeof made) }), make().then(() => { throw new Error() })]),
        within: async (make) => { const made = [await make()]; const call = limiter.consume('k'); made.length = 0; globalThis.gc(); await call; throw new Error() },
        getter: async (make) => { const made = [await make()]; own.cache('n', { get freshMs() { made.length = 0; globalThis.gc(); throw new Error() } }) },
        loader: async (make) => cache.get(next(), async () => { const made = await make(); globalThis.gc(); throw new Error(typeof made) }),
      }
      for (const [kind, use] of Object.entries(kinds)) {
        for (const [name, make] of Object.entries(makers)) {
          const ended = await use(make).then(() => 'no error', (error) => (error instanceof quotalock.QuotalockError ? error : undefined))
          if (ended !== undefined) console.log(kind, name, ended)
          globalThis.gc()
          await turn()
        }
      }
      console.log((await limiter.consume('k')).allowed)`
    assert.deepEqual(await run(text, ['--expose-gc', '--no-warnings']), { code: 0, signal: null, output: 'true\n' })
  })

  test(`every class may end with its process or its thread, by an exception, on ${name}`, async () => {
    const text = `
      import { Worker } from 'node:worker_threads'
      ${MAKERS(`${url}`, freshPrefix())}
      const program = ${JSON.stringify(MAKERS(`${url}`, freshPrefix()))}
      const ends = ["throw new Error('the end')", 'setTimeout(() => { throw new Error("the end") })', 'Promise.reject(new Error("the end"))', 'process.exit(1)']
      for (const [i, name] of Object.keys(makers).entries()) {
        const end = ends[i % ends.length]
        const text = program + '\\nconst made = await makers.' + name + '(); limiter.consume("k"); ' + end + '; await limiter.consume(typeof made); await limiter.consume("k")'
        const worker = new Worker(text, { eval: true })
        worker.on('error', (error) => error.message === 'the end' || console.log('wrong:', name, end, error))
        const code = await new Promise((resolve) => worker.once('exit', resolve))
        // Bun's workers may exit with 0 after a rejection that nobody handles.
        if (code !== 1 && !(${BUN} && end.startsWith('Promise') && code === 0)) console.log('wrong:', name, end, code)
      }
      const made = []
      for (const make of Object.values(makers)) made.push(await make())
      process.once('exit', (code) => console.log('exit', code, made.length))
      throw new Error('the end')`
    const { code, signal, output } = await run(text)
    assert.deepEqual([code, signal], [1, null], output)
    assert.match(output, /error: the end/i)
    assert.match(output, /^exit 1 22$/m)
    assert.ok(!output.includes('wrong: '), output)
  })
}

test('a thread that is terminated in the middle of calls of every kind leaves nothing behind', async () => {
  const url = redis()
  const prefix = freshPrefix()
  const text = `
    import { Worker } from 'node:worker_threads'
    const program = ${JSON.stringify(`${MAKERS(url, prefix)}
      import { parentPort } from 'node:worker_threads'
      for (const make of Object.values(makers)) {
        const more = () => make().then(() => setImmediate(more), () => setImmediate(more))
        more()
      }
      const controller = new AbortController()
      for (let i = 0; i < 500; i++) limiter.wait('full', { timeoutMs: 7_200_000, cost: 900_000, signal: controller.signal }).catch(() => {})
      setTimeout(() => parentPort.postMessage('busy'), Math.random() * 20)
      setTimeout(() => controller.abort(), Math.random() * 20)
    `)}
    for (let i = 0; i < ${often(5, 20)}; i++) {
      const worker = new Worker(program, { eval: true })
      worker.on('error', (error) => console.log(error))
      await new Promise((resolve) => worker.once('message', resolve))
      // Also before it has flushed what it wrote.
      if (i % 2) await new Promise((resolve) => setImmediate(resolve))
      await worker.terminate()
    }
    console.log('fine')`
  // What was collected as garbage is warned of: often in Bun, where a worker's warnings come before it ends.
  assert.deepEqual(await run(text, ['--no-warnings']), { code: 0, signal: null, output: 'fine\n' })
  assert.ok((await client(url, { prefix }).limiter('n', '1000000/hour').consume('k')).allowed)
})

test('an answer that cannot be read is the error of its call, not of those behind it', async () => {
  const text = `
    import { createRequire } from 'node:module'
    import { Client } from 'quotalock'
    const client = new Client('${redis()}', { prefix: '${freshPrefix()}', timeoutMs: 10_000 })
    const [limiter, cache, stock] = [client.limiter('n', '10/hour'), client.cache('pages'), client.stock('none')]
    await cache.put('k', 'v')
    const { Channel } = createRequire('${new URL('bindings-node/index.js', ROOT)}')('./lib/native.js')
    const plain = Channel.prototype.value
    const code = (call) => call.then(() => 'answered', (error) => error.message)
    Channel.prototype.value = () => { throw new Error('no memory') }
    const calls = []
    for (let i = 0; i < 5; i++) calls.push(limiter.consume(''), limiter.peek('k'), stock.status(), cache.peek('k'), client.takeAll([[stock, 1]], 'b'))
    const answers = await Promise.all(calls.map(code))
    Channel.prototype.value = plain
    console.log(new Set(answers), (await limiter.peek('k')).remaining)`
  const { code, signal, output } = await run(text)
  assert.deepEqual([code, signal], [0, null], output)
  assert.match(output, /['"]no memory['"]/)
  assert.match(output, /['"]answered['"]/)
  assert.match(output, / 10\n$/)
})
