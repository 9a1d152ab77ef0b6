// Takes units and settles them in Node and writes down what came of it: `worker.mjs SETUP`. See sale_load.py.

import { openSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, QuotalockError } from 'quotalock'

/** @typedef {Record<string, any>} Entry */

const setup = JSON.parse(process.argv[2] ?? '')
const client = new Client(setup.url, { prefix: setup.prefix, timeoutMs: setup.timeout_ms })
const file = openSync(setup.path, 'a')

const below = (/** @type {number} */ most) => Math.floor(Math.random() * most)

/** Adds a line to the history, at once. */
const write = (/** @type {Entry} */ record) => writeSync(file, `${JSON.stringify(record)}\n`)

/** The ids of what a take answered. */
const reservationsOf = (/** @type {any} */ answer) =>
  (answer.reservations ?? [answer.reservation]).flatMap((/** @type {any} */ held) => (held ? [held.id] : []))

/** Calls until there is an answer, and writes down each. */
async function answered(/** @type {Entry} */ record, /** @type {() => Promise<any>} */ call) {
  for (;;) {
    try {
      const answer = await call()
      if (typeof answer === 'boolean') write({ ...record, outcome: String(answer) })
      else write({ ...record, outcome: answer.outcome, reservations: reservationsOf(answer) })
      return answer
    } catch (error) {
      if (!(error instanceof QuotalockError)) throw error
      write({ ...record, outcome: error.code })
      if (error.code !== 'unavailable' && error.code !== 'timeout') throw error
      await sleep(10)
    }
  }
}

/** So many of the stocks, each once. */
function pick(/** @type {number} */ count) {
  const [names, left] = [/** @type {string[]} */ ([]), [...setup.mix]]
  while (names.length < count) names.push(...left.splice(below(left.length), 1))
  return names
}

/** Takes units once, of one stock or of several; then sells them, lets them go, or forgets them. */
async function buy(/** @type {string} */ request) {
  const several = Math.random() < setup.baskets
  const names = pick(several ? 2 + below(2) : 1)
  const [buyer, holdMs] = [`buyer ${below(setup.buyers)}`, 20 + below(280)]
  /** @type {any[]} */
  const takes = names.map((name) => [client.stock(name), 1 + below(3)])
  const [[stock, quantity]] = takes
  const all = several ? '_all' : ''
  /** @type {Entry} */
  const record = { proc: setup.proc, stocks: names, buyer, request, op: `take${all}` }
  write({ ...record, outcome: 'begun' })
  const options = { holdMs, requestId: request }
  const take = () => (several ? client.takeAll(takes, buyer, options) : stock.take(buyer, { quantity, ...options }))
  const held = reservationsOf(await answered(record, take))
  if (held.length === 0) return
  await sleep([0, below(holdMs), holdMs][below(3)])
  if (below(10) === 0) await answered(record, take)
  const how = Math.random()
  if (how >= 0.6) return
  const verb = how < setup.confirms ? 'confirm' : 'cancel'
  /** @type {any[]} */
  const pairs = takes.map(([stock], i) => [stock, held[i]])
  const both = { confirm: () => client.confirmAll(pairs), cancel: () => client.cancelAll(pairs) }
  const settling = { ...record, op: `${verb}${all}`, reservations: held }
  await answered(settling, several ? both[verb] : () => stock[verb](held[0]))
}

/** One taker: one call after the other, for ever. */
async function run(/** @type {number} */ lane) {
  for (let request = 0; ; request++) await buy(`${setup.proc} ${lane} ${request}`)
}

await Promise.all(Array.from({ length: setup.lanes }, (_, lane) => run(lane)))
