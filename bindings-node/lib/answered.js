'use strict'

// Answers that the native half gives as plain objects (src/answers/values.rs), each made one of its class. Lists in them
// are copied: test environments have a realm of their own, and these arrays are not of it.

const { notByNew } = require('./inbox.js')

/** What callers do not construct. */
class Answered {
  constructor() {
    throw notByNew(new.target)
  }
}

/**
 * An answer of a class, made of a plain object.
 * @param {Function} type
 * @param {object} fields
 * @returns {any}
 */
function answered(type, fields) {
  return Object.setPrototypeOf(fields, type.prototype)
}

module.exports = { Answered, answered }
