// Takes and gives back locks in Node and writes down what came of it: `worker.mjs SETUP`. See lock_load.py.

import { openSync, writeSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Client, QuotalockError } from 'quotalock'

/** @typedef {Record<string, any>} Entry */

const setup = JSON.parse(process.argv[2] ?? '')
const client = new Client(setup.url, { prefix: setup.prefix, timeoutMs: setup.timeout_ms })
const file = openSync(setup.path, 'a')

const now = () => Number(process.hrtime.bigint())
const uniform = (/** @type {number} */ low, /** @type {number} */ high) => low + (high - low) * Math.random()
const pick = (/** @type {any[]} */ list) => list[Math.floor(Math.random() * list.length)]

const sleep = (/** @type {number} */ ms) => wait(Math.max(0, ms))

/** Adds a line to the history, at once. */
const write = (/** @type {Entry} */ record) => writeSync(file, `${JSON.stringify(record)}\n`)

/** @returns {Promise<any>} */
function handle(/** @type {Entry} */ { kind, names, permits, weight, ttl_ms: ttlMs, renew, fair }) {
  const options = { ttlMs, renew, fair, acquire: false }
  if (kind === 'lock_all') return client.lockAll(names, options)
  if (kind === 'semaphore') return client.semaphore(names[0], permits, { weight, ...options })
  if (kind === 'read_lock') return client.readLock(names[0], options)
  return kind === 'write_lock' ? client.writeLock(names[0], options) : client.lock(names[0], options)
}

/** One caller: one call after the other, each with a line in the history. */
class Lane {
  grant = 0

  constructor(/** @type {number} */ number) {
    this.number = number
  }

  /** Takes locks at random, for ever, or with `once` each of the mix one time. */
  async run() {
    const handles = await Promise.all(setup.mix.map(handle))
    for (let at = 0; setup.once > 0 && at < handles.length; at++) {
      await this.take(handles[at], setup.mix[at], setup.once, false)
    }
    while (!(setup.once > 0)) {
      const at = Math.floor(Math.random() * handles.length)
      const ttl = setup.mix[at].ttl_ms
      const waitMs = pick([0, Math.floor(ttl / 5), ttl * 2])
      if (!(await this.take(handles[at], setup.mix[at], waitMs, true))) await sleep(uniform(1, 10))
    }
  }

  /** Acquires, holds for a time that likes the edges, and releases. */
  async take(
    /** @type {any} */ lock,
    /** @type {Entry} */ entry,
    /** @type {number} */ waitMs,
    /** @type {boolean} */ hold,
  ) {
    this.grant++
    const got = await this.call('acquire', entry, lock, () => lock.acquire({ waitMs }))
    if (got && hold) {
      const how = Math.random()
      const ttl = entry.ttl_ms
      if (how < 0.4) {
        await sleep(uniform(0, ttl / 3))
      } else if (how < 0.6) {
        await sleep(lock.remainingMs + uniform(-4, 4))
      } else if (how < 0.75) {
        await sleep(ttl + uniform(-4, 4))
      } else {
        await sleep(lock.remainingMs * pick([Math.random(), 0.95, 1]))
        await this.call('extend', entry, lock, () => lock.extend())
        await sleep(pick([uniform(0, ttl / 3), lock.remainingMs]))
      }
    }
    if (got) await this.call('release', entry, lock, () => lock.release())
    return got
  }

  /** Makes one call and writes it down. */
  async call(
    /** @type {string} */ op,
    /** @type {Entry} */ { names, permits, weight },
    /** @type {any} */ lock,
    /** @type {() => Promise<boolean>} */ method,
  ) {
    /** @type {Entry} */
    const record = { proc: setup.proc, lane: this.number, grant: this.grant, op, names, permits, weight }
    record.invoke_ns = now()
    if (op === 'release') {
      record.held = lock.held
      // Whoever is killed in the middle of it may have released.
      write({ ...record, done_ns: record.invoke_ns, outcome: 'begun' })
    }
    let done = false
    try {
      done = await method()
      record.outcome = done ? 'ok' : 'no'
    } catch (error) {
      if (!(error instanceof QuotalockError)) throw error
      record.outcome = error.code
    }
    record.done_ns = now()
    if (done && op !== 'release') {
      const looked = now()
      const remaining = lock.remainingMs * 1e6
      Object.assign(record, { token: lock.token, until_ns: remaining && looked + remaining })
    }
    write(record)
    return done
  }
}

await Promise.all(Array.from({ length: setup.lanes }, (_, number) => new Lane(number).run()))
client.close()
