// Exits, worker threads and cluster processes.

import assert from 'node:assert/strict'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { client, freshPrefix, often, redis, run } from './support.mjs'

/** The beginning of a program with a limiter of its own. */
const program = (/** @type {string} */ policy) => `
  import { Client } from 'quotalock'
  const client = new Client(${JSON.stringify(redis())}, { prefix: ${JSON.stringify(freshPrefix())}, timeoutMs: 10_000 })
  const limiter = client.limiter('n', '${policy}')
`

test('a process with an idle open client exits by itself', async () => {
  const text = `${program('5/hour')} console.log((await limiter.consume('k')).remaining)`
  assert.deepEqual(await run(text), { code: 0, signal: null, output: '4\n' })
})

test('a process that only made a client exits by itself', async () => {
  assert.deepEqual(await run(program('5/hour')), { code: 0, signal: null, output: '' })
})

test('a process waits for the answer of a call under way', async () => {
  const text = `${program('1/200ms')}
    limiter.consume('k').then(() => limiter.wait('k', { timeoutMs: 9_000 })).then(({ allowed }) => console.log(allowed))`
  assert.deepEqual(await run(text), { code: 0, signal: null, output: 'true\n' })
})

test('an aborted wait holds no process', async () => {
  const text = `${program('1/hour')}
    await limiter.consume('k')
    await limiter.wait('k', { timeoutMs: 7_200_000, signal: AbortSignal.timeout(50) }).catch(({ name }) => console.log(name))`
  assert.deepEqual(await run(text), { code: 0, signal: null, output: 'TimeoutError\n' })
})

test('process.exit with calls under way is a plain exit', async () => {
  const text = `${program('1000000/hour')}
    await limiter.consume('k')
    for (let i = 0; i < 2000; i++) limiter.consume('k' + i)
    setTimeout(() => process.exit(3), Math.random() * 5)`
  for (let i = 0; i < often(5, 20); i++) assert.deepEqual(await run(text), { code: 3, signal: null, output: '' })
})

test('a process that holds a lock exits by itself, one that waits for a lock does not', async () => {
  const text = `${program('1/hour')}
    const lock = await client.lock('sku:42')
    lock.signal.addEventListener('abort', () => console.log('lost'))
    setTimeout(() => lock.release(), 200)
    client.lock('sku:42', { waitMs: 60_000 }).then((other) => console.log(other.state))`
  assert.deepEqual(await run(text), { code: 0, signal: null, output: 'held\n' })
})

test('process.exit with locks held and waited for is a plain exit', async () => {
  const text = () => `${program('1/hour')}
    const lock = await client.lock('sku:42', { ttlMs: 5000 })
    lock.signal.addEventListener('abort', () => {})
    for (let i = 0; i < 500; i++) client.lock('sku:42', { waitMs: 60_000 })
    for (let i = 0; i < 500; i++) client.lock('other:' + i, { waitMs: 60_000 }).then((other) => other.signal)
    setTimeout(() => process.exit(3), Math.random() * 30)`
  for (let i = 0; i < often(5, 20); i++) assert.deepEqual(await run(text()), { code: 3, signal: null, output: '' })
})

for (const end of ['', 'process.exit(0)', 'throw new Error()']) {
  test(`what a process holds at its end ends with its ttl at the latest: ${end || 'the last line'}`, async () => {
    const prefix = freshPrefix()
    const made = `new Client(${JSON.stringify(redis())}, { prefix: '${prefix}', timeoutMs: 10_000 })`
    const [ttlMs, hold] = [1000, `${made}.lock('sku:42', `]
    const text = `import { Client } from 'quotalock'; globalThis.kept = await ${hold} { ttlMs: ${ttlMs} }); ${end}`
    await run(text)
    const ended = Date.now()
    const lock = await client(redis(), { prefix }).lock('sku:42', { waitMs: 10_000, ttlMs: 60_000 })
    assert.ok(Date.now() - ended < ttlMs + 5000)
    await lock.release()
    // What ends without a word leaves it there.
    await run(text.replace(`${ttlMs} }`, '60_000 }'))
    const { holders } = await lock.inspect()
    if (end !== '') assert.equal(holders.length, 1)
    await lock.forceRelease()
  })
}

