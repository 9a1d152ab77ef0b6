// What an adapter in Node needs beside its library: the lines of docs/survive.md on stdin and stdout.
//
// An adapter is an object with the functions that its library has, given to `serve`. See `quotalock.mjs`, and
// `held`, `told` and `token` there, which not every library has.

import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

/** Where setup.sh installed the libraries. */
const load = createRequire(new URL('../../../target/peers/node/', import.meta.url))

/** A library that setup.sh installed, and its version. */
export const library = (/** @type {string} */ name) => load(name)
export const versionOf = (/** @type {string} */ name) => {
  const path = load.resolve(name)
  return load(`${path.slice(0, path.lastIndexOf(`/node_modules/${name}/`))}/node_modules/${name}/package.json`).version
}
export const url = `${process.env.SURVIVE_URL}`
export const timeoutMs = Number(process.env.SURVIVE_TIMEOUT) * 1000

/** A connection of ioredis, with a timeout as an application should set it. */
export function ioredis() {
  const redis = new (library('ioredis').Redis)(url, { commandTimeout: timeoutMs })
  redis.on('error', () => {})
  return redis
}

/**
 * @typedef {object} Adapter
 * @property {string} name
 * @property {string} version
 * @property {(key: string, limit: number, seconds: number, request: string) => Promise<boolean>} [consume] whether one more is
 * admitted, of `limit` in `seconds`; a repeated call has the same `request`
 * @property {(name: string, seconds: number) => Promise<any>} [acquire] asks once for a lock with this lease: a handle, or null
 * @property {(lock: any) => number | null} [token] the fencing token
 * @property {(lock: any) => boolean | Promise<boolean>} [held] whether the library says that it is still held
 * @property {(lock: any) => string | null} [told] by what the holder was told, without asking, that the lock is lost
 * @property {(lock: any) => Promise<boolean>} [release] gives it back; false if it was not ours any more
 * @property {(key: string, seconds: number, load: () => Promise<string>) => Promise<unknown>} [read] reads through the cache
 */

/** Answers line by line. */
export async function serve(/** @type {Adapter} */ adapter) {
  /** @type {Map<string, any>} */
  const locks = new Map()
  for await (const line of createInterface({ input: process.stdin })) {
    const answer = await answered(adapter, JSON.parse(line), locks).catch((error) => ({
      error: `${error?.name}: ${error?.message}`,
    }))
    console.log(JSON.stringify(answer))
  }
  process.exit(0)
}

/** @returns {Promise<object>} the answer to one line */
async function answered(
  /** @type {Adapter} */ adapter,
  /** @type {any} */ asked,
  /** @type {Map<string, any>} */ locks,
) {
  const lock = locks.get(asked.name)
  switch (asked.do) {
    case 'hello': {
      const has = { limiter: adapter.consume, lock: adapter.acquire, cache: adapter.read }
      const does = Object.entries(has).flatMap(([feature, method]) => (method ? [feature] : []))
      return { name: adapter.name, version: adapter.version, does, forks: false }
    }
    case 'consume':
      return { ok: await adapter.consume?.(asked.key, asked.limit, asked.seconds, asked.request) }
    case 'acquire': {
      const got = await adapter.acquire?.(asked.name, asked.seconds)
      if (!got) return { ok: false }
      locks.set(asked.name, got)
      return { ok: true, token: adapter.token?.(got) ?? null }
    }
    case 'held':
      return { told: adapter.told?.(lock) ?? null, ok: (await adapter.held?.(lock)) ?? null }
    case 'release':
      return { ok: await adapter.release?.(lock) }
    case 'read': {
      let loads = 0
      const load = async () => {
        loads++
        await sleep(asked.load_ms)
        return 'value'
      }
      await Promise.all(Array.from({ length: asked.readers }, () => adapter.read?.(asked.key, 60, load)))
      return { loads }
    }
    default:
      throw new Error(`not known: ${asked.do}`)
  }
}
