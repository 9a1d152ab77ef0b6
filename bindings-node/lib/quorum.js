'use strict'

// Locks over several servers.

const { refusal } = require('./argument.js')
const { nativeOf, onLostOf } = require('./client.js')
const { open } = require('./lock.js')

/** @type {typeof import('../index.js').quorumLock} */
async function quorumLock(clients, name, given) {
  if (!Array.isArray(clients)) throw refusal('clients', clients, 'an array of clients')
  const natives = clients.map(nativeOf)
  const onLost = natives.length === 0 ? undefined : onLostOf(clients[0])
  return open({ clients: natives, onLost }, quorumLock, 'quorum', [name], given)
}

module.exports = { quorumLock }
