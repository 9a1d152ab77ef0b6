'use strict'

// Quotalock's store, asked at the time of the tests.

const { testing } = require('quotalock')
const { rateLimitStore } = require('quotalock/fastify')
const { micros } = require('./clock.js')

function wrapped(client, store) {
  const at = (call) => {
    testing.setTime(client, micros())
    return call()
  }
  return {
    incr: (...given) => at(() => store.incr(...given)),
    read: (...given) => at(() => store.read(...given)),
    child: (params) => wrapped(client, store.child(params)),
  }
}

function clocked(name, client, params) {
  const Store = rateLimitStore(name, { client })
  return wrapped(client, new Store(params))
}

module.exports = { clocked }
