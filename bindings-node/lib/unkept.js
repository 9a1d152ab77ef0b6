'use strict'

// Warns of what was collected as garbage while it was held.

/** @typedef {{ letGo(): string | null }} Held what knows whether it is held; lets it go and says what to warn of */

const locks = new FinalizationRegistry((/** @type {Held} */ held) => {
  warn(held.letGo())
})

/**
 * One warning for each limiter: reservations may be many.
 * @type {Set<string>}
 */
const told = new Set()

const reservations = new FinalizationRegistry((/** @type {Held} */ held) => {
  const message = held.letGo()
  if (message === null || told.has(message)) return
  told.add(message)
  warn(message)
})

/** @param {string | null} message */
function warn(message) {
  if (message !== null) process.emitWarning(message, { type: 'QuotalockWarning', code: 'QUOTALOCK_UNKEPT' })
}

/**
 * Warns if a lock is held when nobody has its `owner` any more.
 * @param {object} owner
 * @param {Held} held
 */
function mindLock(owner, held) {
  locks.register(owner, held)
}

/**
 * As `mindLock`, for a reservation.
 * @param {object} owner
 * @param {Held} held
 */
function mindReservation(owner, held) {
  reservations.register(owner, held)
}

module.exports = { mindLock, mindReservation }
