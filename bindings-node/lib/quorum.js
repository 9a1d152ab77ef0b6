'use strict'

// Locks over several servers.

const { refusal } = require('./argument.js')
const { nativeOf } = require('./client.js')
const { open } = require('./lock.js')

/** @type {typeof import('../index.js').quorumLock} */
async function quorumLock(clients, name, given) {
  if (!Array.isArray(clients)) throw refusal('clients', clients, 'an array of clients')
  return open(clients.map(nativeOf), quorumLock, 'quorum', [name], given)
}

module.exports = { quorumLock }
