'use strict'

// The time of these tests: that which they set, else one that passes only while they sleep. So it does not matter how busy the
// machine is.

const { now } = Date
const began = now()
let slept = began

module.exports = {
  /** In microseconds; the clock that they set begins at 0, which is no time of today. */
  micros: () => (Date.now === now ? slept : Date.now() + began) * 1000,
  /** Takes the place of setTimeout where they sleep. */
  sleep(resolve, ms) {
    slept += ms
    setImmediate(resolve)
  },
}
