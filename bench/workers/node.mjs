// Node: Quotalock, or ioredis, plain and with its automatic pipelining. See serve.py for the protocol.

import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** @typedef {{ client: string, port: number, prefix: string, policy: string, keys: number, lanes: number,
 *   script: string, argv: string[], scheme?: string }} Setup */
/** @typedef {{ keys: string[], call: (key: string) => Promise<any>, judge: (answer: any) => boolean }} Calls */

// So many lanes, at most, watch the clock: reading it must not become part of what is measured.
const WATCHED = 10

/** @type {Setup} */
const setup = JSON.parse(process.argv[2] ?? '')

/** @returns {Promise<Calls>} */
async function quotalock() {
  const { Client } = await import('quotalock')
  const url = `${setup.scheme ?? 'redis'}://127.0.0.1:${setup.port}`
  const client = new Client(url, { prefix: setup.prefix, timeoutMs: 5000, denyCacheMaxMs: 0 })
  const limiter = client.limiter('bench', setup.policy)
  const keys = Array.from({ length: setup.keys }, (_, number) => `user:${number}`)
  return { keys, call: (key) => limiter.consume(key), judge: (decision) => decision.allowed }
}

/** @returns {Promise<Calls>} */
async function ioredis() {
  const { Redis } = await import('ioredis')
  const redis = new Redis(setup.port, '127.0.0.1', { enableAutoPipelining: setup.client === 'pipelined' })
  const sha = /** @type {string} */ (await redis.script('LOAD', readFileSync(setup.script, 'utf8')))
  const keys = Array.from({ length: setup.keys }, (_, number) => `${setup.prefix}:limit:bench:{user:${number}}`)
  // The types that ioredis comes with leave this method out.
  const { evalshaBuffer } = /** @type {any} */ (redis)
  const call = (/** @type {string} */ key) => evalshaBuffer.call(redis, sha, 1, key, ...setup.argv)
  const none = Buffer.alloc(16)
  return { keys, call, judge: (reply) => none.equals(reply.subarray(24, 40)) }
}

/** The CPU that the main thread has used so far. */
const mainCpuUs = () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1000

const { keys, call, judge } = await (setup.client === 'quotalock' ? quotalock() : ioredis())
let running = false

/** Makes call after call until the time is over; begins elsewhere in the keys for each lane. */
async function drive(/** @type {number} */ lane, /** @type {number[] | undefined} */ took) {
  let [calls, admitted] = [0, 0]
  for (let n = Math.floor((keys.length * lane) / setup.lanes); running; n++) {
    const before = took ? performance.now() : 0
    const answer = await call(/** @type {string} */ (keys[n % keys.length]))
    took?.push(performance.now() - before)
    calls++
    if (judge(answer)) admitted++
  }
  return { calls, admitted }
}

async function round(/** @type {number} */ seconds) {
  /** @type {number[]} */
  const took = []
  running = true
  setTimeout(() => {
    running = false
  }, seconds * 1000)
  const [begun, cpu, main] = [performance.now(), process.cpuUsage(), mainCpuUs()]
  const step = Math.max(1, Math.floor(setup.lanes / WATCHED))
  const lanes = await Promise.all(
    Array.from({ length: setup.lanes }, (_, lane) => drive(lane, lane % step ? undefined : took)),
  )
  const [ended, { user, system }, mainEnd] = [performance.now(), process.cpuUsage(cpu), mainCpuUs()]
  took.sort((a, b) => a - b)
  return {
    calls: lanes.reduce((sum, { calls }) => sum + calls, 0),
    admitted: lanes.reduce((sum, { admitted }) => sum + admitted, 0),
    seconds: (ended - begun) / 1000,
    cpu_us: user + system,
    main_us: mainEnd - main,
    p50_us: (took[Math.floor(took.length / 2)] ?? 0) * 1000,
    p99_us: (took[Math.floor((took.length * 99) / 100)] ?? 0) * 1000,
  }
}

const name = setup.client === 'quotalock' ? 'quotalock' : 'ioredis'
const { version } = JSON.parse(
  readFileSync(new URL(`../../node_modules/${name}/package.json`, import.meta.url), 'utf8'),
)
console.log(JSON.stringify({ versions: `Node ${process.versions.node}, ${name} ${version}` }))
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await round(Number(line))))
}
process.exit()
