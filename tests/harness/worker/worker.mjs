// Does with quotalock in Node what JSON lines on its input say. See workers.py for the protocol.

import { randomBytes } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { Client, QuotalockError } from 'quotalock'

/** @typedef {Record<string, any>} Answer */

const api = JSON.parse(readFileSync(new URL('../../spec/api.json', import.meta.url), 'utf8'))
// The type of what a method of the client makes.
/** @type {Record<string, string>} */
const MADE = { client: 'Client', limiter: 'Limiter', stock: 'Stock', once: 'Once', cache: 'Cache' }
// How many parameters of a method stand for themselves, if it isn't the first one alone; the others are options.
/** @type {Record<string, number>} */
const ALONE = {
  ...{ acquire: 0, reservations: 0, ledger: 0, limiter: 2, semaphore: 2, take_all: 2, consume_up_to: 2, refund: 2 },
  ...{ reserve: 2, block: 2, extend: 2, extend_all: 2, claim: 2, run: 2, get: 2, get_many: 2, get_json: 2, put: 2 },
}

// How often a load makes a call that has a request id, and after which errors again.
const [TRIES, AGAIN] = [500, ['unavailable', 'timeout']]

/** What a loader fails with. */
class Failed extends Error {}

const now = () => Number(process.hrtime.bigint())
const until = (/** @type {number} */ at) => (at > now() ? sleep((at - now()) / 1e6) : undefined)

/** A name as Node has it. */
const camel = (/** @type {string} */ name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())

/**
 * What is given, with the bytes of what is in hexadecimal, also in a list.
 * @returns {any}
 */
function octets(/** @type {any} */ value) {
  if (Array.isArray(value)) return value.map(octets)
  return typeof value?.hex === 'string' ? Buffer.from(value.hex, 'hex') : value
}

/** What is given to a method by canonical names, as its parameters: those that stand for themselves, then the options. */
function parameters(/** @type {string} */ type, /** @type {string} */ method, /** @type {Answer} */ given) {
  const rest = { ...given }
  const take = (/** @type {string} */ name) => {
    const found = name in rest ? name : `${name}_ms`
    const value = rest[found]
    delete rest[found]
    return value
  }
  const alone = api.types[type].methods[method].slice(0, ALONE[method] ?? 1).map(take)
  const options = Object.entries(rest).map(([name, value]) => [camel(name), value])
  return options.length ? [...alone, Object.fromEntries(options)] : alone
}

/**
 * An answer as the protocol has it.
 * @returns {unknown}
 */
function shown(/** @type {any} */ answer) {
  if (answer instanceof Uint8Array) return Buffer.from(answer).toString('hex')
  if (Array.isArray(answer)) return answer.map(shown)
  if (typeof answer !== 'object' || answer === null) return answer ?? null
  const snake = (/** @type {string} */ name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [snake(name), shown(value)]))
}

/** These properties of a handle, with durations in milliseconds. */
function seen(/** @type {any} */ handle, /** @type {string[]} */ names) {
  return Object.fromEntries(
    names.map((name) => {
      const lasts = api.durations.includes(name) || api.durations.includes(`Lock.${name}`)
      return [lasts ? `${name}_ms` : name, shown(handle[camel(name) + (lasts ? 'Ms' : '')])]
    }),
  )
}

const tell = (/** @type {number} */ lane, /** @type {Answer} */ answer) =>
  process.stdout.write(`${JSON.stringify({ lane, ...answer })}\n`)

/** What tells the password in a file and marks that it was asked; what begins with a '!' it fails with. */
function teller(/** @type {string | null} */ path) {
  if (path === null) return undefined
  return async () => {
    appendFileSync(`${path}.asked`, '?')
    const text = readFileSync(path, 'utf8')
    if (text.startsWith('!')) throw new Failed(text)
    return text
  }
}

/** One client and its handles. */
class Session {
  /** @type {any} */
  client
  /** @type {Record<string, any>} */
  handles = {}

  /** @returns {Promise<Answer>} */
  async do(/** @type {Answer} */ { op, ...request }) {
    if (op === 'load') return this.load(request)
    if (op !== 'client') return this.call(op, request)
    try {
      const { url, prefix, timeout_ms: timeoutMs, on_error: onError, password } = request
      this.client = new Client(url, { prefix, timeoutMs, onError, password: teller(password) })
      this.handles = {}
    } catch (error) {
      return this.failure(error)
    }
    return { result: null }
  }

  /** Shows an error in every form in which a person may meet it. */
  failure(/** @type {unknown} */ error) {
    if (error instanceof Failed) return { error: 'own', message: error.message }
    if (!(error instanceof QuotalockError)) throw error
    const shown = [inspect(error, { showHidden: true }), error.stack, inspect(this.client, { showHidden: true })]
    return { error: error.code, class: error.constructor.name, message: error.message, shown: shown.join('\n') }
  }

