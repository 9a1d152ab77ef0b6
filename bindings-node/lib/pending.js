'use strict'

// The calls whose answer has not come: each a number, never used twice, that stands for what settles its promise.

const { Kind } = require('./native.js')
const { CombinedDecision, Decision } = require('./decision.js')
const { failure, kept } = require('./errors.js')
const { END, FIRST } = require('./inbox.js')

const [DECISION, COMBINED, FLAG, VALUE] = [Kind.Decision, Kind.Combined, Kind.Flag, Kind.Value]

/**
 * What answers refer to, by its place among them.
 * @typedef {(place: number) => any} Values
 */
/** @typedef {(value: any) => void} Resolver */

/**
 * A number is `generation * SLOTS + slot` and never comes twice: the core may be told to take a call back when its answer
 * lies here already, and must then find no other call under its number. Bit operations see the slot, as they see the low
 * bits of any whole number.
 */
const SLOTS = 2 ** 26

/**
 * By slot; the slots that may be used again wait in `free`.
 * @type {Resolver[]}
 */
const resolvers = []
/**
 * By slot: the number of its call, or of its next one if it waits.
 * @type {number[]}
 */
const ids = []
/** @type {number[]} */
const free = []
/**
 * By slot: the name of the limiter that the call is of; of a call of several their names, in the order of its charges.
 * @type {any[]}
 */
const names = []

/** @type {Resolver} */
let resolveNew = nobody
/** @type {Resolver} */
let rejectNew = nobody

/** Settles nobody's call: the caller is gone. */
function nobody() {}

/**
 * One function for all promises: a closure for each would cost more than the rest of the call.
 * @param {Resolver} resolve
 * @param {Resolver} reject
 */
function executor(resolve, reject) {
  resolveNew = resolve
  rejectNew = reject
}

/** @param {number} id */
function slotOf(id) {
  return id & (SLOTS - 1)
}

/**
 * Takes a number for the promise that was just made with `executor`.
 * @param {string | string[]} [named] whose decision is asked for
 */
function take(named) {
  const slot = free.pop() ?? grow()
  resolvers[slot] = resolveNew
  names[slot] = named
  return /** @type {number} */ (ids[slot])
}

/** How many calls are under way. */
function underWay() {
  return ids.length - free.length
}

/** Makes a slot. */
function grow() {
  if (ids.length === SLOTS) throw failure('internal', `there are ${SLOTS} calls under way`)
  return ids.push(ids.length) - 1
}

/**
 * Gives back the number of a call that is answered, or will not be, and returns what settles it.
 * @param {number} id
 */
function release(id) {
  const slot = slotOf(id)
  const resolve = resolvers[slot]
  if (resolve === undefined || ids[slot] !== id) return nobody
  resolvers[slot] = nobody
  const next = id + SLOTS
  ids[slot] = next
  // A slot whose numbers are used up rests.
  if (next <= Number.MAX_SAFE_INTEGER) free.push(slot)
  return resolve
}

/**
 * Settles calls by their answers, and tells how many these are.
 * @param {import('./inbox.js').Numbers} answers
 * @param {Values} valueAt
 */
function settle(answers, valueAt) {
  let count = 0
  const end = answers[END]
  for (let at = FIRST; at < end; at += answers[at]) {
    const named = names[slotOf(answers[at + 1])]
    const resolve = release(answers[at + 1])
    if (answers[at + 2] === DECISION) resolve(new Decision(answers, at + 3, at + answers[at], named))
    else if (resolve !== nobody) settleSafely(resolve, answers, at, named, valueAt)
    count++
  }
  return count
}

/**
 * Settles a call whose answer is no decision. Whatever goes wrong is that call's error: those behind it are answered too.
 * @param {Resolver} resolve
 * @param {import('./inbox.js').Numbers} answers
 * @param {number} at
 * @param {any} named
 * @param {Values} valueAt
 */
function settleSafely(resolve, answers, at, named, valueAt) {
  try {
    settleOther(resolve, answers, at, named, valueAt)
  } catch (error) {
    resolve(Promise.reject(error))
  }
}

/**
 * Settles a call whose answer is no decision.
 * @param {Resolver} resolve
 * @param {import('./inbox.js').Numbers} answers
 * @param {number} at
 * @param {any} named
 * @param {Values} valueAt
 */
function settleOther(resolve, answers, at, named, valueAt) {
  const [kind, first, end] = [answers[at + 2], answers[at + 3], at + answers[at]]
  if (kind === FLAG) return resolve(first === 1)
  if (kind === VALUE) return resolve(valueAt(first))
  if (kind === COMBINED) return resolve(new CombinedDecision(answers, at + 3, end, named))
  const { code, message, thrown } = valueAt(first)
  for (const original of kept(thrown)) return resolve(Promise.reject(original))
  reject(resolve, code, message, at + 4 < end ? new Decision(answers, at + 4, end, named) : undefined)
}

/**
 * Rejects a call. An error made here would know nothing of the caller; one made in a reaction that the caller awaits
 * has the caller in its stack, and costs nothing while all goes well.
 * @param {Resolver} resolve
 * @param {string} code
 * @param {string} message
 * @param {import('../index.js').Decision} [decision]
 */
function reject(resolve, code, message, decision) {
  let open = nobody
  const gate = new Promise((resolve) => {
    open = () => resolve(undefined)
  })
  const fail = () => {
    const error = failure(code, message, decision)
    Error.captureStackTrace(error, fail)
    throw error
  }
  resolve(gate.then(fail))
  open()
}

/**
 * What happens to the calls under a signal when it fires. One listener for all of them: Node warns of many.
 * @type {WeakMap<AbortSignal, Set<() => void>>}
 */
const underSignals = new WeakMap()

/**
 * Rejects the call that was just given a number as soon as a signal fires, and has it taken back.
 * @param {AbortSignal} signal
 * @param {number} id
 * @param {(id: number) => void} takeBack
 */
function listen(signal, id, takeBack) {
  const [resolve, reject, others] = [resolveNew, rejectNew, underSignal(signal)]
  const slot = slotOf(id)
  const abort = () => {
    resolvers[slot] = nobody
    reject(signal.reason)
    takeBack(id)
  }
  others.add(abort)
  resolvers[slot] = (value) => {
    others.delete(abort)
    resolve(value)
  }
}

/**
 * Begins to listen to the signal of a call, before there is a call: one of a test environment's may throw.
 * @param {AbortSignal | undefined} signal
 */
function prepare(signal) {
  if (signal !== undefined) underSignal(signal)
}

/** @param {AbortSignal} signal */
function underSignal(signal) {
  const known = underSignals.get(signal)
  if (known !== undefined) return known
  /** @type {Set<() => void>} */
  const aborts = new Set()
  signal.addEventListener('abort', () => aborts.forEach((abort) => void abort()), { once: true })
  underSignals.set(signal, aborts)
  return aborts
}

module.exports = { executor, listen, prepare, release, settle, take, underWay }
