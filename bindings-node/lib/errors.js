'use strict'

// One class per kind of error, each with its stable code.

class QuotalockError extends Error {
  static code = 'internal'

  /** @param {string} [message] */
  constructor(message) {
    super(message)
    this.code = new.target.code
  }
}

class InvalidArgumentError extends QuotalockError {
  static code = 'invalid_argument'
}

class InvalidPolicyError extends QuotalockError {
  static code = 'invalid_policy'
}

class UnavailableError extends QuotalockError {
  static code = 'unavailable'
}

class TimeoutError extends QuotalockError {
  static code = 'timeout'
}

class WrongTypeError extends QuotalockError {
  static code = 'wrong_type'
}

class CrossSlotError extends QuotalockError {
  static code = 'cross_slot'
}

class NotPermittedError extends QuotalockError {
  static code = 'not_permitted'
}

class RateLimitedError extends QuotalockError {
  static code = 'limited'

  /**
   * @param {string} message
   * @param {import('../index.js').Decision} decision
   */
  constructor(message, decision) {
    super(message)
    this.decision = decision
  }
}

class NotAcquiredError extends QuotalockError {
  static code = 'not_acquired'
}

class LostError extends QuotalockError {
  static code = 'lost'
}

class LoadFailedError extends QuotalockError {
  static code = 'load_failed'
}

class ClosedError extends QuotalockError {
  static code = 'closed'
}

class InternalError extends QuotalockError {}

const classes = {
  QuotalockError,
  InvalidArgumentError,
  InvalidPolicyError,
  UnavailableError,
  TimeoutError,
  WrongTypeError,
  CrossSlotError,
  NotPermittedError,
  RateLimitedError,
  NotAcquiredError,
  LostError,
  LoadFailedError,
  ClosedError,
  InternalError,
}

/** @type {Record<string, new (message: string, decision?: any) => QuotalockError>} */
const byCode = {}
for (const [name, type] of Object.entries(classes)) {
  // As with the errors of JavaScript itself: on the prototype, and so in the first line of the stack.
  Object.defineProperty(type.prototype, 'name', { value: name, configurable: true, writable: true })
  byCode[type.code] = type
}

/**
 * Makes an error of the class of its code.
 * @param {string} code
 * @param {string} message
 * @param {import('../index.js').Decision} [decision]
 */
function failure(code, message, decision) {
  return new (byCode[code] ?? InternalError)(message, decision)
}

/**
 * Runs a constructor of the native half; what it throws becomes an error of ours, whose stack begins at `caller`.
 * @template T
 * @param {Function} caller
 * @param {() => T} construct
 */
function construct(caller, construct) {
  try {
    return construct()
  } catch (error) {
    const { code, message } = /** @type {{ code: string, message: string }} */ (error)
    const ours = failure(code, message)
    Error.captureStackTrace(ours, caller)
    throw ours
  }
}

module.exports = { classes, construct, failure }
