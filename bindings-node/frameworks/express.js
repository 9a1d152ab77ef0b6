'use strict'

// For Express: middleware, and a store for express-rate-limit.

const { QuotalockStore } = require('../lib/hits.js')
const { Limits, callerOf, put } = require('../lib/web.js')

/** @type {typeof import('./express.js').rateLimit} */
function rateLimit(/** @type {any} */ name, /** @type {any} */ policy, /** @type {any} */ options) {
  const limits = new Limits('quotalock/express', name, policy, options)
  return async (/** @type {any} */ request, /** @type {any} */ response, /** @type {any} */ next) => {
    try {
      const answer = await limits.decide(callerOf(request), request, response)
      if (answer?.refusal) {
        put(response, answer.headers)
        if (limits.onDenied) return await limits.onDenied(answer.decision, request, response, next)
        response.statusCode = answer.refusal.status
        response.setHeader('Content-Type', answer.refusal.headers['Content-Type'])
        return void response.end(answer.refusal.body)
      }
      if (answer) put(response, answer.headers)
    } catch (error) {
      return next(error)
    }
    next()
  }
}

module.exports = { QuotalockStore, rateLimit }
