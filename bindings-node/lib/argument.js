'use strict'

// What callers give: the types of arguments. Their values are judged by the core.

const { toUSVString, inspect } = require('node:util')
const { failure } = require('./errors.js')

/**
 * Says that an argument cannot be, and what would be right.
 * @param {string} what
 * @param {unknown} given
 * @param {string} wanted
 */
function refusal(what, given, wanted) {
  const shown = inspect(given, { depth: 0, maxStringLength: 60, breakLength: Infinity })
  return failure('invalid_argument', `${what} ${shown} is ${kind(given)}: give ${wanted}`)
}

/** @param {unknown} given */
function kind(given) {
  if (given === null || given === undefined) return 'missing'
  if (Array.isArray(given)) return 'an array'
  return typeof given === 'object' ? 'an object' : `a ${typeof given}`
}

/**
 * Whether a text has a UTF-8 form: no half of a surrogate pair stands alone.
 * @param {string} text
 */
function isText(text) {
  return toUSVString(text) === text
}

/**
 * A text, such as a name.
 * @param {string} what
 * @param {unknown} given
 */
function text(what, given) {
  if (typeof given !== 'string') throw refusal(what, given, 'a string')
  if (!isText(given)) throw failure('invalid_argument', `${what} ${inspect(given)} has no UTF-8 form: change it`)
  return given
}

/**
 * A number that the core then looks at.
 * @param {string} what
 * @param {unknown} given
 */
function number(what, given) {
  if (typeof given !== 'number') throw refusal(what, given, 'a number')
  return given
}

/**
 * The bytes of a key or value.
 * @param {string} what
 * @param {unknown} given
 */
function bytesOf(what, given) {
  if (typeof given === 'string') return Buffer.from(text(what, given))
  if (given instanceof Uint8Array) return Buffer.from(given.buffer, given.byteOffset, given.byteLength)
  throw refusal(what, given, 'a string or a Uint8Array')
}

/**
 * Bytes that may be left out.
 * @param {string} what
 * @param {unknown} given
 */
function bytesIfGiven(what, given) {
  return given === undefined ? undefined : bytesOf(what, given)
}

/**
 * A key to be kept: bytes as a copy, which nobody changes.
 * @param {string} what
 * @param {unknown} given
 * @returns {string | Buffer}
 */
function kept(what, given) {
  return typeof given === 'string' ? given : Buffer.from(bytesOf(what, given))
}

/**
 * Yes or no.
 * @param {string} what
 * @param {unknown} given
 */
function flag(what, given) {
  if (typeof given !== 'boolean') throw refusal(what, given, 'true or false')
  return given
}

/** @type {Record<string, any>} */
const NO_OPTIONS = Object.freeze({})

/**
 * An object of options, or nothing. One of another name is refused: it would be a setting that has no effect.
 * @param {unknown} given
 * @param {readonly string[]} known
 * @returns {Record<string, any>}
 */
function options(given, known) {
  if (given === undefined) return NO_OPTIONS
  if (typeof given !== 'object' || given === null) throw refusal('options', given, `an object { ${known.join(', ')} }`)
  for (const name in given) {
    if (!known.includes(name)) {
      throw failure('invalid_argument', `option ${inspect(name)} is unknown: use ${known.join(', ')}`)
    }
  }
  return given
}

/**
 * A policy: text, a rule, or several.
 * @param {unknown} given
 * @returns {string | { limit: number, periodMs: number, algorithm: string, capacity?: number }[]}
 */
function policyOf(given) {
  if (typeof given === 'string') return text('policy', given)
  if (typeof given !== 'object' || given === null) {
    throw refusal('policy', given, "a string such as '10/minute', a rule { limit, periodMs }, or an array of rules")
  }
  return (Array.isArray(given) ? given : [given]).map((rule) => {
    if (typeof rule !== 'object' || rule === null) throw refusal('rule', rule, 'an object { limit, periodMs }')
    const { limit, periodMs, algorithm = 'fixed-window', capacity } = rule
    return {
      limit: number('limit', limit),
      periodMs: number('periodMs', periodMs),
      algorithm: text('algorithm', algorithm),
      capacity: capacity === undefined || capacity === null ? undefined : number('capacity', capacity),
    }
  })
}

/**
 * A signal, or nothing. Throws its reason if it has fired already.
 * @param {unknown} given
 * @returns {AbortSignal | undefined}
 */
function signalOf(given) {
  if (given === undefined) return undefined
  const signal = /** @type {AbortSignal} */ (given)
  // Not by its class: test environments bring their own.
  if (typeof signal?.addEventListener !== 'function') throw refusal('signal', given, 'an AbortSignal')
  if (signal.aborted) throw signal.reason
  return signal
}

module.exports = { bytesIfGiven, bytesOf, flag, kept, number, options, policyOf, refusal, signalOf, text }
