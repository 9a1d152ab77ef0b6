'use strict'

// Loads the native half: the file built next to this package, the package of this platform, or a file next to a bundle.

const { basename } = require('node:path')
const { platform, nativePackage } = require('./platform.js')

function load() {
  const name = platform()
  const file = `quotalock.${name}.node`
  const places = [`../${file}`, nativePackage(name), `./${file}`]
  const failures = []
  for (const place of places) {
    try {
      const native = require(place)
      if (place === nativePackage(name)) checkVersion(place)
      return native
    } catch (error) {
      failures.push(/** @type {any} */ (error))
    }
  }
  // A file that is there and fails says more than those that are missing.
  const found = failures.find(({ code }) => code !== 'MODULE_NOT_FOUND')
  const reason = found ? ` (${String(found.message).split('\n')[0]})` : ''
  const message = `quotalock has no native part for ${name}${reason}: ${cure(name, file)}`
  throw new Error(message, { cause: new AggregateError(failures) })
}

/** What to do when nothing could be loaded. */
function cure(/** @type {string} */ name, /** @type {string} */ file) {
  // A bundler copies this file into another; a module of today has no `__filename`.
  if (typeof __filename === 'undefined' || basename(__filename) !== 'native.js') {
    return `a bundle cannot hold it, so mark quotalock as external (esbuild: --external:quotalock) and install it beside the bundle, or copy ${file} there`
  }
  // A checkout has no list of published packages.
  const { optionalDependencies = {} } = /** @type {any} */ (require('../package.json'))
  const published = Object.keys(optionalDependencies)
  if (published.length === 0) return `install ${nativePackage(name)}, or build it (npm run build)`
  if (!published.includes(nativePackage(name))) {
    const names = published.map((each) => each.slice(nativePackage('').length))
    return `it is published for ${names.join(', ')} alone, so run Node on one of these`
  }
  const [os, cpu, libc] = name.split('-')
  const flags = `--os=${os} --cpu=${cpu} --libc=${libc === 'gnu' ? 'glibc' : libc}`
  return `the package ${nativePackage(name)} is missing or was made for another system, so delete node_modules and the lock file and run npm install --include=optional (to install for this system elsewhere: ${flags})`
}

/** npm may keep a platform's package of another version. */
function checkVersion(/** @type {string} */ place) {
  const [own, native] = [require('../package.json'), require(`${place}/package.json`)].map(({ version }) => version)
  if (own === native) return
  throw new Error(`quotalock ${own} found ${place} ${native}, which must have the same version`)
}

module.exports = load()
