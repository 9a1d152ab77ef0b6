// A program that lets the last reference to an object of every class go in one way: `unwinding.mjs URL ENDING ROUNDS`,
// with --expose-gc. The collector runs while what was thrown is on its way, and when it has arrived.

import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { Client, quorumLock } from 'quotalock'

const [url, ending, rounds] = isMainThread ? process.argv.slice(2) : workerData
const collect = /** @type {() => void} */ (globalThis.gc)
let clients = 0

const client = async () => {
  const prefix = `unwinding-${process.pid}-${isMainThread}-${clients++}`
  const made = new Client(url, { prefix, timeoutMs: 10_000 })
  await made.limiter('used', '1000000/hour').consume('k')
  return made
}
const limiter = async () => (await client()).limiter('api', '1000000/hour')
const lock = async () => (await client()).lock('e', { ttlMs: 1000 })
const stock = async () => {
  const made = (await client()).stock('sale')
  await made.open(10)
  return made
}
const cache = async () => {
  const made = (await client()).cache('pages')
  await made.get('k', () => 'page')
  return made
}

const MAKERS = [
  client,
  limiter,
  async () => (await limiter()).consume('k'),
  async () => (await limiter()).reserve('k', 1, { ttlMs: 1000 }),
  async () => {
    const made = await client()
    return made.consumeAll([[made.limiter('api', '1000000/hour'), 'k']])
  },
  lock,
  async () => {
    const released = await lock()
    await released.release()
    return released
  },
  async () => (await lock()).signal,
  async () => (await lock()).inspect(),
  stock,
  async () => (await stock()).take('buyer'),
  async () => (await stock()).status(),
  async () => (await stock()).reservations(),
  cache,
  async () => (await cache()).peek('k'),
  async () => (await client()).once('orders'),
  async () => (await client()).once('orders').claim('id'),
  // What is under way, and nobody awaits.
  async () => {
    const made = await client()
    const held = await made.lock('e', { ttlMs: 1000 })
    const three = [1, 2, 3].map((port) => new Client(`redis://127.0.0.1:${port}`))
    const waits = [made.lock('e', { waitMs: 50 }), quorumLock(three, 'q')]
    return [held, ...waits.map((wait) => wait.catch(() => null))]
  },
]

/** @returns {never} */
function throws() {
  collect()
  throw new RangeError('the end')
}

/** @type {Record<string, (make: () => Promise<any>) => any>} */
const ENDINGS = {
  thrown: async (make) => [await make(), throws()],
  rejected: async (make) => [await make(), await turn().then(throws)],
  generator: async (make) => {
    const held = [await make()]
    /** @returns {Generator<unknown, void, unknown>} */
    function* body() {
      try {
        yield [held.pop(), yield]
      } finally {
        collect()
      }
    }
    const going = body()
    going.next()
    going.throw(new RangeError('the end'))
  },
  loading: (make) =>
    new Client('memory://').cache('c').get('k', async () => /** @type {any} */ ([await make(), throws()])),
  called: async (make) => [await make(), await new Client('memory://').limiter('n', '1/s').wait('', { timeoutMs: 1 })],
}

async function main() {
  for (const make of MAKERS) {
    for (let round = 0; round < Number(rounds) && ending in ENDINGS; round++) {
      await assert.rejects(async () => await ENDINGS[ending]?.(make), /the end|key is empty/)
      collect()
      await turn()
      collect()
    }
  }
  const kept = ending in ENDINGS ? [] : await Promise.all(MAKERS.map((make) => make()))
  console.log('done')
  if (ending === 'exit') process.exit(0)
  if (ending === 'uncaught') [kept, throws()]
  if (ending === 'terminated') {
    const worker = new Worker(new URL(import.meta.url), { workerData: [url, 'held', 1] })
    await new Promise((resolve) => worker.once('message', resolve))
    await worker.terminate()
    process.exit(0)
  }
  if (ending === 'held') {
    const { parentPort } = await import('node:worker_threads')
    parentPort?.postMessage('held')
    setInterval(() => kept.length, 1000)
  }
  // What is held is no reason to go on.
  process.exitCode = 0
}

await main()
