// What vectors say of failures.

import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { QuotalockError } from 'quotalock'

/** @typedef {import('./support.mjs').Case} Case */

/**
 * Checks the class, the code and the message of an error.
 * @param {string} place
 * @param {Case} expected
 * @param {unknown} error
 */
export function assertError(place, expected, error) {
  assert.ok(error instanceof QuotalockError, `${place}: ${inspect(error)}`)
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
