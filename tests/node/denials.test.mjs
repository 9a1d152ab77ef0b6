// Remembered denials: what Redis denied a moment ago is answered without it, in all threads of the process.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { Client, InvalidArgumentError, RateLimitedError } from 'quotalock'
import { client, freshPrefix, redis, run } from './support.mjs'

test('a denial is answered again without asking until it is reset', async () => {
  const limiter = client(redis(), { denyCacheMaxMs: 60_000 }).limiter('n', '10/hour')
  assert.ok((await limiter.consume('k', { cost: 8 })).allowed)
  assert.equal((await limiter.consume('k', { cost: 3 })).source, 'redis')
  const known = await limiter.consume('k', { cost: 3 })
  assert.deepEqual([known.source, known.allowed, known.remaining, known.cost], ['deny-cache', false, 2, 3])
  const { retryAfterMs, resetAfterMs } = known
  assert.ok(retryAfterMs !== null && retryAfterMs > 3_500_000 && retryAfterMs === resetAfterMs)
  assert.equal((await limiter.consume('k', { cost: 11 })).retryAfterMs, null)
  await assert.rejects(limiter.require('k', { cost: 3 }), (error) => {
    assert.ok(error instanceof RateLimitedError)
    assert.equal(error.decision.source, 'deny-cache')
    return true
  })
  const crowd = await Promise.all(Array.from({ length: 1_000 }, () => limiter.consume('k', { cost: 3 })))
  assert.deepEqual([...new Set(crowd.map(({ source }) => source))], ['deny-cache'])
  assert.ok((await limiter.consume('k', { cost: 2 })).allowed, 'a lower cost is asked about')
  await limiter.refund('k', 5)
  assert.ok((await limiter.consume('k', { cost: 3 })).allowed)
  assert.ok(!(await limiter.consume('k', { cost: 3 })).allowed)
  assert.ok(await limiter.reset('k'))
  assert.ok((await limiter.consume('k', { cost: 3 })).allowed)
})

test('zero switches it off, and too much is refused', async () => {
  const limiter = client(redis(), { denyCacheMaxMs: 0 }).limiter('n', '1/hour')
  const sources = []
  for (let call = 0; call < 4; call++) sources.push((await limiter.consume('k')).source)
  assert.deepEqual(sources, ['redis', 'redis', 'redis', 'redis'])
  for (const denyCacheMaxMs of [-1, 60_001, Number.NaN]) {
    assert.throws(() => new Client('memory://', { denyCacheMaxMs }), InvalidArgumentError)
  }
})

test('worker threads share what is remembered, and what is forgotten', async () => {
  const prefix = freshPrefix()
  const given = { url: redis(), prefix }
  const limiter = new Client(given.url, { prefix, timeoutMs: 10_000, denyCacheMaxMs: 60_000 }).limiter('n', '1/hour')
  await limiter.consume('k')
  assert.equal((await limiter.consume('k')).source, 'redis')
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads')
     const { Client } = require('quotalock')
     const { url, prefix } = workerData
     const limiter = new Client(url, { prefix, timeoutMs: 10_000, denyCacheMaxMs: 60_000 }).limiter('n', '1/hour')
     parentPort.once('message', async () => parentPort.postMessage(await limiter.reset('k')))
     limiter.consume('k').then(({ source }) => parentPort.postMessage(source))`,
    { eval: true, workerData: given },
  )
  assert.deepEqual(await once(worker, 'message'), ['deny-cache'])
  assert.equal((await limiter.consume('k')).source, 'deny-cache')
  worker.postMessage('reset')
  assert.deepEqual(await once(worker, 'message'), [true])
  assert.ok((await limiter.consume('k')).allowed)
  await worker.terminate()
})

test('a file that cannot be joined is warned of, and the process goes on', async () => {
  const text = `
    process.once('warning', ({ message }) => console.log(message.includes('/proc/no/such cannot be')))
    const { Client } = await import('quotalock')
    const options = { prefix: ${JSON.stringify(freshPrefix())}, timeoutMs: 10_000, denyCacheMaxMs: 60_000 }
    const limiter = new Client(${JSON.stringify(redis())}, options).limiter('n', '1/hour')
    const sources = [await limiter.consume('k'), await limiter.consume('k'), await limiter.consume('k')]
    console.log(sources.map(({ source }) => source).join())`
  const { output } = await run(text, [], { QUOTALOCK_DENY_CACHE_FILE: '/proc/no/such' })
  assert.match(output, /true\nredis,redis,deny-cache\n$/)
})
