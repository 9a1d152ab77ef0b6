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
/** Asks for a problem (src/answers/http.rs). */
const PROBLEM = 1
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
    return fieldsOf(this, this.headers, given)
  }

  /** @type {import('../index.js').Decision['problem']} */
  problem() {
    return problemOf(this, this.problem)
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
    return fieldsOf(this, this.headers, given)
  }

  /** @type {import('../index.js').CombinedDecision['problem']} */
  problem() {
    return problemOf(this, this.problem)
  }
}

/**
 * The name of a decision, which an application may have changed.
 * @param {Decision} decision
 */
function nameOf({ name }) {
  return text('name', name)
}

/**
 * The number by which header fields are asked for: the core says if it does not know them.
 * @param {Function} caller
 * @param {Record<string, any>} given
 * @returns {number}
 */
function fieldsAsked(caller, { syntax = 'draft-11', legacy = false }) {
  const [name, both] = [text('syntax', syntax), flag('legacy', legacy)]
  return construct(caller, () => native.headerFields(name, both))
}

/**
 * Header fields, as an object.
 * @param {Decision | CombinedDecision} decision
 * @param {Function} caller
 * @param {unknown} given
 */
function fieldsOf(decision, caller, given) {
  const lines = linesOf(decision, caller, fieldsAsked(caller, options(given, HEADER_OPTIONS)))
  /** @type {Record<string, string>} */
  const object = {}
  for (let at = 0; at + 1 < lines.length; at += 2) {
    object[/** @type {string} */ (lines[at])] = /** @type {string} */ (lines[at + 1])
  }
  return object
}

/**
 * The body of a refusal, as an object.
 * @param {Decision | CombinedDecision} decision
 * @param {Function} caller
 */
function problemOf(decision, caller) {
  const [, json] = linesOf(decision, caller, PROBLEM)
  return JSON.parse(`${json}`)
}

/**
 * What a decision says over HTTP: header fields, names and values by turns, then the status and the JSON of its problem.
 * @param {Decision | CombinedDecision} decision
 * @param {Function} caller
 * @param {number} asked the number of the header fields, with `PROBLEM` added to it or alone
 */
function linesOf(decision, caller, asked) {
  const isOne = decision instanceof Decision
  const end = isOne ? written(decision, BEGIN) : writtenCombined(decision)
  outbox[0] = asked
  outbox[1] = end
  const names = isOne ? nameOf(decision) : decision.decisions.map(nameOf)
  const lines = construct(caller, () => teller(names))
  return lines === '' ? [] : lines.split('\n')
}

/** Where decisions are written for the native half, one at a time, behind what is asked for and where they end. */
let outbox = new Float64Array(256)
const BEGIN = 2
/** Tells what stands there. */
let teller = native.teller(outbox)

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
  outbox.set([Number(allowed), Number(wouldDeny), binding, retryAfterMs ?? -1, SOURCES.indexOf(source)], BEGIN)
  let size = BEGIN + 5
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
  teller = native.teller(outbox)
}

module.exports = { CombinedDecision, Decision, PROBLEM, RuleDecision, fieldsAsked, linesOf }
