// Executes the vectors of stocks.

import assert from 'node:assert/strict'
import { testing } from 'quotalock'
import { mustFail } from './failures.mjs'
import { bytes, client } from './support.mjs'

/** @typedef {import('./support.mjs').Case} Case */
/** @typedef {import('quotalock').Stock} Stock */

/** Microseconds as milliseconds. The vectors have whole ones only. */
const ms = (/** @type {number | undefined} */ micros) => (micros === undefined ? undefined : micros / 1000)

/** What the steps of one case share: its stocks by label, and the ids and labels of its reservations. */
class Sale {
  own
  /** @type {Map<string, Stock>} */
  stocks = new Map()
  /** @type {Map<string, { id: string, stock: Stock }>} */
  reservations = new Map()

  constructor(/** @type {string} */ url, /** @type {Case} */ given) {
    this.own = client(url)
    for (const [label, { name, scope }] of Object.entries(given.stocks)) {
      this.stocks.set(label, this.own.stock(name, { scope }))
    }
  }

  /** The stock of a label; the first without one. */
  stock(/** @type {string | undefined} */ label) {
    const found = label === undefined ? [...this.stocks.values()][0] : this.stocks.get(label)
    assert.ok(found, `no stock ${label}`)
    return found
  }

  held(/** @type {string} */ label) {
    const found = this.reservations.get(label)
    assert.ok(found, `no reservation ${label}`)
    return found
  }

  /** The label of an id: one that is new gets that of the answer which is expected. */
  labelOf(/** @type {string} */ id, /** @type {Stock} */ stock, /** @type {string} */ expected) {
    if (!this.reservations.has(expected)) this.reservations.set(expected, { id, stock })
    for (const [label, held] of this.reservations) if (held.id === id) return label
    return undefined
  }
}

/** @param {Buffer} found @param {Case} expected @param {string} field */
function shownBytes(found, expected, field) {
  return `${field}_hex` in expected ? { [`${field}_hex`]: found.toString('hex') } : { [field]: found.toString() }
}

/** @param {readonly Buffer[]} prizes */
const shownPrizes = (prizes) => prizes.map(String)

/**
 * A reservation as the vectors write it.
 * @param {Sale} sale
 * @param {Stock} stock
 * @param {import('quotalock').StockReservation} reservation
 * @param {Case} expected
 */
function shown(sale, stock, reservation, expected) {
  const { id, quantity, buyer, prizes, untilMs } = reservation
  const label = sale.labelOf(id, stock, expected.reservation)
  const known = { reservation: label, quantity, prizes: shownPrizes(prizes), until: untilMs * 1000 }
  return { ...known, ...shownBytes(buyer, expected, 'buyer') }
}

/**
 * @param {Case} given
 * @param {string} store
 * @param {string} url
 */
export async function stocks(given, store, url) {
  const sale = new Sale(url, given)
  for (const [i, step] of given.steps.entries()) {
    const place = `${given.id} step ${i} on ${store}`
    testing.setTime(sale.own, step.at)
    if (step.error) await mustFail({ id: place, ...step.error }, () => perform(sale, step))
    else {
      const found = await perform(sale, step)
      if (step.expect !== undefined) assert.deepEqual(found, step.expect, place)
    }
  }
  await sale.own.close()
}

/**
 * Performs a step and returns the answer as the vectors write it.
 * @param {Sale} sale
 * @param {Case} step
 */
async function perform(sale, step) {
  const { expect = {} } = step
  const stock = sale.stock(step.stock)
  const requestId = bytes(step, 'request')
  const redisKey = () => /** @type {Buffer} */ (stock.redisKeys[step.key])
  switch (step.op) {
    case 'open': {
      const options = { perBuyer: step.per_buyer, endsMs: ms(step.ends), prizes: step.prizes }
      return { opened: await stock.open(step.quantity, options) }
    }
    case 'close':
      return { closed: await stock.close() }
    case 'restock':
      return { quantity: await stock.restock(step.quantity, { prizes: step.prizes, requestId }) }
    case 'take': {
      const options = { quantity: step.quantity, holdMs: ms(step.hold), requestId }
      const { outcome, available, reservation } = await stock.take(bytes(step, 'buyer') ?? '', options)
      assert.equal(reservation !== null, outcome === 'held')
      const held = reservation === null ? null : shown(sale, stock, reservation, expect.reservation ?? {})
      return { outcome, available, reservation: held }
    }
    case 'take_all':
      return takeAll(sale, step, requestId)
    case 'confirm':
    case 'cancel':
    case 'extend':
      return { done: await settle(sale, step) }
    case 'status': {
      const { perBuyer, endsMs, ...others } = await stock.status()
      return { ...others, per_buyer: perBuyer, ends: endsMs === null ? null : endsMs * 1000 }
    }
    case 'reservations': {
      const pages = []
      /** @type {string | null} */
      let cursor = null
      do {
        /** @type {import("quotalock").StockPage} */
        const page = await stock.reservations({ cursor, count: step.count })
        /** @type {Case[]} */
        const expected = expect.pages?.[pages.length] ?? []
        pages.push(page.reservations.map((reservation, i) => shown(sale, stock, reservation, expected[i] ?? {})))
        cursor = page.next
      } while (cursor !== null)
      return { pages }
    }
    case 'ledger':
      return { entries: await ledger(sale, stock, step) }
    case 'redis_keys':
      return { redis_keys: stock.redisKeys.map((key) => String(key.subarray(sale.own.prefix.length + 1))) }
    case 'plant':
      await testing.put(sale.own, redisKey(), step.type ?? 'string', bytes(step, 'value') ?? 'x')
      return undefined
    case 'persist':
      await testing.put(sale.own, redisKey(), 'persist', '')
      return undefined
    case 'raw': {
      const stored = await testing.get(sale.own, redisKey())
      const has = stored !== null && stored.ttlMs !== null
      return { exists: stored !== null, ...('ttl' in expect ? { ttl: has } : {}) }
    }
    default:
      return assert.fail(`unknown op ${step.op}`)
  }
}

