'use strict'

// What whoever makes a lock may say, of whatever kind it is.

const { flag, number, options, signalOf, text } = require('./argument.js')
const { failure } = require('./errors.js')

/**
 * The options that the core looks at, each with what tells its type, in the order in which it takes them (src/lock_options.rs).
 * @type {[string, (what: string, given: unknown) => unknown][]}
 */
const OF_THE_CORE = [
  ['ttlMs', number],
  ['fair', flag],
  ['renew', flag],
  ['maxHoldMs', number],
  ['tokenAbove', number],
  ['label', text],
  ['replicasAck', number],
  ['ackTimeoutMs', number],
  ['weight', number],
]
const OPTIONS = [...OF_THE_CORE.map(([name]) => name), 'waitMs', 'signal', 'acquire']

/** @param {string[]} lacking */
const allBut = (...lacking) => OPTIONS.filter((name) => !lacking.includes(name))

/**
 * What a kind of lock has.
 * @type {Record<string, readonly string[]>}
 */
const KNOWN = { semaphore: OPTIONS, quorum: allBut('weight', 'fair', 'replicasAck', 'ackTimeoutMs') }
const KNOWN_ELSE = allBut('weight')

/**
 * How a lock of a kind is made, and acquired.
 * @param {string} kind
 * @param {unknown} given
 */
function lockOptions(kind, given) {
  const all = options(given, KNOWN[kind] ?? KNOWN_ELSE)
  const { waitMs = 0, signal, acquire = true } = all
  if (!flag('acquire', acquire) && signal !== undefined) {
    throw failure('invalid_argument', 'signal ends an acquisition, and acquire is false: give it to lock.acquire()')
  }
  const core = OF_THE_CORE.map(([name, typed]) => {
    const value = all[name]
    return value === undefined ? undefined : typed(name, value)
  })
  return { wait: number('waitMs', waitMs), signal: signalOf(signal), acquire, core }
}

module.exports = { lockOptions }
