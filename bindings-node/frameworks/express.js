'use strict'

// For Express: middleware, and a store for express-rate-limit.

const { QuotalockStore } = require('../lib/hits.js')
const { answer, callerOf, put, withStatus } = require('../lib/http.js')
const { Limits } = require('../lib/web.js')

/** @type {typeof import('./express.js').rateLimit} */
function rateLimit(/** @type {any} */ name, /** @type {any} */ policy, /** @type {any} */ options) {
  const limits = new Limits('quotalock/express', name, policy, options)
  return async (/** @type {any} */ request, /** @type {any} */ response, /** @type {any} */ next) => {
    /** @type {import('../lib/web.js').Decided | null} */
    let decision
    try {
      decision = await limits.decide(callerOf, request, request, request, response)
    } catch (error) {
      const unfit = limits.unfit(error)
      return unfit === undefined ? next(error) : answer(response, unfit)
    }
    if (decision === null) return next()
    const told = limits.told(decision)
    put(response, told.fields)
    if (decision.allowed) return next()
    if (limits.onDenied === undefined) return answer(response, told)
    const { statusCode } = response
    // The status of an answer of its own, unless it sets one.
    response.statusCode = told.status
    const admit = (/** @type {any} */ error) => {
      if (response.statusCode === told.status) response.statusCode = statusCode
      next(error)
    }
    try {
      await limits.onDenied(decision, request, response, admit)
    } catch (error) {
      next(withStatus(error, told.status))
    }
  }
}

module.exports = { QuotalockStore, rateLimit }
