'use strict'

// What a limiter answers, read from the numbers that the native half writes (src/answers/mod.rs).

const { inbox, notByNew } = require('./inbox.js')
const { sources } = require('./native.js')

/** @type {Record<number, any>} */
const SOURCES = sources()
/** How many numbers a rule has. */
const WIDTH = 5

/** @typedef {import('./inbox.js').Numbers} Numbers */

class RuleDecision {
  /**
   * @param {Numbers} numbers
   * @param {number} at
   */
  constructor(numbers, at) {
    if (numbers !== inbox) throw notByNew(RuleDecision)
    this.allowed = numbers[at] === 1
    this.limit = numbers[at + 1]
    this.remaining = numbers[at + 2]
    const retryAfterMs = numbers[at + 3]
    this.retryAfterMs = retryAfterMs < 0 ? null : retryAfterMs
    this.resetAfterMs = numbers[at + 4]
  }
}

class Decision {
  /**
   * @param {Numbers} numbers
   * @param {number} at
   * @param {number} end
   */
  constructor(numbers, at, end) {
    if (numbers !== inbox) throw notByNew(Decision)
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
}

class CombinedDecision {
  /**
   * @param {Numbers} numbers
   * @param {number} at
   * @param {number} end
   */
  constructor(numbers, at, end) {
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
      decisions.push(new Decision(numbers, size + 1, size + 1 + numbers[size]))
    }
    this.decisions = decisions
  }
}

module.exports = { CombinedDecision, Decision, RuleDecision }
