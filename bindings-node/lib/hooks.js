'use strict'

// Functions that a client tells what happened: `onDecision` and `onLost`.

const { inspect, types } = require('node:util')
const { refusal } = require('./argument.js')
const { unwatch, watch } = require('./channel.js')
const { failure } = require('./errors.js')
const { hasChannel } = require('./native.js')

/** @typedef {(decision: import('../index.js').Decision, key: import('../index.js').Key) => void} OnDecision */
/** @typedef {(lock: any) => void} OnLost */

/**
 * Such a function, if one is given. What would have to be awaited is refused: nobody would await it.
 * @param {string} what
 * @param {unknown} given
 * @returns {any}
 */
function hookOf(what, given) {
  if (given === undefined) return undefined
  if (typeof given !== 'function') throw refusal(what, given, 'a function')
  if (types.isAsyncFunction(given)) {
    throw failure('invalid_argument', `${what} is an async function, and is not awaited: give a plain function`)
  }
  return given
}

/**
 * Calls a function. What it throws changes nothing for its caller, and is a warning of the process.
 * @param {string} what
 * @param {() => void} call
 */
function tell(what, call) {
  try {
    call()
  } catch (error) {
    const warning = new Error(`${what} threw ${inspect(error)}`, { cause: error })
    process.emitWarning(Object.assign(warning, { name: 'QuotalockWarning', code: 'QUOTALOCK_HOOK' }))
  }
}

/**
 * Tells of a decision that charged or denied: a look does neither.
 * @param {OnDecision} onDecision
 * @param {import('../index.js').Decision} decision
 * @param {import('../index.js').Key} key
 */
function tellDecision(onDecision, decision, key) {
  if (decision.cost > 0 || !decision.allowed) tell('onDecision', () => onDecision(decision, key))
}

/**
 * Tells of each of several decisions that charged or denied: if the whole was denied, those that admitted charged nothing.
 * @param {OnDecision} onDecision
 * @param {import('../index.js').CombinedDecision} combined
 * @param {import('../index.js').Key[]} keys
 */
function tellDecisions(onDecision, combined, keys) {
  combined.decisions.forEach((decision, place) => {
    const key = /** @type {import('../index.js').Key} */ (keys[place])
    if (combined.allowed || !decision.allowed || decision.wouldDeny) tellDecision(onDecision, decision, key)
  })
}

/** Tells `onLost` of the loss of each grant of a lock, once. It does not keep the lock. */
class Losses {
  #onLost
  #native
  #lock
  #isTold = true
  /** @type {number | null} */
  #watch = null

  /**
   * @param {OnLost} onLost
   * @param {object} lock
   * @param {import('./native.js').Lock} native
   */
  constructor(onLost, lock, native) {
    this.#onLost = onLost
    this.#lock = new WeakRef(lock)
    this.#native = native
    owners.register(lock, this)
  }

  /** It was granted. */
  listen() {
    this.end()
    this.#isTold = false
    this.#watch = watch(this.#native, () => this.tell())
  }

  /** Tells a loss that the core has noticed and this thread has not heard of yet, and listens no more. */
  end() {
    if (this.#native.state === 'lost') this.tell()
    if (this.#watch !== null) unwatch(this.#watch)
    this.#watch = null
  }

  /** The present grant is lost. */
  tell() {
    const lock = this.#lock.deref()
    if (this.#isTold || lock === undefined) return
    this.#isTold = true
    // Not as a method: this object is nobody's to see.
    const onLost = this.#onLost
    tell('onLost', () => onLost(lock))
  }
}

const owners = new FinalizationRegistry((/** @type {Losses} */ losses) => {
  if (hasChannel()) losses.end()
})

module.exports = { Losses, hookOf, tellDecision, tellDecisions }
