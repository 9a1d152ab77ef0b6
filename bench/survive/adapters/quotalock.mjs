// Quotalock in Node.

import { createRequire } from 'node:module'
import { Client } from 'quotalock'
import { serve, timeoutMs, url } from './kit.mjs'

const client = new Client(url, { timeoutMs })
const pages = client.cache('pages', { freshMs: 60_000 })

await serve({
  name: 'Quotalock (Node)',
  version: createRequire(import.meta.url)('quotalock/package.json').version,

  async consume(key, limit, seconds, request) {
    const limiter = client.limiter('survive', { limit, periodMs: seconds * 1000 })
    return (await limiter.consume(key, { requestId: request })).allowed
  },

  async acquire(name, seconds) {
    const lock = await client.lock(name, { ttlMs: seconds * 1000, acquire: false })
    return (await lock.acquire()) ? lock : null
  },
  token: (lock) => lock.token,
  held: (lock) => lock.held,
  told: (lock) => (lock.signal.aborted ? '`signal` aborts' : null),
  release: (lock) => lock.release(),

  read: (key, _seconds, load) => pages.get(key, load),
})
