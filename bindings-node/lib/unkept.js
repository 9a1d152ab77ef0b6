'use strict'

// Warns of what was collected as garbage while it was held.

const { hasChannel } = require('./native.js')

/** @typedef {{ letGo(): string | null }} Held what knows whether it is held; lets it go and says what to warn of */

/** How many different warnings there are at most: whoever drops every lock shall not fill the log with it. */
const MOST = 100

/** @type {Set<string>} */
const told = new Set()

const registry = new FinalizationRegistry((/** @type {Held} */ held) => {
  if (!hasChannel()) return
  const message = held.letGo()
  if (message === null || told.has(message) || told.size === MOST) return
  told.add(message)
  process.emitWarning(message, { type: 'QuotalockWarning', code: 'QUOTALOCK_UNKEPT' })
})

/**
 * Warns if something is held when nobody has its `owner` any more.
 * @param {object} owner
 * @param {Held} held
 */
function mind(owner, held) {
  registry.register(owner, held)
}

module.exports = { mind }
