'use strict'

// Takes the place of the store in memory of @fastify/rate-limit: a memory of Quotalock's.

const { Client } = require('quotalock')
const { clocked } = require('./clocked.js')

let made = 0

function LocalStore(continueExceeding, exponentialBackoff) {
  const client = new Client(`memory://upstream-${made++}`)
  return clocked('upstream', client, { continueExceeding, exponentialBackoff })
}

module.exports = LocalStore
