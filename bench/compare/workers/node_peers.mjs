// Node's libraries, each by its own public API in its fastest sensible setting.
//
// To add one: a function that takes the task and returns what makes a call for a key (a promise), and what reads from its
// answer whether it was admitted; then a line in `limiters`, and one in `peers.py`. A lock is what acquires a key without
// waiting and returns a handle, or null, and what releases it.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** @typedef {{ client: string, kind: string, port: number, socket: string, prefix: string, limit: number, rules: number,
 *   keys: string, turns: string, lanes: number, check: number }} Task */
/** @typedef {{ call: (key: string) => Promise<any>, judge: (answer: any) => boolean }} Calls */
/** @typedef {{ acquire: (key: string) => Promise<any>, release: (held: any) => Promise<unknown> }} Lock */

// Where setup.sh installed the peers.
const HOME = new URL('../../../target/peers/node/', import.meta.url)
/** @type {(name: string) => any} */
const load = createRequire(HOME)
const ARTICLE = readFileSync(new URL('article.lua', import.meta.url), 'utf8')
const DAY = 86_400
/** So many permits are taken at a time by those who prefetch. */
const PREFETCH = 100

const url = (/** @type {Task} */ task) => `redis://127.0.0.1:${task.port}`
const ruled = (/** @type {Task} */ task) =>
  Array.from({ length: task.rules }, (_, rule) => `${task.limit + rule}/day`).join('; ')

/** @type {(task: Task) => Promise<Calls>} */
async function quotalock(task) {
  const { Client } = await import('quotalock')
  const address = task.client === 'quotalock-memory' ? 'memory://' : url(task)
  const limiter = new Client(address, { prefix: task.prefix, timeoutMs: 5000 }).limiter('compare', ruled(task), {
    prefetch: task.client === 'quotalock-lease' ? Math.min(PREFETCH, task.limit) : undefined,
  })
  return { call: (key) => limiter.consume(key), judge: (decision) => decision.allowed }
}

/** @type {(name: string, options?: object) => (task: Task) => Promise<Calls>} */
const ioredis =
  (name, options = {}) =>
  async (task) => {
    const redis = new (load(name).Redis)(task.port, '127.0.0.1', options)
    const sha = await redis.script('LOAD', ARTICLE)
    const [prefix, limit, period] = [`${task.prefix}:`, task.limit, DAY * 1000]
    if (task.rules === 1) {
      return { call: (key) => redis.evalsha(sha, 1, prefix + key, limit, period), judge: (reply) => reply === 1 }
    }
    // A counter for each rule, asked in one go.
    const rules = Array.from({ length: task.rules }, (_, rule) => rule)
    return {
      call: (key) => {
        const batch = redis.pipeline()
        for (const rule of rules) batch.evalsha(sha, 1, `${prefix}${key}:${rule}`, limit + rule, period)
        return batch.exec()
      },
      judge: (replies) => replies.every((/** @type {[unknown, number]} */ [, reply]) => reply === 1),
    }
  }

/** @type {(task: Task) => Promise<Calls>} */
async function nodeRedis(task) {
  const client = load('redis').createClient({ url: url(task) })
  await client.connect()
  const sha = await client.scriptLoad(ARTICLE)
  const [prefix, argv] = [`${task.prefix}:`, [`${task.limit}`, `${DAY * 1000}`]]
  return {
    call: (key) => client.evalSha(sha, { keys: [prefix + key], arguments: argv }),
    judge: (reply) => reply === 1,
  }
}

/** @type {(task: Task) => Promise<Calls>} */
async function glide(task) {
  const { GlideClient, Script } = load('@valkey/valkey-glide')
  const client = await GlideClient.createClient({
    addresses: [{ host: '127.0.0.1', port: task.port }],
    inflightRequestsLimit: Math.max(1000, 2 * task.lanes),
    requestTimeout: 5000,
  })
  const [script, prefix, args] = [new Script(ARTICLE), `${task.prefix}:`, [`${task.limit}`, `${DAY * 1000}`]]
  return {
    call: (key) => client.invokeScript(script, { keys: [prefix + key], args }),
    judge: (reply) => reply === 1,
  }
}

const denied = () => null

