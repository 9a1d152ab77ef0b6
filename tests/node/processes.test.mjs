// Exits, worker threads and cluster processes.

import assert from 'node:assert/strict'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { client, freshPrefix, redis, run } from './support.mjs'

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
  for (let i = 0; i < 20; i++) assert.deepEqual(await run(text), { code: 3, signal: null, output: '' })
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

test('a worker terminated with calls under way, a hundred times', async () => {
  const text = `
    import { Worker } from 'node:worker_threads'
    ${program('1000000/hour')}
    const text = \`
      import { parentPort, workerData } from 'node:worker_threads'
      import { Client } from 'quotalock'
      const client = new Client(workerData)
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
    for (let i = 0; i < 100; i++) {
      const worker = new Worker(text, { eval: true, workerData: ${JSON.stringify(redis())} })
      await new Promise((resolve) => worker.once('message', resolve))
      await Promise.all([worker.terminate(), limiter.consume('k')])
    }
    console.log((await limiter.peek('k')).remaining)`
  assert.deepEqual(await run(text), { code: 0, signal: null, output: `${1_000_000 - 100}\n` })
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
