'use strict'

// Who holds a lock, read from the numbers that the native half writes (src/answers.rs).

const { inbox, notByNew } = require('./inbox.js')

/** How many numbers a holder has. */
const WIDTH = 7

/** @typedef {import('./inbox.js').Numbers} Numbers */

class Holder {
  /**
   * @param {Numbers} numbers
   * @param {number} at
   * @param {(number: number) => Buffer} text
   */
  constructor(numbers, at, text) {
    if (numbers !== inbox) throw notByNew(Holder)
    this.host = text(numbers[at]).toString()
    this.pid = numbers[at + 1]
    this.label = text(numbers[at + 2]).toString()
    this.token = numbers[at + 3]
    this.permits = numbers[at + 4]
    this.sinceMs = numbers[at + 5]
    this.untilMs = numbers[at + 6]
  }
}

class Inspection {
  /**
   * @param {Numbers} numbers
   * @param {number} at
   * @param {number} end
   * @param {(number: number) => Buffer} text
   */
  constructor(numbers, at, end, text) {
    if (numbers !== inbox) throw notByNew(Inspection)
    this.token = numbers[at]
    this.waiters = numbers[at + 1]
    this.healed = numbers[at + 2] === 1
    /** @type {Holder[]} */
    const holders = []
    for (let holder = at + 3; holder < end; holder += WIDTH) holders.push(new Holder(numbers, holder, text))
    this.holders = holders
  }
}

module.exports = { Holder, Inspection }
