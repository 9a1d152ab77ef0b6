'use strict'

// The calls whose answer has not come: each a number, never used twice, that stands for what settles its promise.

const { codes } = require('./native.js')
const { CombinedDecision, Decision } = require('./decision.js')
const { Claimed, Seen, part, parts } = require('./entry.js')
const { failure } = require('./errors.js')
const { Inspection } = require('./inspection.js')
const { Packed } = require('./packed.js')
const { StockPage, StockStatus, Taken, TakenAll, entries } = require('./sale.js')

/** Kinds of answers (src/answers/mod.rs). */
const DECISION = 0
const FLAG = 1
const STORED = 2
const COMBINED = 4
const INSPECTION = 5
const COUNT = 6
const LOST = 7
const TAKEN = 8
const TAKEN_ALL = 9
const STOCK_STATUS = 10
const STOCK_PAGE = 11
const LEDGER = 12
const CLAIMED = 13
const SEEN = 14
const GOT = 15
const PARTS = 16

/**
 * What is made of packed answers.
 * @type {Record<number, (packed: InstanceType<typeof Packed>) => unknown>}
 */
const UNPACK = {
  [TAKEN]: (packed) => new Taken(packed),
  [TAKEN_ALL]: (packed) => new TakenAll(packed),
  [STOCK_STATUS]: (packed) => new StockStatus(packed),
  [STOCK_PAGE]: (packed) => new StockPage(packed),
  [LEDGER]: entries,
}

const CODES = codes()

/** @typedef {(value: any) => void} Resolver */
/** @typedef {import('./entry.js').Source} Source */

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

/** Takes a number for the promise that was just made with `executor`. */
function take() {
  const slot = free.pop() ?? grow()
  resolvers[slot] = resolveNew
  return /** @type {number} */ (ids[slot])
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
 * Settles calls by their answers.
 * @param {import('./inbox.js').Numbers} answers
 * @param {number} length how many numbers they are
 * @param {Source} from what they refer to
 */
function settle(answers, length, from) {
  for (let at = 0; at < length; at += answers[at]) {
    const resolve = release(answers[at + 1])
    if (answers[at + 2] === DECISION) resolve(new Decision(answers, at + 3, at + answers[at]))
    else if (resolve !== nobody) settleSafely(resolve, answers, at, from)
  }
}

/**
 * Settles a call whose answer is no decision. Whatever goes wrong is that call's error: those behind it are answered too.
 * @param {Resolver} resolve
 * @param {import('./inbox.js').Numbers} answers
 * @param {number} at
 * @param {Source} from
 */
function settleSafely(resolve, answers, at, from) {
  try {
    settleOther(resolve, answers, at, from)
  } catch (error) {
    resolve(Promise.reject(error))
  }
}

/**
 * Settles a call whose answer is no decision.
 * @param {Resolver} resolve
 * @param {import('./inbox.js').Numbers} answers
 * @param {number} at
 * @param {Source} from
 */
function settleOther(resolve, answers, at, from) {
  const { text } = from
  const [kind, first, second, third] = [answers[at + 2], answers[at + 3], answers[at + 4], answers[at + 5]]
  if (kind === FLAG) return resolve(first === 1)
  if (kind === STORED) return resolve(first === 0 ? null : { value: text(third), ttlMs: second < 0 ? null : second })
  if (kind === COUNT) return resolve(first)
  if (kind === LOST) return resolve(undefined)
  const unpack = UNPACK[kind]
  if (unpack !== undefined) return resolve(unpack(new Packed(text(first))))
  if (kind === CLAIMED) return resolve(new Claimed(answers, at + 3, from))
  if (kind === SEEN) return resolve(first === 0 ? null : new Seen(answers, at + 4, from))
  if (kind === GOT) return resolve(part(answers, at + 3, from))
  const end = at + answers[at]
  if (kind === PARTS) return resolve(parts(answers, at + 3, end, from))
  if (kind === INSPECTION) return resolve(new Inspection(answers, at + 3, end, text))
  if (kind === COMBINED) return resolve(new CombinedDecision(answers, at + 3, end))
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

module.exports = { executor, listen, prepare, release, settle, take }
