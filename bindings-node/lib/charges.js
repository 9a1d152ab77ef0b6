'use strict'

// What a consume of several keys is given: charges, as the native half takes them.

const { bytesOf, number, refusal } = require('./argument.js')
const { failure } = require('./errors.js')
const { handleOf } = require('./limiter.js')

const WANTED = 'an array [limiter, key] or [limiter, key, cost]'

/**
 * Charges as numbers, three for each (src/described.rs), and their keys one after another.
 * @param {unknown} given
 */
function packed(given) {
  if (!Array.isArray(given)) throw refusal('charges', given, `an array, each of its charges ${WANTED}`)
  /** @type {number[]} */
  const numbers = []
  /** @type {Buffer[]} */
  const keys = []
  for (const charge of given) {
    if (!Array.isArray(charge)) throw refusal('charge', charge, WANTED)
    const [limiter, key, cost = 1] = charge
    if (charge.length < 2 || charge.length > 3) {
      throw failure('invalid_argument', `a charge has ${charge.length} elements: give ${WANTED}`)
    }
    const bytes = bytesOf('key', key)
    numbers.push(handleOf(limiter).number, number('cost', cost), bytes.length)
    keys.push(bytes)
  }
  return { numbers, keys: Buffer.concat(keys) }
}

module.exports = { packed }
