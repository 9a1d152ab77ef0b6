'use strict'

// Loads the native half: the file built beside this package, the package of this platform, or what lies beside a bundle.

const { basename } = require('node:path')
const { platform } = require('./platform.js')

function load() {
  const name = platform()
  const file = `quotalock.${name}.node`
  const places = [`../${file}`, `quotalock-${name}`, `./${file}`]
  const failures = []
  for (const place of places) {
    try {
      return require(place)
    } catch (error) {
      failures.push(error)
    }
  }
  // A bundler copies this file into another; a module of today has no `__filename`.
  const isBundled = typeof __filename === 'undefined' || basename(__filename) !== 'native.js'
  const cure = isBundled
    ? `a bundle cannot hold it, so mark quotalock as external (esbuild: --external:quotalock) and install it beside the bundle, or copy ${file} there`
    : `install quotalock-${name}, or build it (npm run build)`
  const message = `quotalock has no native part for ${name}: ${cure}`
  throw new Error(message, { cause: new AggregateError(failures) })
}

module.exports = load()
