// Calls of stocks, onces and caches in Node. The protocol is in workers.py.

import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** @typedef {Record<string, any>} Answer */

/** What a loader fails with. */
class Failed extends Error {}

const now = () => Number(process.hrtime.bigint())

/** The bytes of hexadecimal digits. */
const octets = (/** @type {string | null | undefined} */ hex) =>
  typeof hex === 'string' ? Buffer.from(hex, 'hex') : hex

/** A name as Node has it. */
const camel = (/** @type {string} */ name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())

/** @type {Record<string, (handle: any, given: Answer, load: () => any) => Promise<any>>} */
const CALLS = {
  'stock.open': (stock, { quantity, ...options }) => stock.open(quantity, options),
  'stock.take': (stock, { buyer, ...options }) => stock.take(buyer, options),
  'stock.confirm': (stock, { id }) => stock.confirm(id),
  'stock.cancel': (stock, { id }) => stock.cancel(id),
  'stock.extend': (stock, { id, holdMs }) => stock.extend(id, holdMs),
  'stock.status': (stock) => stock.status(),
  'stock.reservations': (stock) => stock.reservations(),
  'stock.ledger': (stock) => stock.ledger(),
  'client.take_all': (client, { takes, buyer, ...options }) => client.takeAll(takes, buyer, options),
  'client.confirm_all': (client, { reservations }) => client.confirmAll(reservations),
  'client.cancel_all': (client, { reservations }) => client.cancelAll(reservations),
  'client.extend_all': (client, { reservations, holdMs }) => client.extendAll(reservations, holdMs),
  'once.claim': (once, { key, value }) => once.claim(key, value),
  'once.release': (once, { key }) => once.release(key),
  'once.run': (once, { key, ...options }, load) => once.run(key, load, options),
  'cache.get': (cache, { key, ...options }, load) => cache.get(key, load, options),
  'cache.get_json': (cache, { key, ...options }, load) => cache.getJson(key, load, options),
  'cache.peek': (cache, { key }) => cache.peek(key),
  'cache.put': (cache, { key, value }) => cache.put(key, value),
  'cache.invalidate': (cache, { key }) => cache.invalidate(key),
}

/**
 * Makes one call and tells the times before and after it.
 * @param {any} client
 * @param {string} op
 * @param {Answer} request
 * @param {(error: unknown) => Answer} failure
 * @returns {Promise<Answer>}
 */
export async function call(client, op, { name, options, arguments: { load, ...given } }, failure) {
  const kind = op.slice(0, op.indexOf('.'))
  let loads = 0
  const loader = async () => {
    loads++
    while ('until' in load && !existsSync(load.until)) await sleep(2)
    if ('fails' in load) throw new Failed(load.fails)
    return 'json' in load ? JSON.parse(load.json) : octets(load.value)
  }
  const pair = (/** @type {any[]} */ [stock, second]) => [client.stock(stock, taken(options)), second]
  const handle = kind === 'client' ? client : client[kind](name, taken(options))
  /** @type {Answer} */
  const answer = { invoke_ns: now() }
  try {
    const { takes, reservations, ...others } = taken(given)
    const all = { ...others, takes: takes?.map(pair), reservations: reservations?.map(pair) }
    const result = await CALLS[op]?.(handle, defined(all), loader)
    answer.result = op === 'cache.get_json' ? JSON.stringify(result) : shown(result)
  } catch (error) {
    Object.assign(answer, error instanceof Failed ? { error: 'own', message: error.message } : failure(error))
  }
  return { ...answer, ok_ns: now(), loads }
}

/**
 * Arguments as Node takes them.
 * @returns {Answer}
 */
function taken(/** @type {Answer} */ given) {
  const entries = Object.entries(given).map(([name, value]) => {
    if (name === 'prizes') return [camel(name), value.map(octets)]
    return [camel(name), ['key', 'buyer', 'value', 'request_id'].includes(name) ? octets(value) : value]
  })
  return Object.fromEntries(entries)
}

const defined = (/** @type {Answer} */ given) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))

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
