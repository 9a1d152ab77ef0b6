'use strict'

// What is done when garbage is collected.

/**
 * Whether the environment ends. In Deno the native half is freed before the last garbage is collected, at the end of each file of
 * `deno test`: a call into it would end the process.
 */
let ends = false
if ('deno' in process.versions) /** @type {any} */ (globalThis).addEventListener?.('unload', () => (ends = true))

/**
 * A registry that calls `forget` with what was registered for an object that was collected, but not while the environment ends.
 * @template T
 * @param {(held: T) => void} forget
 * @returns {FinalizationRegistry<T>}
 */
function collected(forget) {
  return new FinalizationRegistry((held) => {
    if (!ends) forget(held)
  })
}

module.exports = { collected }
