'use strict'

// What a consume of several keys is given: charges, as the native half takes them.

const { bytesOf, number, refusal } = require('./argument.js')
const { failure } = require('./errors.js')
const { handleOf } = require('./limiter.js')

const WANTED = 'an array [limiter, key] or [limiter, key, cost]'

/**
 * Charges as numbers, three for each (src/described.rs), their keys one after another, and the names of their limiters.
 * @param {unknown} given
 */
function packed(given) {
  if (!Array.isArray(given)) throw refusal('charges', given, `an array, each of its charges ${WANTED}`)
  /** @type {number[]} */
  const numbers = []
  /** @type {Buffer[]} */
  const keys = []
  /** @type {string[]} */
  const names = []
  for (const charge of given) {
    if (!Array.isArray(charge)) throw refusal('charge', charge, WANTED)
    const [limiter, key, cost = 1] = charge
    if (charge.length < 2 || charge.length > 3) {
      throw failure('invalid_argument', `a charge has ${charge.length} elements: give ${WANTED}`)
    }
    const bytes = bytesOf('key', key)
    const handle = handleOf(limiter)
    numbers.push(handle.number, number('cost', cost), bytes.length)
    keys.push(bytes)
    names.push(handle.name)
  }
  return { numbers, keys: Buffer.concat(keys), names }
}

module.exports = { packed }
