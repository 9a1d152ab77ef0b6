// What tests expect of failures.

import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import * as quotalock from 'quotalock'

/** @typedef {import('./support.mjs').Case} Case */

/**
 * Checks the class, the code and the message of an error.
 * @param {string} place
 * @param {Case} expected
 * @param {unknown} error
 */
export function assertError(place, expected, error) {
  assert.ok(error instanceof quotalock.QuotalockError, `${place}: ${inspect(error)}`)
  assert.equal(error.code, expected.code, `${place}: ${error.message}`)
  for (const part of expected.contains ?? [])
    assert.ok(error.message.includes(part), `${place}: no ${part} in ${error}`)
  for (const secret of expected.never ?? []) {
    const shown = `${inspect(error, { showHidden: true })} ${error.stack} ${JSON.stringify(error)} ${error.message}`
    assert.ok(!shown.includes(secret), `${place}: ${secret} shows in ${shown}`)
  }
}

/**
 * Expects a failure, thrown or rejected.
 * @param {Case} expected
 * @param {() => unknown} act
 */
export async function mustFail(expected, act) {
  let error
  try {
    await act()
  } catch (thrown) {
    error = thrown
  }
  assertError(expected.id, expected, error)
}

/**
 * Expects a rejection of this class, whose message holds all of `parts`, and returns it.
 * @param {Promise<unknown>} call
 * @param {string} name
 * @param {...string} parts
 */
export async function rejected(call, name, ...parts) {
  const error = await call.then(
    () => assert.fail('it was not rejected'),
    (/** @type {any} */ reason) => reason,
  )
  assert.ok(error instanceof /** @type {any} */ (quotalock)[name], `${error.stack}`)
  for (const part of parts) assert.ok(error.message.includes(part), `no ${part} in ${error.message}`)
  return error
}
