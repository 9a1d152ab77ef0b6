'use strict'

// The numbers of answers. What is made of others would be no answer, and may have no end.

const { failure } = require('./errors.js')

/** @typedef {Float64Array & Record<number, any>} Numbers read where they are known to be */

/**
 * Where the native half writes answers (src/answers/mod.rs). Nobody outside of this package has it. First it says where they end,
 * and whether there are more to collect.
 * @type {Numbers}
 */
const inbox = new Float64Array(16 << 10)
const [END, MORE, FIRST] = [0, 1, 2]

/**
 * What is decided at once (src/at_once.rs): a decision of as many rules as there can be, with two numbers in front, the first of which
 * also says, after every answer, whether there is a warning.
 * @type {Numbers}
 */
const instant = new Float64Array(2 + 9 + 10 * 9)

/**
 * Says that a class is none that callers construct.
 * @param {Function} type
 */
function notByNew(type) {
  return failure('invalid_argument', `a ${type.name} is what Quotalock answers with: it is not made by new`)
}

module.exports = { END, FIRST, inbox, instant, MORE, notByNew }
