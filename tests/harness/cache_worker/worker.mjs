// Readers of one key in Node: `worker.mjs SETUP`. See stampede.py.

import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, QuotalockError } from 'quotalock'

const setup = JSON.parse(process.argv[2] ?? '')
const client = new Client(setup.url, { prefix: setup.prefix, timeoutMs: 5000 })
const { fresh_ms: freshMs, stale_ms: staleMs, lease_ms: leaseMs } = setup
const cache = client.cache('pages', { freshMs, staleMs, leaseMs, beta: 0 })

const now = () => Number(process.hrtime.bigint())

/** Asks once, at the moment that is set for all. */
async function read(/** @type {number} */ reader) {
  /** Adds a line to the history, at once. */
  const write = (/** @type {Record<string, unknown>} */ record) =>
    appendFileSync(setup.path, `${JSON.stringify({ proc: setup.proc, reader, ...record })}\n`)

  async function load() {
    write({ op: 'load', pid: process.pid, at_ns: now() })
    await sleep(setup.load_ms)
    return `loaded by ${setup.proc}`
  }

  await cache.peek('warm')
  write({ op: 'ready' })
  while (!existsSync(setup.go)) await sleep(5)
  const begin = JSON.parse(readFileSync(setup.go, 'utf8'))[setup.proc]
  const mine = begin + (setup.spread_ms * 1e6 * reader) / setup.readers
  await sleep(Math.max(0, (mine - now()) / 1e6))
  const invoke = now()
  /** @type {Record<string, unknown>} */
  let got
  try {
    got = { value: String(await cache.get('key', load, { waitMs: setup.wait_ms })) }
  } catch (error) {
    if (!(error instanceof QuotalockError)) throw error
    got = { error: error.code }
  }
  write({ op: 'get', invoke_ns: invoke, done_ns: now(), ...got })
}

await Promise.all(Array.from({ length: setup.readers }, (_, reader) => read(reader)))
client.close()
