'use strict'

// Loads the native half: the file built beside this package, or the package of this platform.

const { basename } = require('node:path')

function platform() {
  const { platform, arch } = process
  if (platform !== 'linux') return `${platform}-${arch}`
  const report = /** @type {any} */ (process.report.getReport())
  return `${platform}-${arch}-${report.header.glibcVersionRuntime ? 'gnu' : 'musl'}`
}

function load() {
  const name = platform()
  const places = [`../quotalock.${name}.node`, `quotalock-${name}`]
  const failures = []
  for (const place of places) {
    try {
      return require(place)
    } catch (error) {
      failures.push(error)
    }
  }
  // A bundler copies this file into another.
  const cure =
    basename(__filename) === 'native.js'
      ? `install quotalock-${name}, or build it (npm run build)`
      : 'a bundle cannot hold it, so mark quotalock as external (esbuild: --external:quotalock) and install it beside the bundle'
  const message = `quotalock has no native part for ${name}: ${cure}`
  throw new Error(message, { cause: new AggregateError(failures) })
}

module.exports = load()
