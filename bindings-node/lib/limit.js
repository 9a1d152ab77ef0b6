'use strict'

// Limits in one line, with a client of the environment's.

const { options, policyOf, text } = require('./argument.js')
const { Client } = require('./client.js')
const { CALL_OPTIONS } = require('./limiter.js')

/**
 * More limiters than a program has; one that makes them of what users send does not fill the memory. The core's
 * `LimiterCache` is not asked: to hand it two texts takes some 400 ns a call, to look here some 200.
 */
const MOST = 1024

/** @type {import('../index.js').Client | undefined} */
let client
/** @type {Map<string, import('../index.js').Limiter>} */
const limiters = new Map()

/** @type {typeof import('../index.js').limit} */
function limit(name, key, policy, given) {
  try {
    return limiterOf(name, policy).consume(key, options(given, CALL_OPTIONS))
  } catch (error) {
    return Promise.reject(error)
  }
}

/**
 * The limiter of a name and policy, made at the first call.
 * @param {string} name
 * @param {import('../index.js').Policy} policy
 */
function limiterOf(name, policy) {
  // As the core is given them: a rule may be an object of any class. JSON marks where a text ends.
  const id = JSON.stringify([policyOf(policy), text('name', name)])
  let limiter = limiters.get(id)
  if (limiter === undefined) {
    client ??= new Client()
    limiter = client.limiter(name, policy)
    if (limiters.size === MOST) {
      limiters.clear()
      warn(name)
    }
    limiters.set(id, limiter)
  }
  return limiter
}

let warned = false

/**
 * Once: limiters are made of what users send.
 * @param {string} name
 */
function warn(name) {
  if (warned) return
  warned = true
  const message =
    `more than ${MOST} limiters of different names or policies were asked for in this process, lately ` +
    `${JSON.stringify(name)}: they are made again each time, and their names fill metrics. Give the limiter a fixed ` +
    'name, and put what users send (a path, an id) into the key'
  process.emitWarning(message, { type: 'QuotalockWarning', code: 'QUOTALOCK_LIMITERS' })
}

module.exports = { limit }
