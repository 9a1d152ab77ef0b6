'use strict'

// For Koa: middleware.

const { PROBLEM_TYPE, callerOf, put } = require('../lib/http.js')
const { Limits } = require('../lib/web.js')

/** @type {typeof import('./koa.js').rateLimit} */
function rateLimit(/** @type {any} */ name, /** @type {any} */ policy, /** @type {any} */ options) {
  const limits = new Limits('quotalock/koa', name, policy, options)
  return async (/** @type {any} */ context, /** @type {any} */ next) => {
    const decision = await limits.decide(callerOf, context.req, context)
    if (decision === null) return next()
    const { fields, status, body } = limits.told(decision)
    put(context.res, fields)
    if (decision.allowed) return next()
    if (limits.onDenied) return limits.onDenied(decision, context, next)
    context.status = status
    context.set('Content-Type', PROBLEM_TYPE)
    context.body = body
  }
}

module.exports = { rateLimit }
