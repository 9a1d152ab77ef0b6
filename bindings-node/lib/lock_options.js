'use strict'

// The options of a lock of any kind, as they were given: lock_makers.js has all of them.

const { flag, number, options, signalOf } = require('./argument.js')
const { failure } = require('./errors.js')
const { KNOWN, OF_THE_CORE } = require('./lock_makers.js')

/**
 * How a lock of a kind is made, and acquired.
 * @param {string} kind
 * @param {unknown} given
 */
function lockOptions(kind, given) {
  const all = options(given, KNOWN[kind] ?? KNOWN.lock)
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