/**
 * @param {Sale} sale
 * @param {Case} step
 * @param {Buffer | undefined} requestId
 */
async function takeAll(sale, step, requestId) {
  const labels = step.items.map((/** @type {Case} */ item) => item.stock)
  const takes = step.items.map((/** @type {Case} */ { stock, quantity }) => [sale.stock(stock), quantity])
  const options = { holdMs: ms(step.hold), requestId }
  const taken = await sale.own.takeAll(takes, bytes(step, 'buyer') ?? '', options)
  const expected = step.expect?.reservations ?? []
  return {
    outcome: taken.outcome,
    refused: taken.refused === null ? null : labels[taken.refused],
    available: taken.available,
    reservations: taken.reservations.map((reservation, i) =>
      shown(sale, sale.stock(labels[i]), reservation, expected[i] ?? {}),
    ),
  }
}

/**
 * @param {Sale} sale
 * @param {Case} step
 */
function settle(sale, step) {
  const hold = ms(step.hold)
  if (step.reservations !== undefined) {
    const all = step.reservations.map((/** @type {string} */ label) => {
      const { stock, id } = sale.held(label)
      return [stock, id]
    })
    if (step.op === 'confirm') return sale.own.confirmAll(all)
    return step.op === 'cancel' ? sale.own.cancelAll(all) : sale.own.extendAll(all, hold)
  }
  const id = step.id ?? sale.held(step.reservation).id
  const stock =
    step.stock === undefined && step.id === undefined ? sale.held(step.reservation).stock : sale.stock(step.stock)
  if (step.op === 'confirm') return stock.confirm(id)
  return step.op === 'cancel' ? stock.cancel(id) : stock.extend(id, hold)
}

/**
 * @param {Sale} sale
 * @param {Stock} stock
 * @param {Case} step
 */
async function ledger(sale, stock, step) {
  const all = await stock.ledger({ count: 1000 })
  const after = step.after === undefined ? undefined : all.find(({ number }) => number === step.after)?.id
  const entries = await stock.ledger({ after, count: step.count })
  return entries.map(({ id: _, reservation, buyer, timeMs, prizes, ...others }, i) => {
    const expected = step.expect.entries[i] ?? {}
    const label = reservation === null ? null : sale.labelOf(reservation, stock, expected.reservation)
    const who = buyer === null ? { buyer: null } : shownBytes(buyer, expected, 'buyer')
    return { ...others, reservation: label, time: timeMs * 1000, prizes: shownPrizes(prizes), ...who }
  })
}

/**
 * Makes a call with bad arguments.
 * @param {Case} given
 * @param {string} url
 */
export async function badStock({ op, args }, url) {
  const own = client(url)
  const requestId = bytes(args, 'request')
  const { scope, ledger_cap: ledgerCap, quantity = 1, prizes, id = 'x', count, cursor, after } = args
  const hold = ms(args.hold) ?? 1000
  const stock = own.stock(bytes(args, 'name') ?? 'sale', { scope, ledgerCap, retentionMs: ms(args.retention) })
  const buyer = args.buyer ?? 'buyer'
  switch (op) {
    case 'open':
      return stock.open(quantity, { perBuyer: args.per_buyer, endsMs: ms(args.ends), prizes })
    case 'restock':
      return stock.restock(quantity, { prizes, requestId })
    case 'take':
      return stock.take(buyer, { quantity, holdMs: hold, requestId })
    case 'take_all': {
      const takes = args.items.map((/** @type {[string, number]} */ [name, units]) => [own.stock(name), units])
      return own.takeAll(takes, buyer, { holdMs: hold, requestId })
    }
    case 'confirm_all':
      return own.confirmAll(args.ids.map((/** @type {string} */ each) => [stock, each]))
    case 'confirm':
      return stock.confirm(id)
    case 'cancel':
      return stock.cancel(id)
    case 'extend': {
      // Nothing but the hold is wrong with it, if that is given.
      if (args.id !== undefined) return stock.extend(id, hold)
      await stock.open(1)
      return stock.extend((await stock.take(buyer)).reservation?.id ?? '', hold)
    }
    case 'reservations':
      return stock.reservations({ cursor, count })
    case 'ledger':
      return stock.ledger({ after, count })
    default:
      return assert.equal(op, 'stock')
  }
}
