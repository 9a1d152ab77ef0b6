'use strict'

// What stocks answer.

const { Answered, answered } = require('./answered.js')

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

module.exports = {
  LedgerEntry,
  StockPage,
  StockReservation,
  StockStatus,
  Taken,
  TakenAll,
  ledger,
  page,
  status,
  taken,
  takenAll,
}
