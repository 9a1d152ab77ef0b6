'use strict'

// Takes the place of the store in Redis of @fastify/rate-limit.

const { clocked } = require('./clocked.js')

function RedisStore(continueExceeding, exponentialBackoff, { client }, name = 'fastify-rate-limit-') {
  return clocked(name, client, { continueExceeding, exponentialBackoff })
}

module.exports = RedisStore
