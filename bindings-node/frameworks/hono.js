'use strict'

// For Hono on Node: middleware, and a store for hono-rate-limiter.

const { QuotalockStore } = require('../lib/hits.js')
const { LISTS, PROBLEM_TYPE, denied, fetchedBy, pairs, withStatus } = require('../lib/http.js')
const { Limits } = require('../lib/web.js')

/** @type {typeof import('./hono.js').rateLimit} */
function rateLimit(/** @type {any} */ name, /** @type {any} */ policy, /** @type {any} */ options) {
  const limits = new Limits('quotalock/hono', name, policy, options)
  return async (/** @type {any} */ context, /** @type {any} */ next) => {
    /** @type {import('../lib/web.js').Decided | null} */
    let decision
    try {
      // Another middleware may put another request into the context: the one of Node stays.
      decision = await limits.decide(callerOf, context, context.env?.incoming ?? context.req.raw, context)
    } catch (error) {
      const unfit = limits.unfit(error)
      if (unfit === undefined) throw error
      return answer(context, unfit)
    }
    if (decision === null) return next()
    const told = limits.told(decision)
    const admit = async () => {
      await next()
      // After the handler, which may answer with a Response of its own.
      putContext(context, told.fields)
    }
    if (decision.allowed) return admit()
    if (limits.onDenied === undefined) {
      putContext(context, told.fields)
      return answer(context, told)
    }
    let isAdmitted = false
    // The status of an answer of its own, unless it sets one.
    context.status(told.status)
    try {
      const response = await limits.onDenied(decision, context, () => {
        isAdmitted = true
        context.status(200)
        return admit()
      })
      return isAdmitted ? response : denied(response ?? answer(context, told), told)
    } catch (error) {
      if (isAdmitted) throw error
      putContext(context, told.fields)
      throw withStatus(error, told.status)
    }
  }
}

/**
 * Sets header fields of an answer; what others wrote into lists stays.
 * @param {any} context
 * @param {string[]} fields names and values by turns
 */
function putContext(context, fields) {
  for (const [field, value] of pairs(fields)) context.header(field, value, { append: LISTS.includes(field) })
}

/** @param {any} context */
function callerOf({ req, env }) {
  // What @hono/node-server tells of the socket.
  return fetchedBy(req.raw, env?.incoming?.socket?.remoteAddress)
}

/**
 * @param {any} context
 * @param {import('../lib/web.js').Told} told
 */
function answer(context, { status, body }) {
  return context.body(body, status, { 'Content-Type': PROBLEM_TYPE })
}

module.exports = { QuotalockStore, rateLimit }
