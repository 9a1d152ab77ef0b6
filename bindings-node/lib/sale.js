'use strict'

// What stocks answer.

const { notByNew } = require('./inbox.js')
const { Packed } = require('./packed.js')

/** @typedef {InstanceType<typeof Packed>} Answer */

class StockReservation {
  /** @param {Answer} packed */
  constructor(packed) {
    if (!(packed instanceof Packed)) throw notByNew(StockReservation)
    this.id = packed.text()
    this.quantity = packed.number()
    this.buyer = packed.bytes()
    this.prizes = prizes(packed)
    this.untilMs = packed.number()
  }
}

class Taken {
  /** @param {Answer} packed */
  constructor(packed) {
    if (!(packed instanceof Packed)) throw notByNew(Taken)
    this.outcome = packed.text()
    this.available = packed.number()
    this.reservation = reservations(packed)[0] ?? null
  }
}

class TakenAll {
  /** @param {Answer} packed */
  constructor(packed) {
    if (!(packed instanceof Packed)) throw notByNew(TakenAll)
    this.outcome = packed.text()
    this.refused = packed.maybeNumber()
    this.reservations = reservations(packed)
    this.available = packed.list((packed) => packed.number())
  }
}

class StockStatus {
  /** @param {Answer} packed */
  constructor(packed) {
    if (!(packed instanceof Packed)) throw notByNew(StockStatus)
    this.phase = packed.text()
    this.quantity = packed.number()
    this.available = packed.number()
    this.held = packed.number()
    this.sold = packed.number()
    this.buyers = packed.number()
    this.perBuyer = packed.maybeNumber()
    this.endsMs = packed.maybeNumber()
  }
}

class StockPage {
  /** @param {Answer} packed */
  constructor(packed) {
    if (!(packed instanceof Packed)) throw notByNew(StockPage)
    this.reservations = reservations(packed)
    this.next = packed.maybeText()
  }
}

class LedgerEntry {
  /** @param {Answer} packed */
  constructor(packed) {
    if (!(packed instanceof Packed)) throw notByNew(LedgerEntry)
    this.id = packed.text()
    this.number = packed.number()
    this.kind = packed.text()
    this.reservation = packed.maybeText()
    this.buyer = packed.maybeBytes()
    this.quantity = packed.number()
    this.timeMs = packed.number()
    this.available = packed.number()
    this.held = packed.number()
    this.sold = packed.number()
    this.prizes = prizes(packed)
  }
}

/** @param {Answer} packed */
function prizes(packed) {
  return packed.list((packed) => packed.bytes())
}

/** @param {Answer} packed */
function reservations(packed) {
  return packed.list((packed) => new StockReservation(packed))
}

/** @param {Answer} packed */
function entries(packed) {
  return packed.list((packed) => new LedgerEntry(packed))
}

module.exports = { LedgerEntry, StockPage, StockReservation, StockStatus, Taken, TakenAll, entries }
