'use strict'

// The calls whose answer has not come: each a number that stands for what settles its promise.

const { codes } = require('./native.js')
const { Decision } = require('./decision.js')
const { failure } = require('./errors.js')

/** Kinds of answers (src/answers.rs). */
const DECISION = 0
const FLAG = 1
const STORED = 2

const CODES = codes()

/** @typedef {(value: any) => void} Resolver */

/**
 * By number; the numbers that may be used again wait in `free`.
 * @type {Resolver[]}
 */
const resolvers = []
/** @type {number[]} */
const free = []

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

/** Takes a number for the promise that was just made with `executor`. */
function take() {
  const id = free.pop() ?? resolvers.length
  resolvers[id] = resolveNew
  return id
}

/**
 * Gives back the number of a call that will not be answered.
 * @param {number} id
 */
function release(id) {
  resolvers[id] = nobody
  free.push(id)
}

/**
 * Settles calls by their answers.
 * @param {import('./decision.js').Numbers} answers
 * @param {number} length how many numbers they are
 * @param {(number: number) => Buffer} text what they refer to
 */
function settle(answers, length, text) {
  for (let at = 0; at < length; at += answers[at]) {
    const id = answers[at + 1]
    const resolve = resolvers[id] ?? nobody
    release(id)
    if (answers[at + 2] === DECISION) resolve(new Decision(answers, at + 3, at + answers[at]))
    else if (resolve !== nobody) settleOther(resolve, answers, at, text)
  }
}

/**
 * Settles a call whose answer is no decision.
 * @param {Resolver} resolve
 * @param {import('./decision.js').Numbers} answers
 * @param {number} at
 * @param {(number: number) => Buffer} text
 */
function settleOther(resolve, answers, at, text) {
  const [kind, first, second, third] = [answers[at + 2], answers[at + 3], answers[at + 4], answers[at + 5]]
  if (kind === FLAG) return resolve(first === 1)
  if (kind === STORED) return resolve(first === 0 ? null : { value: text(third), ttlMs: second < 0 ? null : second })
  const end = at + answers[at]
  const decision = at + 5 < end ? new Decision(answers, at + 5, end) : undefined
  reject(resolve, CODES[first] ?? 'internal', text(second).toString(), decision)
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
  const abort = () => {
    resolvers[id] = nobody
    reject(signal.reason)
    takeBack(id)
  }
  others.add(abort)
  resolvers[id] = (value) => {
    others.delete(abort)
    resolve(value)
  }
}

/** @param {AbortSignal} signal */
function underSignal(signal) {
  const known = underSignals.get(signal)
  if (known !== undefined) return known
  /** @type {Set<() => void>} */
  const aborts = new Set()
  underSignals.set(signal, aborts)
  signal.addEventListener('abort', () => aborts.forEach((abort) => void abort()), { once: true })
  return aborts
}

module.exports = { executor, listen, release, settle, take }
