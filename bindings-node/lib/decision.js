'use strict'

// What a limiter answers, read from the numbers that the native half writes (src/answers/mod.rs).

const native = require('./native.js')
const { flag, options, text } = require('./argument.js')
const { construct } = require('./errors.js')
const { inbox, instant, notByNew } = require('./inbox.js')

/** @type {any[]} */
const SOURCES = native.sources()
/** @type {any[]} */
const ALGORITHMS = native.algorithms()
/** How many numbers a rule has, and the whole of a decision. */
const WIDTH = 9
const HEADER_OPTIONS = ['syntax', 'legacy']

/** @typedef {import('./inbox.js').Numbers} Numbers */

class RuleDecision {
  /**
   * @param {Numbers} numbers
   * @param {number} at
   */
  constructor(numbers, at) {
    if (numbers !== inbox && numbers !== instant) throw notByNew(RuleDecision)
    this.allowed = numbers[at] === 1
    this.limit = numbers[at + 1]
    this.remaining = numbers[at + 2]
    const retryAfterMs = numbers[at + 3]
    this.retryAfterMs = retryAfterMs < 0 ? null : retryAfterMs
    this.resetAfterMs = numbers[at + 4]
    this.algorithm = ALGORITHMS[numbers[at + 5]]
    this.quota = numbers[at + 6]
    this.periodMs = numbers[at + 7]
    this.capacity = numbers[at + 8]
  }
}

class Decision {
  /**
   * @param {Numbers} numbers
   * @param {number} at
   * @param {number} end
   * @param {string} name
   */
  constructor(numbers, at, end, name) {
    if (numbers !== inbox && numbers !== instant) throw notByNew(Decision)
    this.name = name
    this.allowed = numbers[at] === 1
    this.wouldDeny = numbers[at + 8] === 1
    this.limit = numbers[at + 1]
    this.remaining = numbers[at + 2]
    const retryAfterMs = numbers[at + 3]
    this.retryAfterMs = retryAfterMs < 0 ? null : retryAfterMs
    this.resetAfterMs = numbers[at + 4]
    this.cost = numbers[at + 5]
    this.source = SOURCES[numbers[at + 7]]
    this.healed = numbers[at + 6] === 1
    /** @type {RuleDecision[]} */
    // Made with its first rule: an array that grows from nothing takes longer, and room for 17.
    const rules = at + WIDTH < end ? [new RuleDecision(numbers, at + WIDTH)] : []
    for (let rule = at + 2 * WIDTH; rule < end; rule += WIDTH) rules.push(new RuleDecision(numbers, rule))
    this.rules = rules
  }

  /** @type {import('../index.js').Decision['headers']} */
  headers(given) {
    return fieldsOf(this.headers, this.name, written(this, 0), given)
  }

  /** @type {import('../index.js').Decision['problem']} */
  problem() {
    return body(this.problem, this.name, written(this, 0))
  }
}

class CombinedDecision {
  /**
   * @param {Numbers} numbers
   * @param {number} at
   * @param {number} end
   * @param {string[]} names
   */
  constructor(numbers, at, end, names) {
    if (numbers !== inbox) throw notByNew(CombinedDecision)
    this.allowed = numbers[at] === 1
    this.wouldDeny = numbers[at + 1] === 1
    this.binding = numbers[at + 2]
    const retryAfterMs = numbers[at + 3]
    this.retryAfterMs = retryAfterMs < 0 ? null : retryAfterMs
    this.source = SOURCES[numbers[at + 4]]
    /** @type {Decision[]} */
    const decisions = []
    for (let size = at + 5; size < end; size += 1 + numbers[size]) {
      const name = /** @type {string} */ (names[decisions.length])
      decisions.push(new Decision(numbers, size + 1, size + 1 + numbers[size], name))
    }
    this.decisions = decisions
  }

  /** @type {import('../index.js').CombinedDecision['headers']} */
  headers(given) {
    return fieldsOf(this.headers, this.decisions.map(nameOf), writtenCombined(this), given)
  }

  /** @type {import('../index.js').CombinedDecision['problem']} */
  problem() {
    return body(this.problem, this.decisions.map(nameOf), writtenCombined(this))
  }
}

/** @param {Decision} decision */
function nameOf({ name }) {
  return name
}