  /** The handle of these options; each lane has its own. */
  async handle(/** @type {Answer} */ { lane, kind, name, options }) {
    if (kind === 'client') return this.client
    const key = JSON.stringify([lane, kind, name, options])
    if (!(key in this.handles)) {
      const first = kind === 'lock_all' ? 'names' : 'name'
      const lazy = kind in MADE ? {} : { acquire: false }
      const given = parameters('Client', kind, { [first]: name, ...octets(options), ...lazy })
      this.handles[key] = await this.client[camel(kind)](...given)
    }
    return this.handles[key]
  }

  /**
   * Makes one call and tells the times before and after it.
   * @returns {Promise<Answer>}
   */
  async call(/** @type {string} */ op, /** @type {Answer} */ request) {
    const [kind = '', method = ''] = op.split('.')
    const { lane, name, options = {}, at_ns = 0, look = [], announce } = request
    let [invoke, loads] = [now(), 0]
    try {
      const adopts = method === 'adopt'
      let handle = adopts ? this.client : await this.handle({ lane, kind, name, options })
      /** @type {Answer} */
      const given = Object.fromEntries(Object.entries(request.arguments ?? {}).map(([n, v]) => [n, octets(v)]))
      const how = given.load ?? given.function
      const loader = async () => {
        loads++
        const end = now() + (how.takes_ms ?? 0) * 1e6
        tell(lane, { begun: { loads, at_ns: now() } })
        await until(end)
        while ('until' in how && !existsSync(how.until)) await sleep(2)
        if ('fails' in how) throw new Failed(how.fails)
        return 'json' in how ? JSON.parse(how.json) : octets(how.value)
      }
      for (const by of ['load', 'function']) if (by in given) given[by] = loader
      for (const pairs of ['takes', 'reservations']) {
        const stock = (/** @type {string} */ of) =>
          this.client.stock(...parameters('Client', 'stock', { name: of, ...options }))
        given[pairs] &&= given[pairs].map((/** @type {any[]} */ [of, second]) => [stock(of), second])
      }
      const taken = parameters(adopts ? 'Client' : (MADE[kind] ?? 'Lock'), method, given)
      await until(at_ns)
      invoke = now()
      if (announce) tell(lane, { begun: { at_ns: invoke, ...seen(handle, look) } })
      let result = await handle[camel(method)](...taken)
      if (adopts) {
        handle = this.handles[JSON.stringify([lane, kind, name, options])] = result
        result = true
      }
      const ok = now()
      const after = look.length ? { seen: { at_ns: now(), ...seen(handle, look) } } : {}
      const text = method === 'get_json' ? JSON.stringify(result) : shown(result)
      return { invoke_ns: invoke, ok_ns: ok, result: text, ...after, loads }
    } catch (error) {
      return { invoke_ns: invoke, ok_ns: now(), ...this.failure(error), loads }
    }
  }

  /** Consumes what the mix offers at random, for a time or a number of calls, and writes the history to a file. */
  async load(/** @type {Answer} */ { lane, mix, seconds, calls, in_flight, pause_us, path }) {
    const end = now() + seconds * 1e9
    const pick = (/** @type {any[]} */ list) => list[Math.floor(Math.random() * list.length)]
    /** @type {string[]} */
    const history = []
    const run = async () => {
      for (let n = 0; n < Math.floor(calls / in_flight) && now() < end && existsSync(path); n++) {
        const entry = pick(mix)
        const cost = pick(entry.costs)
        const given = { name: entry.limiter, options: { policy: entry.policy, prefetch: entry.prefetch } }
        const once = entry.once ? { request_id: randomBytes(12).toString('hex') } : {}
        const request = { lane, ...given, arguments: { key: { hex: entry.key }, cost, ...once } }
        for (let tries = entry.once ? TRIES : 1; tries > 0; tries--) {
          const { shown: _, ...answer } = await this.call('limiter.consume', request)
          history.push(`${JSON.stringify({ ...entry, cost, ...once, ...answer })}\n`)
          if (tries === 1 || !AGAIN.includes(answer.error)) break
          await sleep(20)
        }
        if (pause_us) await sleep((Math.random() * 2 * pause_us) / 1000)
      }
    }
    await Promise.all(Array.from({ length: in_flight }, run))
    writeFileSync(path, history.join(''))
    return { result: history.length }
  }
}

const session = new Session()
/** @type {Map<number, Promise<unknown>>} */
const lanes = new Map()
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line)
  const { lane } = request
  const answered = Promise.resolve(lanes.get(lane)).then(async () => tell(lane, await session.do(request)))
  lanes.set(lane, answered)
}
await Promise.all(lanes.values())
