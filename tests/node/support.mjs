// What the tests share: the spec, the servers that the harness started, and names that no other test uses.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { Client } from 'quotalock'

export const ROOT = new URL('../../', import.meta.url)
const VECTORS = new URL('tests/spec/vectors/', ROOT)

/** @typedef {Record<string, any>} Case */

/** The cases of every vector file, by the file's name. */
export function vectors() {
  const names = readdirSync(VECTORS).filter((name) => name.endsWith('.json'))
  assert.ok(names.length > 0)
  /** @type {[string, Case[]][]} */
  const files = names.map((name) => [name, JSON.parse(readFileSync(new URL(name, VECTORS), 'utf8')).cases])
  return files
}

/** The surface of every language. @returns {Case} */
export function api() {
  return JSON.parse(readFileSync(new URL('tests/spec/api.json', ROOT), 'utf8'))
}

/** The servers by name. A missing one is a failure, not a skip. @returns {Record<string, string>} */
export function servers() {
  const given = process.env.QUOTALOCK_TEST_SERVERS
  assert.ok(given, 'QUOTALOCK_TEST_SERVERS is missing: run through `make test-node` or tests/harness/with_servers.py')
  const found = JSON.parse(given)
  assert.deepEqual(Object.keys(found).sort(), ['redis-6.2', 'redis-7.0', 'valkey-9.1'])
  return found
}

/** Every store a vector runs on: `memory` and the servers. */
export function stores() {
  return { memory: 'memory://', ...servers() }
}

/** The address of Redis 7.0. @returns {string} */
export function redis() {
  return /** @type {string} */ (servers()['redis-7.0'])
}

let prefixes = 0

/** A prefix that no other test of this run uses. */
export function freshPrefix() {
  return `t${process.pid}-${prefixes++}-node`
}

/**
 * A client with a prefix of its own. Tests share two cores with builds and other suites: an answer may take its time.
 * @param {string} url
 * @param {import('quotalock').ClientOptions} [options]
 */
export function client(url, options) {
  return new Client(url, { prefix: freshPrefix(), timeoutMs: 10_000, ...options })
}

/**
 * The bytes of a field that may be text or `<field>_hex`.
 * @param {Case} object
 * @param {string} field
 */
export function bytes(object, field) {
  if (typeof object[field] === 'string') return Buffer.from(object[field])
  return typeof object[`${field}_hex`] === 'string' ? Buffer.from(object[`${field}_hex`], 'hex') : undefined
}
