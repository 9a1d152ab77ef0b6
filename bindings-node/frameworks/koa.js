'use strict'

// For Koa: middleware.

const { PROBLEM_TYPE, callerOf, pairs, put, withStatus } = require('../lib/http.js')
const { Limits } = require('../lib/web.js')

/** @type {typeof import('./koa.js').rateLimit} */
function rateLimit(/** @type {any} */ name, /** @type {any} */ policy, /** @type {any} */ options) {
  const limits = new Limits('quotalock/koa', name, policy, options)
  return async (/** @type {any} */ context, /** @type {any} */ next) => {
    /** @type {import('../lib/web.js').Decided | null} */
    let decision
    try {
      decision = await limits.decide(callerOf, context.req, context.req, context)
    } catch (error) {
      const unfit = limits.unfit(error)
      if (unfit === undefined) throw error
      return answer(context, unfit)
    }
    if (decision === null) return next()
    const told = limits.told(decision)
    put(context.res, told.fields)
    if (!decision.allowed && limits.onDenied === undefined) return answer(context, told)
    // Koa drops the headers of an answer when something is thrown, but for those of the error.
    const headers = Object.fromEntries([...pairs(told.fields)].map(([field]) => [field, context.res.getHeader(field)]))
    if (decision.allowed) return withHeaders(next, headers)
    let isAdmitted = false
    context.status = told.status
    const admit = () => {
      isAdmitted = true
      // As it is before anything answers.
      context.res.statusCode = 404
      context.response._explicitStatus = false
      return withHeaders(next, headers)
    }
    try {
      return await limits.onDenied?.(decision, context, admit)
    } catch (error) {
      throw isAdmitted ? error : withStatus(error, told.status, headers)
    }
  }
}

/**
 * Goes on to what follows; what that throws keeps these headers.
 * @param {() => Promise<any>} next
 * @param {Record<string, any>} headers
 */
async function withHeaders(next, headers) {
  try {
    return await next()
  } catch (error) {
    if (error instanceof Error && Object.isExtensible(error)) {
      Object.assign(error, { headers: { ...headers, .../** @type {any} */ (error).headers } })
    }
    throw error
  }
}

/**
 * @param {any} context
 * @param {import('../lib/web.js').Told} told
 */
function answer(context, { status, body }) {
  context.status = status
  context.set('Content-Type', PROBLEM_TYPE)
  context.body = body
}

module.exports = { rateLimit }