/**
 * Header fields, as an object.
 * @param {Function} caller
 * @param {string | string[]} names
 * @param {number} length
 * @param {unknown} given
 */
function fieldsOf(caller, names, length, given) {
  const { syntax = 'draft-11', legacy = false } = options(given, HEADER_OPTIONS)
  const lines = linesOf(caller, names, length, text('syntax', syntax), flag('legacy', legacy))
  /** @type {Record<string, string>} */
  const object = {}
  for (let at = 0; at + 1 < lines.length; at += 2) {
    object[/** @type {string} */ (lines[at])] = /** @type {string} */ (lines[at + 1])
  }
  return object
}

/**
 * Header fields: names and values by turns.
 * @param {Function} caller
 * @param {string | string[]} names
 * @param {number} length how many numbers are written
 * @param {string} syntax
 * @param {boolean} legacy
 */
function linesOf(caller, names, length, syntax, legacy) {
  const lines = construct(caller, () => native.headers(names, outbox, length, syntax, legacy))
  return lines === '' ? [] : lines.split('\n')
}

/**
 * The header fields of a decision, whose options were looked at before: names and values by turns.
 * @param {Decision | CombinedDecision} decision
 * @param {{ syntax: string, legacy: boolean }} how
 */
function fieldLines(decision, { syntax, legacy }) {
  return decision instanceof Decision
    ? linesOf(fieldLines, decision.name, written(decision, 0), syntax, legacy)
    : linesOf(fieldLines, decision.decisions.map(nameOf), writtenCombined(decision), syntax, legacy)
}

/**
 * The body of a refusal.
 * @param {Function} caller
 * @param {string | string[]} names
 * @param {number} length
 */
function body(caller, names, length) {
  const [type, title, status, detail, ...violated] = /** @type {[string, string, string, string, ...string[]]} */ (
    construct(caller, () => native.problem(names, outbox, length))
  )
  return { type, title, status: Number(status), detail, 'violated-policies': violated }
}

/** Where decisions are written for the native half, one at a time. */
let outbox = new Float64Array(256)

/**
 * Writes what decisions and rules have in common, as it was read.
 * @param {Decision | RuleDecision} of
 * @param {number} at
 */
function five({ allowed, limit, remaining, retryAfterMs, resetAfterMs }, at) {
  outbox[at] = Number(allowed)
  outbox[at + 1] = limit
  outbox[at + 2] = remaining
  outbox[at + 3] = retryAfterMs ?? -1
  outbox[at + 4] = resetAfterMs
}

/**
 * Writes the numbers of a decision, as they were read, and tells where they end.
 * @param {Decision} decision
 * @param {number} at
 */
function written(decision, at) {
  const { cost, healed, source, wouldDeny, rules } = decision
  const end = at + WIDTH * (1 + rules.length)
  if (end > outbox.length) grow(end)
  five(decision, at)
  outbox[at + 5] = cost
  outbox[at + 6] = Number(healed)
  outbox[at + 7] = SOURCES.indexOf(source)
  outbox[at + 8] = Number(wouldDeny)
  for (const rule of rules) {
    at += WIDTH
    five(rule, at)
    outbox[at + 5] = ALGORITHMS.indexOf(rule.algorithm)
    outbox[at + 6] = rule.quota
    outbox[at + 7] = rule.periodMs
    outbox[at + 8] = rule.capacity
  }
  return end
}

/**
 * Writes the numbers of a decision about several keys, as they were read, and tells where they end.
 * @param {CombinedDecision} decision
 */
function writtenCombined({ allowed, wouldDeny, binding, retryAfterMs, source, decisions }) {
  outbox.set([Number(allowed), Number(wouldDeny), binding, retryAfterMs ?? -1, SOURCES.indexOf(source)])
  let size = 5
  for (const decision of decisions) {
    const end = written(decision, size + 1)
    outbox[size] = end - size - 1
    size = end
  }
  return size
}

/**
 * Makes room for more numbers.
 * @param {number} wanted
 */
function grow(wanted) {
  const longer = new Float64Array(2 * wanted)
  longer.set(outbox)
  outbox = longer
}

module.exports = { CombinedDecision, Decision, RuleDecision, fieldLines }
