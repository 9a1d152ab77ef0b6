'use strict'

// For Hono on Node: middleware, and a store for hono-rate-limiter.

const { QuotalockStore } = require('../lib/hits.js')
const { PROBLEM_TYPE, fetchedBy, pairs } = require('../lib/http.js')
const { Limits } = require('../lib/web.js')

/** @type {typeof import('./hono.js').rateLimit} */
function rateLimit(/** @type {any} */ name, /** @type {any} */ policy, /** @type {any} */ options) {
  const limits = new Limits('quotalock/hono', name, policy, options)
  return async (/** @type {any} */ context, /** @type {any} */ next) => {
    const decision = await limits.decide(callerOf, context, context)
    const { fields, status, body } = decision === null ? NOTHING : limits.told(decision)
    if (decision !== null && !decision.allowed) {
      for (const [field, value] of pairs(fields)) context.header(field, value)
      if (limits.onDenied) return await limits.onDenied(decision, context, next)
      return context.body(body, status, { 'Content-Type': PROBLEM_TYPE })
    }
    await next()
    // After the handler, which may answer with a Response of its own.
    for (const [field, value] of pairs(fields)) {
      context.header(field, value, { append: field.startsWith('RateLimit') })
    }
  }
}

/** @param {any} context */
function callerOf({ req, env }) {
  // What @hono/node-server tells of the socket.
  return fetchedBy(req.raw, env?.incoming?.socket?.remoteAddress)
}

/** @type {import('../lib/web.js').Told} */
const NOTHING = { fields: [], status: 0, body: '' }

module.exports = { QuotalockStore, rateLimit }
