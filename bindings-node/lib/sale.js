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
function taken({ outcome, available, reservation }) {
  return answered(Taken, { outcome, available, reservation: reservation && held(reservation) })
}

/** @param {any} fields */
function takenAll(fields) {
  return answered(TakenAll, {
    ...fields,
    reservations: fields.reservations.map(held),
    available: [...fields.available],
  })
}

/** @param {any} fields */
function status(fields) {
  return answered(StockStatus, fields)
}

/** @param {any} fields */
function page({ reservations, next }) {
  return answered(StockPage, { reservations: reservations.map(held), next })
}

/** @param {any} entries */
function ledger(entries) {
  return entries.map((/** @type {any} */ entry) => answered(LedgerEntry, { ...entry, prizes: [...entry.prizes] }))
}

/** @param {any} fields */
function held(fields) {
  return answered(StockReservation, { ...fields, prizes: [...fields.prizes] })
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
