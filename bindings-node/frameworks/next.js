'use strict'

// For route handlers of Next's App Router, in the Node runtime.

const { refusal } = require('../lib/argument.js')
const { PROBLEM_TYPE, fetchedBy, pairs } = require('../lib/http.js')
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
    const decision = await limits.decide(fetchedBy, request, request, context)
    if (decision === null) return handler(request, context)
    const { fields, status, body } = limits.told(decision)
    const found = decision.allowed
      ? await handler(request, context)
      : limits.onDenied
        ? await limits.onDenied(decision, request, context)
        : refused(status, body)
    // A copy, since the headers of a redirection cannot be changed.
    const response = new Response(found.body, found)
    for (const [field, value] of pairs(fields)) response.headers.append(field, value)
    return response
  }
}

/**
 * @param {number} status
 * @param {string} body
 */
function refused(status, body) {
  return new Response(body, { status, headers: { 'Content-Type': PROBLEM_TYPE } })
}

module.exports = { rateLimit }
