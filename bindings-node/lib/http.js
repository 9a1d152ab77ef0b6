'use strict'

// What the packages for web frameworks read of a request, and what they write to its answer.

const { STATUS_CODES } = require('node:http')

const PROBLEM_TYPE = 'application/problem+json'

/**
 * What a framework tells of a request.
 * @typedef {{ peer: string | null | undefined, header: (name: string) => string | string[] | null | undefined }} Caller
 */

/**
 * What a request of Node's own tells.
 * @param {{ socket?: { remoteAddress?: string }, headers: Record<string, any> }} request
 * @returns {Caller}
 */
function callerOf(request) {
  return { peer: request.socket?.remoteAddress, header: (name) => request.headers[name] }
}

/**
 * What a request of the Fetch standard tells.
 * @param {{ headers: { get(name: string): string | null } }} request
 * @param {string} [peer]
 * @returns {Caller}
 */
function fetchedBy(request, peer) {
  return { peer, header: (name) => request.headers.get(name) }
}

/** Fields whose values are lists: what others wrote there stays. */
const LISTS = ['RateLimit-Policy', 'RateLimit', 'Access-Control-Expose-Headers']

/**
 * Sets header fields of an answer; what other limits of the same request told stays.
 * @param {string[]} fields names and values by turns
 * @param {(name: string) => any} get
 * @param {(name: string, value: string) => void} set
 */
function set(fields, get, set) {
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [name, value] = /** @type {[string, string]} */ ([fields[at], fields[at + 1]])
    const before = LISTS.includes(name) ? get(name) : undefined
    set(name, before === undefined ? value : `${before}, ${value}`)
  }
}

/**
 * Sets header fields of an answer of Node's own.
 * @param {{ getHeader(name: string): any, setHeader(name: string, value: string): void }} response
 * @param {string[]} fields names and values by turns
 */
function put(response, fields) {
  set(
    fields,
    (name) => response.getHeader(name),
    (name, value) => response.setHeader(name, value),
  )
}

/**
 * As `put`, of a reply of Fastify's, which keeps its own.
 * @param {any} reply
 * @param {string[]} fields names and values by turns
 */
function putReply(reply, fields) {
  set(
    fields,
    (name) => reply.getHeader(name),
    (name, value) => reply.header(name, value),
  )
}

/**
 * Answers a request with a problem, on a response of Node's own.
 * @param {any} response
 * @param {{ status: number, body: string }} told
 */
function answer(response, { status, body }) {
  response.statusCode = status
  response.setHeader('Content-Type', PROBLEM_TYPE)
  response.end(body)
}

/**
 * An error with a status, unless it has one, so that every framework answers with that: Express and Koa read `status`, Fastify
 * and Nest `statusCode`, Hono `getResponse`.
 * @param {any} error
 * @param {number} status
 * @param {Record<string, string>} [headers] those of the answer, where a framework would drop them
 */
function withStatus(error, status, headers) {
  if (typeof error !== 'object' || error === null || !Object.isExtensible(error)) return error
  if (error.status === undefined && error.statusCode === undefined && error.getResponse === undefined) {
    // Nest 12 takes the status only of an error with `expose`; the message stays here.
    Object.assign(error, { status, statusCode: status, expose: error.expose ?? false })
    const text = STATUS_CODES[status] ?? ''
    Object.defineProperty(error, 'getResponse', { value: () => new Response(text, { status }) })
  }
  if (headers !== undefined) error.headers = { ...headers, ...error.headers }
  return error
}

/**
 * Header fields as pairs.
 * @param {string[]} fields names and values by turns
 */
function* pairs(fields) {
  for (let at = 0; at + 1 < fields.length; at += 2) yield/** @type {[string, string]} */ ([fields[at], fields[at + 1]])
}

/**
 * A denied answer of the Fetch standard with the fields of the denial. One that says 200 has set no status: that is what a
 * Response says by itself.
 * @param {Response} response
 * @param {{ fields: string[], status: number }} told
 */
function denied(response, { fields, status }) {
  // A copy, since the headers of a redirection cannot be changed.
  const { body, statusText, headers } = response
  const copy = new Response(body, { status: response.status === 200 ? status : response.status, statusText, headers })
  for (const [field, value] of pairs(fields)) {
    if (LISTS.includes(field)) copy.headers.append(field, value)
    else copy.headers.set(field, value)
  }
  return copy
}

module.exports = { LISTS, PROBLEM_TYPE, answer, callerOf, denied, fetchedBy, pairs, put, putReply, withStatus }
