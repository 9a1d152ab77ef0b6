// As a module: `node smoke.mjs URL`.

import * as quotalock from 'quotalock'
import checked from './checks.cjs'

await checked.checks(quotalock, /** @type {string} */ (process.argv[2]))
