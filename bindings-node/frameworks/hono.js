'use strict'

// For Hono on Node: middleware, and a store for hono-rate-limiter.

const { QuotalockStore } = require('../lib/hits.js')
const { Limits, fetchedBy } = require('../lib/web.js')

/** @type {typeof import('./hono.js').rateLimit} */
function rateLimit(/** @type {any} */ name, /** @type {any} */ policy, /** @type {any} */ options) {
  const limits = new Limits('quotalock/hono', name, policy, options)
  return async (/** @type {any} */ context, /** @type {any} */ next) => {
    // What @hono/node-server tells of the socket.
    const peer = context.env?.incoming?.socket?.remoteAddress
    const answer = await limits.decide(fetchedBy(context.req.raw, peer), context)
    if (answer?.refusal) {
      const refusal = answer.refusal
      if (!limits.onDenied) return context.body(refusal.body, refusal.status, refusal.headers)
      for (const [field, value] of Object.entries(answer.headers)) context.header(field, value)
      return await limits.onDenied(answer.decision, context, next)
    }
    await next()
    // After the handler, which may answer with a Response of its own.
    for (const [field, value] of Object.entries(answer?.headers ?? {})) {
      context.header(field, value, { append: field.startsWith('RateLimit') })
    }
  }
}

module.exports = { QuotalockStore, rateLimit }
