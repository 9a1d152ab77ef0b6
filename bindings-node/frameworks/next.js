'use strict'

// For route handlers of Next's App Router, in the Node runtime.

const { refusal } = require('../lib/argument.js')
const { PROBLEM_TYPE, denied, fetchedBy, pairs } = require('../lib/http.js')
const { Limits, at } = require('../lib/web.js')

const PLACE = 'quotalock/next'

/** @type {typeof import('./next.js').rateLimit} */
function rateLimit(/** @type {any} */ name, /** @type {any} */ policy, /** @type {any} */ options) {
  const several = Array.isArray(name)
  const given = (several ? policy : options) ?? {}
  const all = several ? name : [given]
  if (given.trusted === undefined && all.some((one) => one?.key === undefined)) {
    at(PLACE, () => {
      throw refusal(
        'trusted',
        undefined,
        'the proxies before Next, which tell the address of a client, or a key function',
      )
    })
  }
  // A handler is not told the socket. Who set the header last is the proxy before Next, so it takes the socket's place.
  const how = given.trusted === undefined ? given : { ...given, trusted: ['unix', ...given.trusted] }
  const limits = several ? new Limits(PLACE, name, how, undefined) : new Limits(PLACE, name, policy, how)
  return (/** @type {any} */ handler) => async (/** @type {any} */ request, /** @type {any} */ context) => {
    /** @type {import('../lib/web.js').Decided | null} */
    let decision
    try {
      decision = await limits.decide(fetchedBy, request, request, request, context)
    } catch (error) {
      const unfit = limits.unfit(error)
      if (unfit === undefined) throw error
      return problem(unfit)
    }
    if (decision === null) return handler(request, context)
    const told = limits.told(decision)
    if (!decision.allowed) {
      return denied((await limits.onDenied?.(decision, request, context)) ?? problem(told), told)
    }
    const found = await handler(request, context)
    // A copy, since the headers of a redirection cannot be changed.
    const response = new Response(found.body, found)
    for (const [field, value] of pairs(told.fields)) response.headers.append(field, value)
    return response
  }
}

/** @param {import('../lib/web.js').Told} told */
function problem({ status, body }) {
  return new Response(body, { status, headers: { 'Content-Type': PROBLEM_TYPE } })
}

module.exports = { rateLimit }
