'use strict'

// Takes the place of the store in Redis of @fastify/rate-limit.

const { rateLimitStore } = require('quotalock/fastify')

function RedisStore(continueExceeding, exponentialBackoff, { client }, name = 'fastify-rate-limit-') {
  const Store = rateLimitStore(name, { client })
  return new Store({ continueExceeding, exponentialBackoff })
}

module.exports = RedisStore