test('a worker terminated with locks held and waited for, many times, leaves none', async () => {
  const text = `
    import { Worker } from 'node:worker_threads'
    ${program('1/hour')}
    const text = \`
      import { parentPort, workerData } from 'node:worker_threads'
      import { Client } from 'quotalock'
      const client = new Client(workerData.url, { prefix: workerData.prefix, timeoutMs: 10_000 })
      const held = await client.lock('held')
      held.signal.addEventListener('abort', () => {})
      for (let i = 0; i < 50; i++) client.lock('held', { waitMs: 60_000 }).catch(() => {})
      const more = () => client.lock('busy', { waitMs: 60_000 }).then((lock) => lock.release()).then(more, () => {})
      for (let i = 0; i < 20; i++) more()
      client.lock('outside', { waitMs: 60_000 }).catch(() => {})
      setTimeout(() => parentPort.postMessage('busy'), 5)
    \`
    const outside = await client.lock('outside')
    for (let i = 0; i < ${often(10, 50)}; i++) {
      const worker = new Worker(text, { eval: true, workerData: { url: client.url, prefix: client.prefix } })
      await new Promise((resolve) => worker.once('message', resolve))
      await Promise.all([worker.terminate(), client.lock('busy', { waitMs: 20_000 }).then((lock) => lock.release())])
      // It was given back in the background, not after its ttl of 30 s.
      await (await client.lock('held', { waitMs: 20_000 })).release()
    }
    let left = []
    for (let i = 0; i < 500; i++) {
      left = []
      for (const name of ['held', 'busy', 'outside']) {
        const { holders, waiters } = await (await client.lock(name, { acquire: false })).inspect()
        left.push(holders.length, waiters)
      }
      if (left.join() === '0,0,0,0,1,0') break
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    console.log(left.join(), outside.held)`.replace('client.url', JSON.stringify(redis()))
  assert.deepEqual(await run(text), { code: 0, signal: null, output: '0,0,0,0,1,0 true\n' })
})

test('worker threads share no client and count on the same limit', async () => {
  const prefix = freshPrefix()
  const text = `
    const { parentPort } = require('node:worker_threads')
    const { Client } = require('quotalock')
    const limiter = new Client(${JSON.stringify(redis())}, { prefix: '${prefix}', timeoutMs: 10_000 }).limiter('n', '250/hour')
    Promise.all(Array.from({ length: 100 }, () => limiter.consume('k'))).then((decisions) =>
      parentPort.postMessage(decisions.filter(({ allowed }) => allowed).length))`
  const own = client(redis(), { prefix }).limiter('n', '250/hour')
  const workers = [1, 2, 3].map(() => new Worker(text, { eval: true }))
  // They end by themselves, with their clients open.
  const codes = workers.map(async (worker) => (await once(worker, 'exit'))[0])
  const counts = await Promise.all([
    ...workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))),
    Promise.all(Array.from({ length: 100 }, () => own.consume('k'))).then((all) => all.filter((d) => d.allowed).length),
  ])
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    250,
  )
  assert.deepEqual(await Promise.all(codes), [0, 0, 0])
})

test('a worker terminated with calls under way, many times', async () => {
  const text = `
    import { Worker } from 'node:worker_threads'
    ${program('1000000/hour')}
    const text = \`
      import { parentPort, workerData } from 'node:worker_threads'
      import { Client } from 'quotalock'
      const client = new Client(workerData, { timeoutMs: 10_000 })
      const limiter = client.limiter('n', '1000000/hour')
      limiter.wait('blocked', { timeoutMs: 60_000, cost: 1000000 })
      const more = () => limiter.consume('k').then(more, () => {})
      const all = () => client.consumeAll([[limiter, 'k'], [limiter, 'other']]).then(all, () => {})
      const hold = () => limiter.reserve('hold', 1, { ttlMs: 1 }).then((held) => held.settle(1)).then(hold, () => {})
      all()
      hold()
      for (let i = 0; i < 50; i++) more()
      setTimeout(() => parentPort.postMessage('busy'), 5)
    \`
    for (let i = 0; i < ${often(20, 100)}; i++) {
      const worker = new Worker(text, { eval: true, workerData: ${JSON.stringify(redis())} })
      await new Promise((resolve) => worker.once('message', resolve))
      await Promise.all([worker.terminate(), limiter.consume('k')])
    }
    console.log((await limiter.peek('k')).remaining)`
  assert.deepEqual(await run(text), { code: 0, signal: null, output: `${1_000_000 - often(20, 100)}\n` })
})

test('the processes of a cluster count on the same limit', async () => {
  const prefix = freshPrefix()
  // Made and used before the others are forked.
  const own = client(redis(), { prefix }).limiter('n', '150/hour')
  const first = await Promise.all(Array.from({ length: 50 }, () => own.consume('k')))
  assert.ok(first.every(({ allowed }) => allowed))
  cluster.setupPrimary({ exec: fileURLToPath(new URL('cluster-worker.mjs', import.meta.url)), args: [redis(), prefix] })
  const workers = [1, 2, 3].map(() => cluster.fork())
  const admitted = await Promise.all(workers.map(async (worker) => Number((await once(worker, 'message'))[0])))
  assert.equal(
    admitted.reduce((sum, count) => sum + count, 0),
    100,
  )
  assert.equal((await own.peek('k')).remaining, 0)
  const codes = workers.map(async (worker) => (await once(worker, 'exit'))[0])
  for (const worker of workers) worker.disconnect()
  assert.deepEqual(await Promise.all(codes), [0, 0, 0])
})
