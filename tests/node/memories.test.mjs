// `memory://`: what clients of one process share.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { Client } from 'quotalock'
import { ROOT } from './support.mjs'

test('clients share the memory of their process by its name', async () => {
  const left = async (/** @type {Client} */ own) => (await own.limiter('shared', '9/hour').consume('k')).remaining
  const clients = ['memory://shared', 'memory://shared', 'memory://', 'memory://'].map((url) => new Client(url))
  const found = []
  for (const own of clients) found.push(await left(own))
  assert.deepEqual(found, [8, 7, 8, 7])
  for (const own of clients) await own.close()
  // One with a name goes with its last client; the other stays.
  assert.equal(await left(new Client('memory://shared')), 8)
  assert.equal(await left(new Client('memory://')), 6)
  const other = `const { parentPort } = require('node:worker_threads')
    const { Client } = require(${JSON.stringify(new URL('bindings-node/index.js', ROOT).pathname)})
    const count = async () => (await new Client('memory://').limiter('shared', '9/hour').consume('k')).remaining
    count().then((left) => parentPort.postMessage(left))`
  const worker = new Worker(other, { eval: true })
  const [seen] = await once(worker, 'message')
  assert.equal(seen, 5, 'of another thread of the process')
  await worker.terminate()
})
