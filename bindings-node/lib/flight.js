'use strict'

// Of all who want what is not there, one makes it: what `once.run` and the `get`s of a cache have in common.

const { inspect } = require('node:util')
const native = require('./native.js')
const { bytesOf, number, refusal } = require('./argument.js')
const { submitDescribed, submitNow } = require('./channel.js')

/** @typedef {import('./native.js').Ticket} Ticket */
/** @typedef {import('./native.js').Wait} Wait */

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
 * What is there; or what `make` makes, which is stored.
 * @param {Function} caller
 * @param {AbortSignal | undefined} signal
 * @param {(channel: import('./native.js').Channel) => void} look describes the question
 * @param {() => unknown} make
 * @returns {Promise<Buffer | null>}
 */
async function fly(caller, signal, look, make) {
  const got = await submitDescribed(caller, signal, look)
  if (!(got instanceof native.Ticket)) return got
  const [made] = await load(caller, signal, [got], async () => [await make()])
  return made ?? null
}

/**
 * Has `make` make what these tickets are for, all at once, and stores it.
 * @param {Function} caller
 * @param {AbortSignal | undefined} signal
 * @param {Ticket[]} tickets
 * @param {() => Promise<unknown[]>} make
 */
async function load(caller, signal, tickets, make) {
  let made
  try {
    // A copy: its caller may change what it gets, as all others may.
    made = (await make()).map((value) => {
      const bytes = storable('what was loaded', value)
      return typeof value === 'string' || bytes === null ? bytes : Buffer.from(bytes)
    })
  } catch (error) {
    // What went wrong first is what the caller must hear. That it gave up is nobody else's error.
    await end(caller, tickets, signal?.aborted ? undefined : reason(error)).catch(() => {})
    throw error
  }
  const left = new Set(tickets)
  try {
    const values = made
    const stored = tickets.map((ticket, i) => {
      const filling = submitDescribed(caller, undefined, (channel) => channel.fill(ticket, values[i]))
      left.delete(ticket)
      return filling
    })
    await settled(stored)
    return values
  } catch (error) {
    // What cannot be stored is nothing that others must hear of.
    await end(caller, [...left]).catch(() => {})
    throw error
  }
}

/**
 * Frees the way; with an error it is remembered.
 * @param {Function} caller
 * @param {Ticket[]} tickets
 * @param {string} [error]
 */
async function end(caller, tickets, error) {
  await settled(tickets.map((ticket) => submitDescribed(caller, undefined, (channel) => channel.fail(ticket, error))))
}

/**
 * Waits for what another makes.
 * @param {Function} caller
 * @param {Wait} wait
 * @param {AbortSignal} [signal]
 * @returns {Promise<Buffer | null | Ticket>}
 */
function join(caller, wait, signal) {
  return submitNow(caller, (channel, id) => channel.waitFor(id, wait), signal)
}

/**
 * Waits for all, and then throws what the first threw.
 * @template T
 * @param {Promise<T>[]} promises
 */
async function settled(promises) {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}

/** @param {unknown} error */
function reason(error) {
  try {
    return error instanceof Error || typeof error === 'string' ? String(error) : inspect(error)
  } catch {
    return '?'
  }
}

module.exports = { fly, join, load, settled, storable, waitOf }
