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

const classes = {
  QuotalockError,
  InvalidArgumentError: class extends QuotalockError {
    static code = 'invalid_argument'
  },
  InvalidPolicyError: class extends QuotalockError {
    static code = 'invalid_policy'
  },
  UnavailableError: class extends QuotalockError {
    static code = 'unavailable'
  },
  TimeoutError: class extends QuotalockError {
    static code = 'timeout'
  },
  WrongTypeError: class extends QuotalockError {
    static code = 'wrong_type'
  },
  CrossSlotError: class extends QuotalockError {
    static code = 'cross_slot'
  },
  NotPermittedError: class extends QuotalockError {
    static code = 'not_permitted'
  },
  RateLimitedError: class extends QuotalockError {
    static code = 'limited'

    /**
     * @param {string} message
     * @param {import('../index.js').Decision} decision
     */
    constructor(message, decision) {
      super(message)
      this.decision = decision
    }
  },
  NotAcquiredError: class extends QuotalockError {
    static code = 'not_acquired'
  },
  LostError: class extends QuotalockError {
    static code = 'lost'
  },
  LoadFailedError: class extends QuotalockError {
    static code = 'load_failed'
  },
  ClosedError: class extends QuotalockError {
    static code = 'closed'
  },
  InternalError: class extends QuotalockError {},
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
  return new (byCode[code] ?? classes.InternalError)(message, decision)
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
