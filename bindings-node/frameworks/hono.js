'use strict'

// For Hono on Node: middleware, and a store for hono-rate-limiter.

const { QuotalockStore } = require('../lib/hits.js')
const { PROBLEM_TYPE, fetchedBy, pairs, refusalOf } = require('../lib/http.js')
const { Limits } = require('../lib/web.js')

/** @type {typeof import('./hono.js').rateLimit} */
function rateLimit(/** @type {any} */ name, /** @type {any} */ policy, /** @type {any} */ options) {
  const limits = new Limits('quotalock/hono', name, policy, options)
  return async (/** @type {any} */ context, /** @type {any} */ next) => {
    // What @hono/node-server tells of the socket.
    const peer = context.env?.incoming?.socket?.remoteAddress
    const decision = await limits.decide(fetchedBy(context.req.raw, peer), context)
    const fields = decision === null ? [] : limits.fields(decision)
    if (decision !== null && !decision.allowed) {
      for (const [field, value] of pairs(fields)) context.header(field, value)
      if (limits.onDenied) return await limits.onDenied(decision, context, next)
      const { status, body } = refusalOf(decision)
      return context.body(body, status, { 'Content-Type': PROBLEM_TYPE })
    }
    await next()
    // After the handler, which may answer with a Response of its own.
    for (const [field, value] of pairs(fields)) {
      context.header(field, value, { append: field.startsWith('RateLimit') })
    }
  }
}

module.exports = { QuotalockStore, rateLimit }
