// Calls of every feature until its input ends: `load.mjs URL`. Then tells how many, and what failed.

import { randomBytes, randomInt } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, QuotalockError } from 'quotalock'

const [TASKS, PAUSE_MS] = [8, 10]
// So often a client is made anew.
const ANEW = 200
const url = process.argv[2]
const options = { prefix: 'soak', timeoutMs: 1000, requestMemoryMs: 10_000 }
// What grows then is kept by somebody, and not only not collected yet.
setInterval(() => {
  globalThis.gc?.()
  writeFileSync(`${process.env.LIVE_FOLDER}/${process.pid}.heap`, String(process.memoryUsage().heapUsed))
}, 300).unref()
let calls = 0
/** @type {Record<string, number>} */
const failed = {}
let over = false
process.stdin.resume().on('end', () => {
  over = true
})

/** One call of each feature in turn. */
async function call(/** @type {Client} */ client, /** @type {number} */ number) {
  const key = `user:${randomInt(200)}`
  switch (number % 7) {
    case 0:
    case 1:
      return client.limiter('calls', '1000000/1h;token-bucket 100/1s').consume(key)
    case 2:
      return client.limiter('once', '1000000/1h').consume(key, { requestId: randomBytes(12).toString('hex') })
    case 3:
      return (await client.lock(`door:${randomInt(4)}`, { ttlMs: 2000, waitMs: 500 })).release()
    case 4:
      return client.cache('page', { freshMs: 500, staleMs: 1000 }).get(`page:${randomInt(20)}`, () => 'x'.repeat(2000))
    case 5:
      return client.limiter('leased', '1000000/1h', { prefetch: 50 }).consume('shared')
    default:
      // Nearly always denied, by what the process remembers.
      return client.limiter('small', '5/1s').consume('shared')
  }
}

/** A call of a client that is closed again. */
async function callAnew() {
  const client = new Client(url, { ...options, prefix: 'anew' })
  try {
    await call(client, 0)
  } finally {
    await client.close()
  }
}

async function run(/** @type {Client} */ client, /** @type {number} */ seed) {
  for (let number = seed; !over; number++) {
    try {
      if (number % ANEW === 0) await callAnew()
      await call(client, number)
      calls++
    } catch (error) {
      if (!(error instanceof QuotalockError)) throw error
      failed[error.code] = (failed[error.code] ?? 0) + 1
    }
    await sleep(Math.random() * 2 * PAUSE_MS)
  }
}

const client = new Client(url, options)
await Promise.all(Array.from({ length: TASKS }, (_, seed) => run(client, seed)))
await client.close()
console.log(JSON.stringify({ calls, ...failed }))
