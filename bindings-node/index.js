'use strict'

const { clientAddress } = require('./lib/address.js')
const {
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
} = require('./lib/answers.js')
const { Cache } = require('./lib/cache.js')
const { Client } = require('./lib/client.js')
const { CombinedDecision, Decision, RuleDecision } = require('./lib/decision.js')
const { classes } = require('./lib/errors.js')
const { limit } = require('./lib/limit.js')
const { Limiter } = require('./lib/limiter.js')
const { Lock } = require('./lib/lock.js')
const { metrics, prometheus } = require('./lib/metrics.js')
const { Once } = require('./lib/once.js')
const { quorumLock } = require('./lib/quorum.js')
const { Reservation } = require('./lib/reservation.js')
const { Stock } = require('./lib/stock.js')
const { testing } = require('./lib/testing.js')

module.exports = {
  Client,
  Limiter,
  Reservation,
  Decision,
  CombinedDecision,
  RuleDecision,
  Lock,
  Inspection,
  Holder,
  Stock,
  Taken,
  TakenAll,
  StockReservation,
  StockPage,
  StockStatus,
  LedgerEntry,
  Once,
  Claimed,
  Cache,
  Seen,
  clientAddress,
  limit,
  metrics,
  prometheus,
  quorumLock,
  testing,
  ...classes,
}
