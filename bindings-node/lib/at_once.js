'use strict'

// Decisions that this process makes without a call (src/at_once.rs).

const { Decision } = require('./decision.js')
const { instant } = require('./inbox.js')

/** How many calls are decided so before the loop turns: a loop of such calls must leave others their turn. */
const MOST = 512

/** How many were since the loop turned. */
let count = 0

/**
 * Decides a consume or require whose key begins the keys, if this process can.
 * @param {() => void} decider what decides
 * @param {import('./channel.js').Handle} limiter
 * @param {number} cost
 * @param {number} length of the key in bytes
 * @param {boolean} requires
 * @returns {import('../index.js').Decision | undefined}
 */
function decideAtOnce(decider, limiter, cost, length, requires) {
  if ((!limiter.inMemory && instant[0] === 0) || count === MOST) return undefined
  count++
  instant[1] = limiter.number
  instant[2] = cost
  instant[3] = length
  instant[4] = requires ? 1 : 0
  decider()
  const end = instant[1]
  return end === 0 ? undefined : new Decision(instant, 2, end, limiter.name)
}

/** Whether others must have their turn before more is decided so. */
function mustTurn() {
  return count === MOST
}

/** The loop has turned: others had their turn. */
function hasTurned() {
  count = 0
}

module.exports = { decideAtOnce, hasTurned, mustTurn }
