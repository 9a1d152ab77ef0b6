'use strict'

// What the packages for web frameworks read of a request, and what they write to its answer.

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

/**
 * Sets header fields of an answer of Node's own; what other limits of the same request told stays.
 * @param {{ getHeader(name: string): any, setHeader(name: string, value: string): void }} response
 * @param {string[]} fields names and values by turns
 */
function put(response, fields) {
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [name, value] = /** @type {[string, string]} */ ([fields[at], fields[at + 1]])
    const before = name.startsWith('RateLimit') ? response.getHeader(name) : undefined
    response.setHeader(name, before === undefined ? value : `${before}, ${value}`)
  }
}

/**
 * As `put`, of a reply of Fastify's, which keeps its own.
 * @param {any} reply
 * @param {string[]} fields names and values by turns
 */
function putReply(reply, fields) {
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [name, value] = /** @type {[string, string]} */ ([fields[at], fields[at + 1]])
    const before = name.startsWith('RateLimit') ? reply.getHeader(name) : undefined
    reply.header(name, before === undefined ? value : `${before}, ${value}`)
  }
}

/**
 * Header fields as pairs.
 * @param {string[]} fields names and values by turns
 */
function* pairs(fields) {
  for (let at = 0; at + 1 < fields.length; at += 2) yield/** @type {[string, string]} */ ([fields[at], fields[at + 1]])
}

module.exports = { PROBLEM_TYPE, callerOf, fetchedBy, pairs, put, putReply }
