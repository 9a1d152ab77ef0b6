'use strict'

// Takes the place of the store in memory of @fastify/rate-limit: a memory of Quotalock's, whose time is that of Date, which
// these tests set.

const { Client, testing } = require('quotalock')
const { rateLimitStore } = require('quotalock/fastify')

let made = 0

function LocalStore(continueExceeding, exponentialBackoff) {
  const client = new Client(`memory://upstream-${made++}`)
  const Store = rateLimitStore('upstream', { client })
  return clocked(client, new Store({ continueExceeding, exponentialBackoff }))
}

function clocked(client, store) {
  const at = (call) => {
    // Of the tests' clock, which begins at 0.
    testing.setTime(client, Date.now() * 1000 + 1_000_000)
    return call()
  }
  return {
    incr: (...given) => at(() => store.incr(...given)),
    read: (...given) => at(() => store.read(...given)),
    child: (params) => clocked(client, store.child(params)),
  }
}

module.exports = LocalStore
