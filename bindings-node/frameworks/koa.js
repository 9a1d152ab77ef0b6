'use strict'

// For Koa: middleware.

const { Limits, callerOf, put } = require('../lib/web.js')

/** @type {typeof import('./koa.js').rateLimit} */
function rateLimit(/** @type {any} */ name, /** @type {any} */ policy, /** @type {any} */ options) {
  const limits = new Limits('quotalock/koa', name, policy, options)
  return async (/** @type {any} */ context, /** @type {any} */ next) => {
    const answer = await limits.decide(callerOf(context.req), context)
    if (answer) put(context.res, answer.headers)
    if (!answer?.refusal) return next()
    if (limits.onDenied) return limits.onDenied(answer.decision, context, next)
    context.status = answer.refusal.status
    context.set('Content-Type', answer.refusal.headers['Content-Type'])
    context.body = answer.refusal.body
  }
}

module.exports = { rateLimit }
