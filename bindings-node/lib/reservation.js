'use strict'

// A reservation: an estimate that was charged, to be settled when the actual amount is known.

const { inspect } = require('node:util')
const native = require('./native.js')
const { number } = require('./argument.js')
const { submitDescribed } = require('./channel.js')
const { failure } = require('./errors.js')
const { mind } = require('./unkept.js')

/** @typedef {import('../index.js').Reservation} Surface */

class Reservation {
  #native
  #key
  #decision

  /**
   * @param {import('./native.js').Reservation} reservation
   * @param {string | Buffer} key
   * @param {import('../index.js').Decision | null} decision
   */
  constructor(reservation, key, decision) {
    if (!(reservation instanceof native.Reservation)) {
      throw failure('invalid_argument', 'a reservation is made by limiter.reserve(), not by new')
    }
    this.#native = reservation
    this.#key = key
    this.#decision = decision
    if (decision?.allowed) mind(this, reservation)
  }

  get key() {
    return this.#key
  }

  get id() {
    return this.#native.id
  }

  get decision() {
    return this.#decision
  }

  get allowed() {
    return this.#decision === null ? null : this.#decision.allowed
  }

  /** @type {Surface['settle']} */
  settle(actual) {
    try {
      const amount = number('actual', actual)
      return submitDescribed(this.settle, undefined, (channel) => channel.settle(this.#native, amount))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @type {Surface['cancel']} */
  cancel() {
    try {
      return submitDescribed(this.cancel, undefined, (channel) => channel.settle(this.#native))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  [inspect.custom]() {
    return `Reservation { key: ${inspect(this.#key)}, id: ${inspect(this.id)}, allowed: ${this.allowed} }`
  }
}

module.exports = { Reservation }
