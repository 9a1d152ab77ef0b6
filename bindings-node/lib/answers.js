'use strict'

// What stocks, caches, `once` and locks answer: the native half gives plain objects (src/answers/values.rs), each of which is made one
// of its class. Lists in them are copied: test environments have a realm of their own, and these arrays are not of it.

const { notByNew } = require('./inbox.js')

/** What callers do not construct. */
class Answered {
  constructor() {
    throw notByNew(new.target)
  }
}

/**
 * An answer of a class, made of a plain object.
 * @param {Function} type
 * @param {object} fields
 * @returns {any}
 */
function answered(type, fields) {
  return Object.setPrototypeOf(fields, type.prototype)
}

// Stocks

class StockReservation extends Answered {}
class Taken extends Answered {}
class TakenAll extends Answered {}
class StockStatus extends Answered {}
class StockPage extends Answered {}
class LedgerEntry extends Answered {}

/** @param {any} fields */
function taken(fields) {
  if (fields.reservation !== null) held(fields.reservation)
  return answered(Taken, fields)
}

/** @param {any} fields */
function takenAll(fields) {
  fields.reservations = fields.reservations.map(held)
  fields.available = [...fields.available]
  return answered(TakenAll, fields)
}

/** @param {any} fields */
function status(fields) {
  return answered(StockStatus, fields)
}

/** @param {any} fields */
function page(fields) {
  fields.reservations = fields.reservations.map(held)
  return answered(StockPage, fields)
}

/** @param {any} entries */
function ledger(entries) {
  return entries.map((/** @type {any} */ fields) => withPrizes(LedgerEntry, fields))
}

/** @param {any} fields */
function held(fields) {
  return withPrizes(StockReservation, fields)
}

/**
 * @param {Function} type
 * @param {any} fields
 */
function withPrizes(type, fields) {
  fields.prizes = [...fields.prizes]
  return answered(type, fields)
}

// Caches and `once`

class Claimed extends Answered {}
class Seen extends Answered {}

// Locks

class Holder extends Answered {}
class Inspection extends Answered {}

/** @param {any} fields */
function inspection(fields) {
  fields.holders = fields.holders.map((/** @type {any} */ holder) => answered(Holder, holder))
  return answered(Inspection, fields)
}

module.exports = {
  Claimed,
  Holder,
  Inspection,
  LedgerEntry,
  Seen,
  StockPage,
  StockReservation,
  StockStatus,
  Taken,
  TakenAll,
  answered,
  inspection,
  ledger,
  page,
  status,
  taken,
  takenAll,
}
