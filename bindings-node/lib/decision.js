'use strict'

// What a limiter answers, read from the numbers that the native half writes (src/answers.rs).

const { sources } = require('./native.js')

const SOURCES = sources()
/** How many numbers a rule has. */
const WIDTH = 5

class RuleDecision {
  /**
   * @param {Float64Array} numbers
   * @param {number} at
   */
  constructor(numbers, at) {
    this.allowed = numbers[at] === 1
    this.limit = /** @type {number} */ (numbers[at + 1])
    this.remaining = /** @type {number} */ (numbers[at + 2])
    const retryAfterMs = /** @type {number} */ (numbers[at + 3])
    this.retryAfterMs = retryAfterMs < 0 ? null : retryAfterMs
    this.resetAfterMs = /** @type {number} */ (numbers[at + 4])
  }
}

class Decision {
  /**
   * @param {Float64Array} numbers
   * @param {number} at
   * @param {number} end
   */
  constructor(numbers, at, end) {
    this.allowed = numbers[at] === 1
    this.limit = /** @type {number} */ (numbers[at + 1])
    this.remaining = /** @type {number} */ (numbers[at + 2])
    const retryAfterMs = /** @type {number} */ (numbers[at + 3])
    this.retryAfterMs = retryAfterMs < 0 ? null : retryAfterMs
    this.resetAfterMs = /** @type {number} */ (numbers[at + 4])
    this.cost = /** @type {number} */ (numbers[at + 5])
    this.source = /** @type {string} */ (SOURCES[/** @type {number} */ (numbers[at + 7])])
    this.healed = numbers[at + 6] === 1
    /** @type {RuleDecision[]} */
    const rules = []
    for (let rule = at + 8; rule < end; rule += WIDTH) rules.push(new RuleDecision(numbers, rule))
    this.rules = rules
  }
}

module.exports = { Decision, RuleDecision }
