'use strict'

// What callers give: the types of arguments. Their values are judged by the core.

const { inspect, toUSVString, types } = require('node:util')
const { failure } = require('./errors.js')

/** What looks like an address, and may have a password in it. */
const ADDRESS = /:\/\/|@/

/**
 * What of a value an error shows, after a space: a word or a number. Objects and addresses may hold passwords, and errors go
 * into logs.
 * @param {unknown} given
 */
function shown(given) {
  if ((typeof given === 'object' && given !== null) || typeof given === 'function') return ''
  if (typeof given === 'string' && ADDRESS.test(given)) return ''
  return ` ${inspect(given, { maxStringLength: 60 })}`
}

/**
 * Says that an argument cannot be, and what would be right.
 * @param {string} what
 * @param {unknown} given
 * @param {string} wanted
 */
function refusal(what, given, wanted) {
  return failure('invalid_argument', `${what}${shown(given)} is ${kind(given)}: give ${wanted}`)
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
  if (!isText(given)) throw failure('invalid_argument', `${what}${shown(given)} has no UTF-8 form: change it`)
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
 * A number that may be left out.
 * @param {string} what
 * @param {unknown} given
 */
function numberIfGiven(what, given) {
  return given === undefined ? undefined : number(what, given)
}

/**
 * A number that may be left out, or be null: there is none.
 * @param {string} what
 * @param {unknown} given
 */
function numberOrNull(what, given) {
  return given === null ? undefined : numberIfGiven(what, given)
}

/**
 * A text that may be left out, or be null: there is none.
 * @param {string} what
 * @param {unknown} given
 */
function textOrNull(what, given) {
  return given === undefined || given === null ? undefined : text(what, given)
}

/**
 * The bytes of a key or value.
 * @param {string} what
 * @param {unknown} given
 */
function bytesOf(what, given) {
  if (typeof given === 'string') return Buffer.from(text(what, given))
  // Not by its class: test environments bring their own.
  if (types.isUint8Array(given)) return Buffer.from(given.buffer, given.byteOffset, given.byteLength)
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
      throw failure('invalid_argument', `option${shown(name)} is unknown: use ${known.join(', ')}`)
    }
  }
  return given
}

/**
 * The address of a server: text, or a URL of Node's. Whatever is wrong with it, none of it is shown.
 * @param {unknown} given
 */
function address(given) {
  // Not by its class: test environments bring their own.
  const isUrl = Object.prototype.toString.call(given) === '[object URL]'
  const url = isUrl ? /** @type {URL} */ (given).href : given
  if (typeof url !== 'string') {
    const options = typeof url === 'object' && url !== null ? ', and options behind it' : ''
    throw failure('invalid_argument', `url is ${kind(url)}: give a string or a URL${options}`)
  }
  if (!isText(url)) throw failure('invalid_argument', 'url has no UTF-8 form: change it')
  return url
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
    if (typeof rule === 'string')
      throw refusal('policy', given, "one string for all rules, such as '10/minute;100/hour'")
    if (typeof rule !== 'object' || rule === null) throw refusal('rule', rule, 'an object { limit, periodMs }')
    const { limit, periodMs, algorithm = 'fixed-window', capacity } = rule
    return {
      limit: number('limit', limit),
      periodMs: number('periodMs', periodMs),
      algorithm: text('algorithm', algorithm),
      capacity: numberOrNull('capacity', capacity),
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

module.exports = {
  address,
  bytesIfGiven,
  bytesOf,
  flag,
  isText,
  kept,
  kind,
  number,
  numberIfGiven,
  numberOrNull,
  options,
  policyOf,
  refusal,
  signalOf,
  text,
  textOrNull,
}
