'use strict'

// As CommonJS: `node smoke.cjs URL`.

const quotalock = require('quotalock')
const { checks } = require('./checks.cjs')

checks(quotalock, /** @type {string} */ (process.argv[2]))
