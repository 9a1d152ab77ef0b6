'use strict'

// The names of limits. A name that a developer gives stays as it is; what counts together without one is named here.

const { createHash } = require('node:crypto')
const { readFileSync } = require('node:fs')
const { basename, dirname, join, sep } = require('node:path')
const { text } = require('./argument.js')
const { failure } = require('./errors.js')

/** The folder of this package; a bundle has none. */
const OURS = typeof __dirname === 'string' ? [`${dirname(__dirname)}${sep}`] : []
/** Marks of the lines in a stack that are not the developer's own; the last two are those of Bun for native code. */
const NOT_THE_DEVELOPERS = [...OURS, `${sep}node_modules${sep}`, 'node:', '(<anonymous>)', '(unknown)', '(native:']
/** More names than an application has; one that makes them of what users send does not fill the memory. */
const MOST = 4096

/**
 * A name as it was first given: by which policy it decides, whom it counts, and where it was given.
 * @typedef {{ policy: string, kind: string, place: string, hasWarned: boolean }} Given
 */

/** @type {Map<string, Given>} */
const given = new Map()

/**
 * Remembers a name that a developer gave, and warns once if it has another meaning elsewhere in this process.
 * @param {import('../index.js').Client} client
 * @param {string} name
 * @param {string} policy in its canonical form
 * @param {string} kind whom it counts: `the address`, or `a key function`
 * @param {string} package_ which package it was given to
 * @returns {boolean} whether it was warned of two policies: the native half needs not do so again
 */
function registerName(client, name, policy, kind, package_) {
  const id = JSON.stringify([client.server, client.prefix, name])
  const before = given.get(id)
  if (before === undefined) {
    if (given.size < MOST) given.set(id, { policy, kind, place: placeOf(package_), hasWarned: false })
    return false
  }
  if (before.hasWarned || (before.policy === policy && before.kind === kind)) return before.policy !== policy
  before.hasWarned = true
  const [first, second] =
    before.policy === policy
      ? [`counts by ${before.kind}`, `by ${kind}, so a client can use up what another one has`]
      : [`has the policy ${before.policy}`, policy]
  warn(
    'QUOTALOCK_NAME',
    `the limit ${JSON.stringify(name)} ${first} (${before.place}) and ${second} (${placeOf(package_)}): ` +
      'give each limit a name of its own',
  )
  return before.policy !== policy
}

/**
 * Remembers a name that was generated, and warns once if two places have it: nothing that is known tells them apart.
 * @param {import('../index.js').Client} client
 * @param {string} name
 * @param {string} package_ which package generated it
 * @param {string} option by which a developer gives a name
 */
function registerGenerated(client, name, package_, option) {
  const place = placeOf(package_)
  const id = JSON.stringify([client.server, client.prefix, name])
  const before = given.get(id)
  if (before === undefined) {
    if (given.size < MOST) given.set(id, { policy: '', kind: '', place, hasWarned: false })
    return
  }
  if (before.hasWarned || before.place === place) return
  before.hasWarned = true
  warn('QUOTALOCK_NAME', `two limits without ${option} count together (${before.place}) and (${place}): give each one`)
}

/**
 * What distinguishes a limit that has no name from its developer: where it holds, for which methods (none: for all), whom it
 * counts, and whatever else, such as its policy.
 * @typedef {{ place: string, methods?: readonly string[], key: string, more: readonly unknown[] }} Parts
 */

/**
 * The name of a limit that has none from its developer: `~PLACE:METHODS:KEY:DIGEST`, at most 128 bytes of printable ASCII. The
 * digest is of all parts in full and of the application; those that can be read are cut to fit. It is the same in every process
 * of an application, and no developer's name begins with `~`.
 * @param {Parts} parts
 */
function generated({ place, methods = [], key, more }) {
  // Frameworks answer HEAD as the GET that it is.
  const asked = [...new Set(methods.map((each) => (each === 'HEAD' ? 'GET' : each)))].sort()
  const digest = createHash('sha256')
  digest.update(JSON.stringify([application(), place, asked, key, more]))
  const parts = [readable(place, 60), readable(asked.join(',') || '*', 20), readable(key, 24)]
  return `~${parts.join(':')}:${digest.digest('hex').slice(0, 16)}`
}

/**
 * @param {string} part
 * @param {number} most
 */
function readable(part, most) {
  return part.replace(/[^!-~]|[{}:]/g, '_').slice(0, most)
}

/** @type {string | undefined} */
let found

/** What the application is called: the nearest `package.json` above the file that was started says it. */
function application() {
  if (found !== undefined) return found
  const started = process.argv[1] ?? process.cwd()
  for (let folder = started; dirname(folder) !== folder; folder = dirname(folder)) {
    try {
      const { name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      if (typeof name === 'string' && name !== '') {
        found = name
        return name
      }
    } catch {
      // The file is missing or unreadable: the folder above may have one.
    }
  }
  found = basename(started)
  return found
}

/**
 * A name that a developer gave.
 * @param {string} what
 * @param {unknown} given
 */
function ownName(what, given) {
  const name = text(what, given)
  if (!name.startsWith('~')) return name
  throw failure(
    'invalid_argument',
    `${what} ${JSON.stringify(name)} begins with ~ like the generated ones: choose another`,
  )
}

/**
 * Where a developer called: the package, and the line of the file, if it is known.
 * @param {string} package_
 */
function placeOf(package_) {
  const line = lineOfDeveloper()
  return line === undefined ? package_ : `${package_} ${line}`
}

/** Where a developer called, as `file:line:column`; empty if that is not known. */
function callerOf() {
  return lineOfDeveloper()?.replace(/^at (?:.* \()?(.*?)\)?$/, '$1') ?? ''
}

function lineOfDeveloper() {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 30
  const { stack = '' } = new Error('where')
  Error.stackTraceLimit = limit
  const lines = stack.split('\n').slice(1)
  return lines.find((each) => !NOT_THE_DEVELOPERS.some((other) => each.includes(other)))?.trim()
}

/**
 * A warning of Node's, which an application sees on its standard error output or by `process.on('warning')`.
 * @param {string} code
 * @param {string} message
 */
function warn(code, message) {
  process.emitWarning(message, { type: 'QuotalockWarning', code })
}

module.exports = { callerOf, generated, ownName, registerGenerated, registerName, warn }
