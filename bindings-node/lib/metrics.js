'use strict'

// What was counted.

const native = require('./native.js')

/** @type {typeof import('../index.js').metrics} */
const metrics = () => /** @type {ReturnType<typeof import('../index.js').metrics>} */ (native.metrics())

/** @type {typeof import('../index.js').prometheus} */
const prometheus = () => native.prometheus()

module.exports = { metrics, prometheus }
