// biome-ignore-all format: a table is read by its lines
'use strict'

// The options of the functions that make locks. Written from api/surface.toml by `python3 tools/api`.

const { flag, number, text } = require('./argument.js')

/**
 * The options that the core reads, each with what checks its type, in the order of `makeLock` (src/lock_makers.rs).
 * @type {readonly [string, (what: string, given: unknown) => unknown][]}
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

/**
 * All options of a kind of lock; those of a read-write lock are as of a lock.
 * @type {Record<string, readonly string[]> & { lock: readonly string[] }}
 */
const KNOWN = {
  lock: [
      'ttlMs', 'fair', 'renew', 'maxHoldMs', 'tokenAbove', 'label', 'replicasAck', 'ackTimeoutMs', 'waitMs',
      'signal', 'acquire'
  ],
  semaphore: [
      'ttlMs', 'fair', 'renew', 'maxHoldMs', 'tokenAbove', 'label', 'replicasAck', 'ackTimeoutMs', 'weight',
      'waitMs', 'signal', 'acquire'
  ],
  quorum: ['ttlMs', 'renew', 'maxHoldMs', 'tokenAbove', 'label', 'waitMs', 'signal', 'acquire'],
}

module.exports = { KNOWN, OF_THE_CORE }
