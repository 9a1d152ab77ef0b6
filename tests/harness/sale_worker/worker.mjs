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

/** Calls until there is an answer, and writes down each. */
async function answered(/** @type {Entry} */ record, /** @type {() => Promise<any>} */ call) {
  for (;;) {
    try {
      const answer = await call()
      if (typeof answer === 'boolean') write({ ...record, outcome: String(answer) })
      else write({ ...record, outcome: answer.outcome, reservation: answer.reservation?.id })
      return answer
    } catch (error) {
      if (!(error instanceof QuotalockError)) throw error
      write({ ...record, outcome: error.code })
      if (error.code !== 'unavailable' && error.code !== 'timeout') throw error
      await sleep(10)
    }
  }
}

/** Takes units once; then sells them, lets them go, or forgets them. */
async function buy(/** @type {string} */ request) {
  const name = setup.mix[below(setup.mix.length)]
  const buyer = `buyer ${below(setup.buyers)}`
  const stock = client.stock(name)
  const [quantity, holdMs] = [1 + below(3), 20 + below(280)]
  /** @type {Entry} */
  const record = { proc: setup.proc, stock: name, buyer, request, op: 'take' }
  write({ ...record, outcome: 'begun' })
  const take = () => stock.take(buyer, { quantity, holdMs, requestId: request })
  const { reservation } = await answered(record, take)
  if (!reservation) return
  await sleep([0, below(holdMs), holdMs][below(3)])
  if (below(10) === 0) await answered(record, take)
  const { id } = reservation
  record.reservation = id
  const how = Math.random()
  if (how < setup.confirms) await answered({ ...record, op: 'confirm' }, () => stock.confirm(id))
  else if (how < 0.6) await answered({ ...record, op: 'cancel' }, () => stock.cancel(id))
}

/** One taker: one call after the other, for ever. */
async function run(/** @type {number} */ lane) {
  for (let request = 0; ; request++) await buy(`${setup.proc} ${lane} ${request}`)
}

await Promise.all(Array.from({ length: setup.lanes }, (_, lane) => run(lane)))
