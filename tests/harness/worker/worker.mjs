// Does with quotalock in Node what JSON lines on its input say. See workers.py for the protocol.

import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { Client, QuotalockError } from 'quotalock'
import { call } from './handles.mjs'

/** @typedef {Record<string, any>} Answer */

const now = () => Number(process.hrtime.bigint())

/** Takes a result apart as the protocol has it; what is no decision stays as it is. */
function decision(/** @type {any} */ result) {
  if (typeof result !== 'object' || result === null) return result
  const { retryAfterMs, resetAfterMs, rules, ...rest } = { ...result }
  /** @type {Answer} */
  const shown = { ...rest, retry_after_ms: retryAfterMs, reset_after_ms: resetAfterMs }
  if (rules) shown.rules = rules.map(decision)
  return shown
}

/** One client and its limiters. */
class Session {
  /** @type {Client | undefined} */
  client
  /** @type {Record<string, any>} */
  limiters = {}

  /** @returns {Promise<Answer>} */
  async do(/** @type {Answer} */ { op, ...request }) {
    if (op === 'load') return this.load(request)
    if (op.includes('.')) return call(this.client, op, request, (error) => this.failure(error))
    if (op !== 'client') return this.call(op, request)
    try {
      const { url, prefix, timeout_ms: timeoutMs, on_error: onError } = request
      this.client = new Client(url, { prefix, timeoutMs, onError })
      this.limiters = {}
    } catch (error) {
      return this.failure(error)
    }
    return { result: null }
  }

  /** Shows an error in every form in which a person may meet it. */
  failure(/** @type {unknown} */ error) {
    if (!(error instanceof QuotalockError)) throw error
    const shown = [inspect(error, { showHidden: true }), error.stack, inspect(this.client, { showHidden: true })]
    return { error: error.code, class: error.constructor.name, message: error.message, shown: shown.join('\n') }
  }

  /**
   * Makes one call and tells the times before and after it.
   * @returns {Promise<Answer>}
   */
  async call(/** @type {string} */ op, /** @type {Answer} */ { limiter, policy, key, cost, amount, duration_ms }) {
    let invoke = now()
    try {
      this.limiters[`${limiter} ${policy}`] ??= this.client?.limiter(limiter, policy)
      invoke = now()
      const argument = cost === undefined ? (amount ?? duration_ms) : { cost }
      const result = await this.limiters[`${limiter} ${policy}`][op](Buffer.from(key, 'hex'), argument)
      return { invoke_ns: invoke, ok_ns: now(), result: decision(result) }
    } catch (error) {
      return { invoke_ns: invoke, ok_ns: now(), ...this.failure(error) }
    }
  }

  /** Consumes what the mix offers at random, for a time or a number of calls, and writes the history to a file. */
  async load(/** @type {Answer} */ { mix, seconds, calls, in_flight, pause_us, path }) {
    const end = now() + seconds * 1e9
    const pick = (/** @type {any[]} */ list) => list[Math.floor(Math.random() * list.length)]
    /** @type {string[]} */
    const history = []
    const run = async () => {
      for (let n = 0; n < Math.floor(calls / in_flight) && now() < end; n++) {
        const entry = pick(mix)
        const cost = pick(entry.costs)
        const { shown: _, ...answer } = await this.call('consume', { ...entry, cost })
        history.push(`${JSON.stringify({ ...entry, cost, ...answer })}\n`)
        if (pause_us) await sleep((Math.random() * 2 * pause_us) / 1000)
      }
    }
    await Promise.all(Array.from({ length: in_flight }, run))
    writeFileSync(path, history.join(''))
    return { result: history.length }
  }
}

const session = new Session()
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await session.do(JSON.parse(line)))}\n`)
}
