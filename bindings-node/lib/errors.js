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
  NewerVersionError: class extends QuotalockError {
    static code = 'newer_version'
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
 * What functions of callers threw last, by a number that the native half hands on.
 * @type {Map<number, unknown>}
 */
const thrown = new Map()
const MOST_THROWN = 64
let lastThrown = 0

/**
 * Keeps what a function threw, for those whose calls it ends.
 * @param {unknown} error
 */
function keep(error) {
  thrown.set(++lastThrown, error)
  thrown.delete(lastThrown - MOST_THROWN)
  return lastThrown
}

/**
 * What was kept under a number, in an array; an empty one if nothing is.
 * @param {number | null | undefined} number
 */
function kept(number) {
  return typeof number === 'number' && thrown.has(number) ? [thrown.get(number)] : []
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
    const { code, message, cause } = /** @type {{ code: string, message: string, cause?: Error }} */ (error)
    for (const original of kept(cause && Number(cause.message))) throw original
    const ours = failure(code, message)
    Error.captureStackTrace(ours, caller)
    throw ours
  }
}

module.exports = { classes, construct, failure, keep, kept }
