'use strict'

// Of all who want what is not there, one makes it: what `once.run` and the `get`s of a cache have in common. What is next
// the core says.

const { inspect } = require('node:util')
const { bytesOf, number, refusal } = require('./argument.js')
const { submitDescribed } = require('./channel.js')
const { construct } = require('./errors.js')

/** @typedef {import('./native.js').Loading} Loading */

/**
 * How long a caller waits for what another makes, in milliseconds; the core knows, if nobody says.
 * @param {unknown} given
 */
function waitOf(given) {
  return given === undefined ? undefined : number('waitMs', given)
}

/**
 * A value to be stored, or that there is none.
 * @param {string} what
 * @param {unknown} given
 */
function storable(what, given) {
  if (given === null) return null
  if (given === undefined) throw refusal(what, given, 'a string or a Uint8Array, or null if there is none')
  return bytesOf(what, given)
}

/**
 * The values of a load; `make` makes those of them that are this caller's to make, given their places.
 * @param {Function} caller
 * @param {AbortSignal | undefined} signal
 * @param {() => Loading} describe
 * @param {(missing: number[]) => Promise<unknown[]>} make
 * @returns {Promise<(Buffer | null)[]>}
 */
async function fly(caller, signal, describe, make) {
  const loading = construct(caller, describe)
  try {
    for (;;) {
      const { values, missing } = construct(fly, () => loading.next())
      if (values) return values.map((value) => value ?? null)
      if (missing) await fill(caller, signal, loading, () => make(missing))
      else await submitDescribed(caller, signal, (channel) => channel.carry(loading))
    }
  } finally {
    loading.leave()
  }
}

/**
 * Has `make` make what is missing, and stores it.
 * @param {Function} caller
 * @param {AbortSignal | undefined} signal
 * @param {Loading} loading
 * @param {() => Promise<unknown[]>} make
 */
async function fill(caller, signal, loading, make) {
  let made
  try {
    made = (await make()).map((value) => storable('what was loaded', value))
  } catch (error) {
    // What went wrong first is what the caller must hear. That it gave up is nobody else's error.
    const reason = signal?.aborted ? undefined : told(error)
    await end(caller, loading, loading.failed(reason)).catch(() => {})
    throw error
  }
  await end(caller, loading, loading.loaded(made))
}

/**
 * Makes the calls that end a load, and throws what the first threw.
 * @param {Function} caller
 * @param {Loading} loading
 * @param {number} count
 */
async function end(caller, loading, count) {
  const call = (/** @type {unknown} */ _, /** @type {number} */ at) =>
    submitDescribed(caller, undefined, (channel) => channel.end(loading, at))
  const calls = Array.from({ length: count }, call)
  await Promise.allSettled(calls)
  loading.ended()
  await Promise.all(calls)
}

/** @param {unknown} error */
function told(error) {
  try {
    return error instanceof Error || typeof error === 'string' ? String(error) : inspect(error)
  } catch {
    return '?'
  }
}

module.exports = { fly, storable, waitOf }
