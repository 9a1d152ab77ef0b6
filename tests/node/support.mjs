// What the tests share: the spec, the servers that the harness started, and names that no other test uses.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'quotalock'

export const ROOT = new URL('../../', import.meta.url)
const VECTORS = new URL('tests/spec/vectors/', ROOT)

/**
 * Whether the tests run in Bun or Deno. Where these differ from Node, a test says what they do instead; docs/versions.md lists what its users
 * notice.
 */
export const BUN = 'bun' in process.versions
export const DENO = 'deno' in process.versions

/** @typedef {Record<string, any>} Case */

/** The cases of every vector file, by the file's name. */
export function vectors() {
  const names = readdirSync(VECTORS).filter((name) => name.endsWith('.json'))
  assert.ok(names.length > 0)
  /** @type {[string, Case[]][]} */
  const files = names.map((name) => [name, JSON.parse(readFileSync(new URL(name, VECTORS), 'utf8')).cases])
  return files
}

/** The surface of every language. @returns {Case} */
export function api() {
  return JSON.parse(readFileSync(new URL('tests/spec/api.json', ROOT), 'utf8'))
}

/** The one server that there is, if the tests were asked to run on one. */
const ONLY = process.env.QUOTALOCK_TEST_ONLY

/** The servers by name. A missing one is a failure, not a skip. @returns {Record<string, string>} */
export function servers() {
  const given = process.env.QUOTALOCK_TEST_SERVERS
  assert.ok(given, 'QUOTALOCK_TEST_SERVERS is missing: run `make test SUITE=node` or tests/harness/with_servers.py')
  const found = JSON.parse(given)
  assert.deepEqual(Object.keys(found).sort(), ONLY ? [ONLY] : ['redis-6.2', 'redis-7.0', 'valkey-9.1'])
  return found
}

/** Every store: `memory` and the servers. */
export function stores() {
  return { memory: 'memory://', ...servers() }
}

/** The clusters by name. A missing one is a failure, not a skip. @returns {Record<string, string>} */
export function clusters() {
  const found = JSON.parse(process.env.QUOTALOCK_TEST_CLUSTERS ?? '{}')
  assert.deepEqual(Object.keys(found).sort(), ONLY ? [] : ['cluster-7.0', 'cluster-9.1'])
  return found
}

/** The address of Redis 7.0. @returns {string} */
export function redis() {
  return /** @type {string} */ (servers()['redis-7.0'])
}

/**
 * How often to play what goes wrong by chance, if at all: `make test-long` has it played more often.
 * @param {number} few
 * @param {number} many
 */
export const often = (few, many) => (process.env.QUOTALOCK_TEST_LONG ? many : few)

/** Deno runs all files in one process, each with this module as new. */
const FILE = randomBytes(4).toString('hex')
let prefixes = 0

/** A prefix that no other test of this run uses. */
export function freshPrefix() {
  return `t${process.pid}-${FILE}-${prefixes++}-node`
}

/**
 * A client with a prefix of its own. Tests share two cores with builds and other suites: an answer may take its time.
 * @param {string | URL} url
 * @param {import('quotalock').ClientOptions} [options]
 */
export function client(url, options) {
  return new Client(url, { prefix: freshPrefix(), timeoutMs: 10_000, ...options })
}

/**
 * The bytes of a field that may be text or `<field>_hex`.
 * @param {Case} object
 * @param {string} field
 */
export function bytes(object, field) {
  if (typeof object[field] === 'string') return Buffer.from(object[field])
  return typeof object[`${field}_hex`] === 'string' ? Buffer.from(object[`${field}_hex`], 'hex') : undefined
}

/**
 * Starts a Redis of one's own on a Unix socket, with options as on its command line; it ends with the test.
 * @param {import('node:test').TestContext} context
 * @param {string} [folder] where its socket lies
 * @param {...string} options
 */
export async function ownRedis(context, folder, ...options) {
  const own = folder ?? mkdtempSync(join(tmpdir(), 'quotalock-'))
  const socket = join(own, 'socket')
  // One that was killed left it behind.
  rmSync(socket, { force: true })
  const how = ['--port', '0', '--unixsocket', socket, '--save', '', '--appendonly', 'no', '--dir', own, ...options]
  const server = spawn('setpriv', ['--pdeathsig', 'KILL', '--', 'redis-server', ...how], { stdio: 'ignore' })
  context.after(() => {
    server.kill('SIGKILL')
    if (folder === undefined) rmSync(own, { recursive: true })
  })
  // The file is there before anybody listens on it.
  while (!(await answers(socket))) {
    assert.equal(server.exitCode, null, 'redis-server ended as soon as it was started')
    await sleep(5)
  }
  return { url: `unix://${socket}`, socket, server }
}

/**
 * Whether somebody takes connections on a socket.
 * @param {string} path
 */
async function answers(path) {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/**
 * A port on which nobody listens, below those that the system gives to outgoing connections. It stays reserved while
 * this process lives, so that a server which is down finds its port free when it starts again.
 */
export async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    // A name that one process at a time can have, among the tests of PHP too.
    const reservation = await listening(`\0quotalock-port-${port}`)
    const server = reservation && (await listening(port, '127.0.0.1'))
    server?.close()
    if (server) return `${port}`
    reservation?.close()
  }
}

/**
 * A server that listens there and does not keep the process alive, or null where another one does.
 * @param {...any} place
 */
async function listening(...place) {
  const server = createServer().unref()
  server.listen(...place)
  return once(server, 'listening').then(
    () => server,
    () => null,
  )
}

/**
 * Starts a TCP server that does with each connection what `serve` says; it ends with the test.
 * @param {import('node:test').TestContext} context
 * @param {(socket: import('node:net').Socket) => void} serve
 */
export async function listener(context, serve) {
  /** @type {Set<import('node:net').Socket>} */
  const open = new Set()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => {})
    serve(socket)
  })
  context.after(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { port, url: `redis://127.0.0.1:${port}`, connections: open }
}

/**
 * Runs a module's text in a process of its own and returns how it ended and what it said.
 * @param {string} text
 * @param {string[]} [options] of Node
 * @param {Record<string, string>} [environment] variables that it has besides ours
 */
export async function run(text, options = [], environment = {}) {
  // Deno would read it as CommonJS with Node's options.
  const how = DENO ? ['eval', '--no-lock', '--v8-flags=--expose-gc'] : [...options, '--input-type=module', '--eval']
  // Beside the tests, so that it finds the package.
  const child = spawn(process.execPath, [...how, text], {
    cwd: fileURLToPath(ROOT),
    env: { ...process.env, NO_COLOR: '1', ...environment },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const hung = setTimeout(() => child.kill('SIGKILL'), 120_000)
  const [code, signal] = await once(child, 'close')
  clearTimeout(hung)
  return { code, signal, output }
}
