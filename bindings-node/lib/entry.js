'use strict'

// What caches and `once` answer, read from the numbers that the native half writes (src/answers/flight.rs).

const { inbox, notByNew } = require('./inbox.js')

/** @typedef {import('./inbox.js').Numbers} Numbers */

/**
 * Where the numbers of an answer lead.
 * @typedef {object} Source
 * @property {(number: number) => Buffer} text
 * @property {(number: number) => import('./native.js').Ticket} ticket
 * @property {(number: number) => import('./native.js').Wait} wait
 * @property {(code: number, text: number) => Error} error
 */

/** @typedef {Buffer | null | import('./native.js').Ticket} Got */

/** The parts of answers. */
const FOUND = 0
const LOAD = 1
const FAILED = 2
const PART_WIDTH = 3

class Claimed {
  /**
   * @param {Numbers} numbers
   * @param {number} at
   * @param {Source} from
   */
  constructor(numbers, at, from) {
    if (numbers !== inbox) throw notByNew(Claimed)
    this.first = numbers[at] === 1
    this.running = numbers[at + 1] === 1
    this.remainingMs = numbers[at + 2]
    this.ageMs = numbers[at + 3]
    this.value = value(numbers[at + 4], from)
  }
}

class Seen {
  /**
   * @param {Numbers} numbers
   * @param {number} at
   * @param {Source} from
   */
  constructor(numbers, at, from) {
    if (numbers !== inbox) throw notByNew(Seen)
    this.value = value(numbers[at + 2], from)
    this.stale = numbers[at] === 1
    this.ageMs = numbers[at + 1]
  }
}

/**
 * A part of an answer: a value, the duty to load one, what another loads, or an error.
 * @param {Numbers} numbers
 * @param {number} at
 * @param {Source} from
 * @returns {Got | import('./native.js').Wait | Error}
 */
function part(numbers, at, from) {
  const [kind, first, second] = [numbers[at], numbers[at + 1], numbers[at + 2]]
  if (kind === FOUND) return value(first, from)
  if (kind === LOAD) return from.ticket(first)
  return kind === FAILED ? from.error(first, second) : from.wait(first)
}

/**
 * @param {Numbers} numbers
 * @param {number} at
 * @param {number} end
 * @param {Source} from
 */
function parts(numbers, at, end, from) {
  return Array.from({ length: (end - at) / PART_WIDTH }, (_, i) => part(numbers, at + i * PART_WIDTH, from))
}

/**
 * @param {number} number
 * @param {Source} from
 */
function value(number, from) {
  return number < 0 ? null : from.text(number)
}

module.exports = { Claimed, Seen, part, parts }