/** @type {(options: (task: Task) => object) => (task: Task) => Promise<Calls>} */
const flexible = (options) => async (task) => {
  const { RateLimiterMemory, RateLimiterRedis, RateLimiterUnion } = load('rate-limiter-flexible')
  const memory = task.client === 'flexible-memory'
  const storeClient = memory ? undefined : new (load('ioredis').Redis)(task.port, '127.0.0.1')
  const limiters = Array.from({ length: task.rules }, (_, rule) => {
    const known = { points: task.limit + rule, duration: DAY, keyPrefix: `${task.prefix}:${rule}`, ...options(task) }
    return memory ? new RateLimiterMemory(known) : new RateLimiterRedis({ storeClient, ...known })
  })
  const limiter = task.rules === 1 ? limiters[0] : new RateLimiterUnion(...limiters)
  // It rejects whoever is denied.
  return { call: (key) => limiter.consume(key).catch(denied), judge: (answer) => answer !== null }
}

/** @type {(task: Task) => Promise<Calls>} */
async function rateLimitRedis(task) {
  const { RedisStore } = load('rate-limit-redis')
  const redis = new (load('ioredis').Redis)(task.port, '127.0.0.1')
  const sendCommand = (/** @type {[string, ...string[]]} */ ...words) => redis.call(...words)
  const store = new RedisStore({ sendCommand, prefix: `${task.prefix}:` })
  store.init({ windowMs: DAY * 1000 })
  return { call: (key) => store.increment(key), judge: ({ totalHits }) => totalHits <= task.limit }
}

/** @type {(task: Task) => Promise<Lock>} */
async function quotalockLock(task) {
  const { Client } = await import('quotalock')
  const client = new Client(url(task), { prefix: task.prefix, timeoutMs: 5000 })
  return {
    acquire: async (key) => {
      const lock = await client.lock(key, { ttlMs: 30_000, acquire: false })
      return (await lock.acquire()) ? lock : null
    },
    release: (lock) => lock.release(),
  }
}

/** @type {(task: Task) => Promise<Lock>} */
async function semaphore(task) {
  const { Mutex } = load('redis-semaphore')
  const redis = new (load('ioredis').Redis)(task.port, '127.0.0.1')
  return {
    acquire: async (key) => {
      const lock = new Mutex(redis, `${task.prefix}:${key}`, { lockTimeout: 30_000, acquireAttemptsLimit: 1 })
      return (await lock.tryAcquire()) ? lock : null
    },
    release: (lock) => lock.release(),
  }
}

/** @type {(task: Task) => Promise<Lock>} */
async function redlock(task) {
  const Redlock = load('redlock')
  const locks = new Redlock([new (load('ioredis5').Redis)(task.port, '127.0.0.1')], { retryCount: 0 })
  return {
    acquire: (key) => locks.lock(`${task.prefix}:${key}`, 30_000).catch(denied),
    release: (lock) => lock.unlock(),
  }
}

/** @type {Record<string, [(task: Task) => Promise<Calls>, ...string[]]>} */
export const limiters = {
  quotalock: [quotalock],
  'quotalock-memory': [quotalock],
  'quotalock-lease': [quotalock],
  ioredis5: [ioredis('ioredis5'), 'ioredis5'],
  ioredis6: [ioredis('ioredis'), 'ioredis'],
  'ioredis6-auto': [ioredis('ioredis', { enableAutoPipelining: true }), 'ioredis'],
  'node-redis': [nodeRedis, 'redis'],
  glide: [glide, '@valkey/valkey-glide'],
  flexible: [flexible(() => ({})), 'rate-limiter-flexible', 'ioredis'],
  'flexible-block': [flexible((task) => ({ inMemoryBlockOnConsumed: task.limit })), 'rate-limiter-flexible', 'ioredis'],
  'flexible-memory': [flexible(() => ({})), 'rate-limiter-flexible'],
  'rate-limit-redis': [rateLimitRedis, 'rate-limit-redis', 'ioredis'],
}
/** @type {Record<string, [(task: Task) => Promise<Lock>, ...string[]]>} */
export const locks = {
  quotalock: [quotalockLock],
  'redis-semaphore': [semaphore, 'redis-semaphore', 'ioredis'],
  redlock: [redlock, 'redlock', 'ioredis5'],
}

/** What these packages, or Quotalock where there are none, call themselves. */
export function versions(/** @type {string[]} */ packages) {
  const named = packages.map((name) => [name, new URL(`node_modules/${name}/package.json`, HOME)])
  if (packages.length === 0) named.push(['quotalock', new URL('../../../bindings-node/package.json', import.meta.url)])
  const told = named.map(
    ([name, file]) => `${name} ${JSON.parse(readFileSync(/** @type {URL} */ (file), 'utf8')).version}`,
  )
  return [`Node ${process.versions.node}`, ...told].join(', ').replace('ioredis5', 'ioredis')
}
