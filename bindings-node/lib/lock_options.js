'use strict'

// What whoever makes a lock may say, of whatever kind it is.

const { flag, number, options, signalOf, text } = require('./argument.js')
const { failure } = require('./errors.js')

/**
 * The options that the core looks at, each with what tells its type.
 * @type {Record<string, (what: string, given: unknown) => unknown>}
 */
const OF_THE_CORE = {
  ttlMs: number,
  fair: flag,
  renew: flag,
  maxHoldMs: number,
  tokenAbove: number,
  label: text,
  replicasAck: number,
  ackTimeoutMs: number,
  weight: number,
}
const OPTIONS = [...Object.keys(OF_THE_CORE), 'waitMs', 'signal', 'acquire']

/**
 * What a kind of lock does not have.
 * @type {Record<string, readonly string[]>}
 */
const LACKING = { semaphore: [], quorum: ['weight', 'fair', 'replicasAck', 'ackTimeoutMs'] }
const LACKING_ELSE = ['weight']

/**
 * How a lock of a kind is made, and acquired.
 * @param {string} kind
 * @param {unknown} given
 */
function lockOptions(kind, given) {
  const lacking = LACKING[kind] ?? LACKING_ELSE
  const known = OPTIONS.filter((name) => !lacking.includes(name))
  const { waitMs = 0, signal, acquire = true, ...others } = options(given, known)
  if (!flag('acquire', acquire) && signal !== undefined) {
    throw failure('invalid_argument', 'signal ends an acquisition, and acquire is false: give it to lock.acquire()')
  }
  /** @type {Record<string, any>} */
  const core = {}
  for (const [name, value] of Object.entries(others)) {
    if (value !== undefined) core[name] = OF_THE_CORE[name]?.(name, value)
  }
  return { wait: number('waitMs', waitMs), signal: signalOf(signal), acquire, core }
}

module.exports = { lockOptions }
