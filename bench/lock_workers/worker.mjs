// A Node process of bench/locks.py: `worker.mjs TASK CLIENT PORT NUMBER`. Prints one line of JSON.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const [task, kind, port, number] = process.argv.slice(2)
const [NAME, HOLD_MS, PATIENCE_MS] = ['sku:42', 2, 30_000]
const COMPARE_AND_DELETE =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
const TAKE = "return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', 30000) and 1 or 0"

const client = async () => new (await import('quotalock')).Client(`redis://127.0.0.1:${port}`, { timeoutMs: 5000 })
const ioredis = async () => new (await import('ioredis')).Redis(Number(port), '127.0.0.1')
const started = () => once(createInterface({ input: process.stdin }), 'line')

/** What is written by hand: SET NX PX, and 5 to 50 ms between two tries. */
async function polling() {
  const redis = await ioredis()
  const [take, free] = await Promise.all([redis.script('LOAD', TAKE), redis.script('LOAD', COMPARE_AND_DELETE)])
  const token = randomBytes(16)
  const key = `poll:${NAME}`
  return {
    async acquire() {
      while (!(await redis.evalsha(/** @type {string} */ (take), 1, key, token))) await sleep(5 + 45 * Math.random())
      return true
    },
    release: () => redis.evalsha(/** @type {string} */ (free), 1, key, token),
  }
}

async function contend() {
  const handle = async (/** @type {object} */ options) =>
    (await client()).lock(NAME, { ttlMs: 30_000, acquire: false, ...options })
  const lock = await (kind === 'poll' ? polling() : handle({ fair: kind === 'fair' }))
  const waits = []
  await started()
  const end = performance.now() + Number(number) * 1000
  while (performance.now() < end) {
    const begun = performance.now()
    if (!(await lock.acquire({ waitMs: PATIENCE_MS }))) throw new Error('not acquired')
    waits.push((performance.now() - begun) / 1000)
    await sleep(HOLD_MS)
    await lock.release()
  }
  return { waits }
}

/** A peer's lock, acquired and released once. */
async function peer() {
  const { Mutex } = await import('redis-semaphore')
  const redis = await ioredis()
  return { redis, make: (/** @type {object} */ options) => new Mutex(redis, `peer:${NAME}`, options) }
}

async function pair() {
  const lock =
    kind === 'ours'
      ? await (await client()).lock(NAME, { ttlMs: 30_000, acquire: false })
      : (await peer()).make({ lockTimeout: 30_000 })
  const took = []
  for (let n = 0; n < Number(number); n++) {
    const begun = performance.now()
    if ((await lock.acquire()) === false) throw new Error('not acquired')
    await lock.release()
    took.push((performance.now() - begun) / 1000)
  }
  took.sort((a, b) => a - b)
  return { seconds: took[took.length >> 1] }
}

async function line() {
  const own = await client()
  const one = async () => {
    for (let n = 0; n < 2; n++) {
      const lock = await own.lock(NAME, { ttlMs: 30_000, waitMs: PATIENCE_MS })
      await sleep(HOLD_MS)
      await lock.release()
    }
  }
  await Promise.all(Array.from({ length: Number(number) }, one))
  return { acquired: 2 * Number(number) }
}

async function frozen() {
  const ttlMs = Number(number) * 1000
  const lost = deferred()
  if (kind === 'ours') {
    const lock = await (await client()).lock(NAME, { ttlMs })
    lock.signal.addEventListener('abort', () => lost.resolve('`lock.signal` aborts'))
  } else {
    const onLockLost = () => lost.resolve('`onLockLost` is called')
    await (await peer()).make({ lockTimeout: ttlMs, onLockLost }).acquire()
  }
  console.log(JSON.stringify({ held: true }))
  await started()
  const begun = performance.now()
  const how = await Promise.race([lost.promise, sleep(2 * ttlMs, 'never')])
  const after = (performance.now() - begun) / 1000
  return how === 'never' ? { told: false, after: null, how } : { told: true, after, how }
}

/** A promise with its resolver. */
function deferred() {
  /** @type {(value: string) => void} */
  let resolve = () => {}
  const promise = new Promise((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** @type {Record<string, () => Promise<object>>} */
const tasks = { contend, pair, line, frozen }
console.log(JSON.stringify(await tasks[task ?? '']?.()))
process.exit(0)
