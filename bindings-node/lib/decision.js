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
/** How many numbers a rule has. */
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
    const rules = []
    for (let rule = at + 9; rule < end; rule += WIDTH) rules.push(new RuleDecision(numbers, rule))
    this.rules = rules
  }

  /** @type {import('../index.js').Decision['headers']} */
  headers(given) {
    return fields(this.headers, [this.name], written(this), false, given)
  }

  /** @type {import('../index.js').Decision['problem']} */
  problem() {
    return body(this.problem, [this.name], written(this), false)
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
    return fields(this.headers, this.decisions.map(nameOf), writtenCombined(this), true, given)
  }

  /** @type {import('../index.js').CombinedDecision['problem']} */
  problem() {
    return body(this.problem, this.decisions.map(nameOf), writtenCombined(this), true)
  }
}

/** @param {Decision} decision */
function nameOf({ name }) {
  return name
}

/**
 * Header fields, as an object.
 * @param {Function} caller
 * @param {string[]} names
 * @param {number[]} numbers
 * @param {boolean} combined
 * @param {unknown} given
 */
function fields(caller, names, numbers, combined, given) {
  const { syntax = 'draft-11', legacy = false } = options(given, HEADER_OPTIONS)
  const how = /** @type {const} */ ([text('syntax', syntax), flag('legacy', legacy)])
  const found = construct(caller, () => native.headers(names, numbers, combined, ...how))
  /** @type {Record<string, string>} */
  const object = {}
  for (let at = 0; at < found.length; at += 2) {
    object[/** @type {string} */ (found[at])] = /** @type {string} */ (found[at + 1])
  }
  return object
}

/**
 * The body of a refusal.
 * @param {Function} caller
 * @param {string[]} names
 * @param {number[]} numbers
 * @param {boolean} combined
 */
function body(caller, names, numbers, combined) {
  const [type, title, status, detail, ...violated] = /** @type {[string, string, string, string, ...string[]]} */ (
    construct(caller, () => native.problem(names, numbers, combined))
  )
  return { type, title, status: Number(status), detail, 'violated-policies': violated }
}

/**
 * What decisions and rules have in common, as it was read.
 * @param {Decision | RuleDecision} of
 */
function five({ allowed, limit, remaining, retryAfterMs, resetAfterMs }) {
  return [Number(allowed), limit, remaining, retryAfterMs ?? -1, resetAfterMs]
}

/**
 * The numbers of a decision, as they were read.
 * @param {Decision} decision
 */
function written(decision) {
  const { cost, healed, source, wouldDeny, rules } = decision
  const numbers = [...five(decision), cost, Number(healed), SOURCES.indexOf(source), Number(wouldDeny)]
  for (const rule of rules) {
    numbers.push(...five(rule), ALGORITHMS.indexOf(rule.algorithm), rule.quota, rule.periodMs, rule.capacity)
  }
  return numbers
}

/**
 * The numbers of a decision about several keys, as they were read.
 * @param {CombinedDecision} decision
 */
function writtenCombined({ allowed, wouldDeny, binding, retryAfterMs, source, decisions }) {
  const numbers = [Number(allowed), Number(wouldDeny), binding, retryAfterMs ?? -1, SOURCES.indexOf(source)]
  for (const decision of decisions.map(written)) numbers.push(decision.length, ...decision)
  return numbers
}

module.exports = { CombinedDecision, Decision, RuleDecision }
