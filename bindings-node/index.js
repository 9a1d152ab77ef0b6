'use strict'

const { Client } = require('./lib/client.js')
const { CombinedDecision, Decision, RuleDecision } = require('./lib/decision.js')
const { classes } = require('./lib/errors.js')
const { limit } = require('./lib/limit.js')
const { Holder, Inspection } = require('./lib/inspection.js')
const { Limiter } = require('./lib/limiter.js')
const { Lock } = require('./lib/lock.js')
const { quorumLock } = require('./lib/quorum.js')
const { Reservation } = require('./lib/reservation.js')
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
  limit,
  quorumLock,
  testing,
  ...classes,
}
