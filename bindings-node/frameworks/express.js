'use strict'

// For Express: middleware, and a store for express-rate-limit.

const { QuotalockStore } = require('../lib/hits.js')
const { PROBLEM_TYPE, callerOf, put } = require('../lib/http.js')
const { Limits } = require('../lib/web.js')

/** @type {typeof import('./express.js').rateLimit} */
function rateLimit(/** @type {any} */ name, /** @type {any} */ policy, /** @type {any} */ options) {
  const limits = new Limits('quotalock/express', name, policy, options)
  return async (/** @type {any} */ request, /** @type {any} */ response, /** @type {any} */ next) => {
    try {
      const decision = await limits.decide(callerOf, request, request, response)
      if (decision !== null) {
        const { fields, status, body } = limits.told(decision)
        put(response, fields)
        if (!decision.allowed) {
          if (limits.onDenied) return await limits.onDenied(decision, request, response, next)
          response.statusCode = status
          response.setHeader('Content-Type', PROBLEM_TYPE)
          return void response.end(body)
        }
      }
    } catch (error) {
      return next(error)
    }
    next()
  }
}

module.exports = { QuotalockStore, rateLimit }
