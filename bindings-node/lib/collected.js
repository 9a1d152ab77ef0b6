'use strict'

// Calls back for what was collected as garbage.

const { hasChannel } = require('./native.js')

/**
 * Makes a registry whose callback may call the native half: it is left out once that is gone (src/channel.rs).
 * @template T
 * @param {(held: T) => void} then
 * @returns {FinalizationRegistry<T>}
 */
function collected(then) {
  return new FinalizationRegistry((held) => {
    if (hasChannel()) then(held)
  })
}

module.exports = { collected }
