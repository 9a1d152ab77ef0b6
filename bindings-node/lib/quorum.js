'use strict'

// Locks over several servers.

const native = require('./native.js')
const { refusal } = require('./argument.js')
const { nativeOf } = require('./client.js')
const { open } = require('./lock.js')

/** @type {typeof import('../index.js').quorumLock} */
async function quorumLock(clients, name, given) {
  if (!Array.isArray(clients)) throw refusal('clients', clients, 'an array of clients')
  const all = clients.map(nativeOf)
  /** @type {import('./native.js').Client['lock']} */
  const lock = (_kind, names, _permits, _weight, how) => native.quorumLock(all, /** @type {Buffer} */ (names[0]), how)
  return open({ lock }, quorumLock, 'quorum', [name], given)
}

module.exports = { quorumLock }
