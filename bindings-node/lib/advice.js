'use strict'

// What the core has to say to the user about the decisions of limiters (core/src/limiter/names.rs), as warnings of Node.

const native = require('./native.js')
const { instant } = require('./inbox.js')
const { warn } = require('./names.js')

/** Whether there is something to say: the native half notes it with what it decided or collected. */
const hasAdvice = () => instant[0] > 1

/** Passes on what there is to say. */
function advise() {
  instant[0] -= 2
  for (let message = native.limiterWarning(); message !== null; message = native.limiterWarning()) {
    warn('QUOTALOCK_NAME', message)
  }
}

module.exports = { advise, hasAdvice }
