'use strict'

// The units of a sale: held, then sold or returned.

const { inspect } = require('node:util')
const native = require('./native.js')
const { ledger, page, status, taken } = require('./answers.js')
const {
  bytesIfGiven,
  bytesOf,
  number,
  numberIfGiven,
  numberOrNull,
  options,
  refusal,
  text,
  textOrNull,
} = require('./argument.js')
const { submitDescribed } = require('./channel.js')
const { failure } = require('./errors.js')

/** @typedef {import('../index.js').Stock} Surface */
/** @typedef {(channel: import('./native.js').Channel) => void} Describe */

const OPEN_OPTIONS = ['perBuyer', 'endsMs', 'prizes']
const RESTOCK_OPTIONS = ['prizes', 'requestId']
const TAKE_OPTIONS = ['quantity', 'holdMs', 'requestId']
const TAKE_ALL_OPTIONS = ['holdMs', 'requestId']
const PAGE_OPTIONS = ['cursor', 'count']
const LEDGER_OPTIONS = ['after', 'count']

/** How many entries a page has. */
const COUNT = 100

/**
 * The native half of a stock, for those of this package.
 * @type {(stock: unknown) => import('./native.js').Stock}
 */
let nativeOf

class Stock {
  #native
  #name
  #scope

  static {
    nativeOf = (stock) => {
      if (typeof stock === 'object' && stock !== null && #native in stock) return stock.#native
      throw refusal('stock', stock, 'a Stock')
    }
  }

  /**
   * @param {import('./native.js').Stock} stock
   * @param {string | Buffer} name
   * @param {string | Buffer | null} scope
   */
  constructor(stock, name, scope) {
    if (!(stock instanceof native.Stock)) {
      throw failure('invalid_argument', 'a stock is made by client.stock(name), not by new')
    }
    this.#native = stock
    this.#name = name
    this.#scope = scope
  }

  get name() {
    return this.#name
  }

  get scope() {
    return this.#scope
  }

  get redisKeys() {
    return this.#native.redisKeys
  }

  /** @type {Surface['open']} */
  async open(quantity, given) {
    const { perBuyer, endsMs, prizes } = options(given, OPEN_OPTIONS)
    const [units, most, ends] = [
      number('quantity', quantity),
      numberOrNull('perBuyer', perBuyer),
      numberOrNull('endsMs', endsMs),
    ]
    const codes = prizesOf(prizes)
    return await this.#call(this.open, (channel) => channel.open(this.#native, units, most, ends, codes))
  }

  /** @type {Surface['close']} */
  async close() {
    return await this.#call(this.close, (channel) => channel.closeStock(this.#native))
  }

  /** @type {Surface['restock']} */
  async restock(quantity, given) {
    const { prizes, requestId } = options(given, RESTOCK_OPTIONS)
    const [units, codes, id] = [number('quantity', quantity), prizesOf(prizes), bytesIfGiven('requestId', requestId)]
    return await this.#call(this.restock, (channel) => channel.restock(this.#native, units, codes, id))
  }

  /** @type {Surface['take']} */
  async take(buyer, given) {
    const { quantity = 1, holdMs, requestId } = options(given, TAKE_OPTIONS)
    const [who, units] = [bytesOf('buyer', buyer), number('quantity', quantity)]
    const [hold, id] = [numberIfGiven('holdMs', holdMs), bytesIfGiven('requestId', requestId)]
    return taken(await this.#call(this.take, (channel) => channel.take(this.#native, who, units, hold, id)))
  }

  /** @type {Surface['confirm']} */
  async confirm(id) {
    const given = text('id', id)
    return await this.#call(this.confirm, (channel) => channel.confirmTaken(this.#native, given))
  }

  /** @type {Surface['cancel']} */
  async cancel(id) {
    const given = text('id', id)
    return await this.#call(this.cancel, (channel) => channel.cancelTaken(this.#native, given))
  }

  /** @type {Surface['extend']} */
  async extend(id, holdMs) {
    const [given, hold] = [text('id', id), numberIfGiven('holdMs', holdMs)]
    return await this.#call(this.extend, (channel) => channel.extendTaken(this.#native, given, hold))
  }

  /** @type {Surface['status']} */
  async status() {
    return status(await this.#call(this.status, (channel) => channel.stockStatus(this.#native)))
  }

  /** @type {Surface['reservations']} */
  async reservations(given) {
    const { cursor, count = COUNT } = options(given, PAGE_OPTIONS)
    const [from, most] = [textOrNull('cursor', cursor), number('count', count)]
    return page(await this.#call(this.reservations, (channel) => channel.reservations(this.#native, from, most)))
  }

  /** @type {Surface['ledger']} */
  async ledger(given) {
    const { after, count = COUNT } = options(given, LEDGER_OPTIONS)
    const [from, most] = [textOrNull('after', after), number('count', count)]
    return ledger(await this.#call(this.ledger, (channel) => channel.ledger(this.#native, from, most)))
  }

  /**
   * @param {Function} caller
   * @param {Describe} describe
   */
  #call(caller, describe) {
    return submitDescribed(caller, undefined, describe)
  }

  [inspect.custom]() {
    return `Stock { name: ${inspect(this.#name)}, scope: ${inspect(this.#scope)} }`
  }
}

/** @param {unknown} given */
function prizesOf(given) {
  if (given === undefined) return []
  if (!Array.isArray(given)) throw refusal('prizes', given, 'an array of strings or Uint8Arrays')
  return given.map((prize) => bytesOf('prize', prize))
}

/**
 * Stocks, each with something: the stocks, and what they are with.
 * @template T
 * @param {string} what
 * @param {unknown} given
 * @param {(second: unknown) => T} check
 * @param {string} wanted
 */
function pairs(what, given, check, wanted) {
  if (!Array.isArray(given)) throw refusal(what, given, `an array of ${wanted}`)
  /** @type {import('./native.js').Stock[]} */
  const stocks = []
  /** @type {T[]} */
  const seconds = []
  for (const pair of given) {
    if (!Array.isArray(pair) || pair.length !== 2) throw refusal(`one of ${what}`, pair, `an array ${wanted}`)
    stocks.push(nativeOf(pair[0]))
    seconds.push(check(pair[1]))
  }
  return { stocks, seconds }
}

/** @param {unknown} given */
function takesOf(given) {
  return pairs('takes', given, (quantity) => number('quantity', quantity), '[stock, quantity]')
}

/** @param {unknown} given */
function reservationsOf(given) {
  return pairs('reservations', given, (id) => text('id', id), '[stock, id]')
}

/** @param {unknown} given */
function takeAllOptions(given) {
  const { holdMs, requestId } = options(given, TAKE_ALL_OPTIONS)
  return { hold: numberIfGiven('holdMs', holdMs), id: bytesIfGiven('requestId', requestId) }
}

module.exports = { Stock, reservationsOf, takeAllOptions, takesOf }
