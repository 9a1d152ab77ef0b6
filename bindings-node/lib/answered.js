'use strict'

// Answers that the native half gives as plain objects (src/answers/values.rs), each as one of its class. Lists in them are
// copied: they are arrays of the caller's realm then, which test environments have of their own.

const { notByNew } = require('./inbox.js')

/** What callers do not construct. */
class Answered {
  constructor() {
    throw notByNew(new.target)
  }
}

/**
 * An answer of a class with these fields.
 * @param {Function} type
 * @param {object} fields
 * @returns {any}
 */
function answered(type, fields) {
  return Object.assign(Object.create(type.prototype), fields)
}

module.exports = { Answered, answered }
