// A server that says what it is told to: for states that no real server reaches in a test's time, such as a day of traffic. It
// serves the files of the page with the headers of `quotalock serve`.

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { freePort } from '../node/support.mjs'

const FILES = new URL('../../cli/src/serve/page/', import.meta.url)
const GUARD = readFileSync(new URL('../guard.rs', FILES), 'utf8')
const TYPES = /** @type {Record<string, string>} */ ({
  html: 'text/html; charset=utf-8',
  css: 'text/css',
  js: 'text/javascript',
})

/** The policy of the page, from where the program has it. */
const POLICY = GUARD.match(/const POLICY: &str = "([^"]*)"/s)?.[1]?.replace(/\\\n\s*/g, '') ?? 'none'

/** @param {number} now a state in which nothing happens */
export function calm(now) {
  return {
    now_ms: now,
    server: 'redis://127.0.0.1:6379',
    prefix: 'ql',
    version: '0.1.0',
    writes: false,
    problems: /** @type {string[]} */ ([]),
    is_reported: true,
    limiters: /** @type {Record<string, any>[]} */ ([]),
    denied: /** @type {Record<string, any>[]} */ ([]),
    denied_total: 0,
    locks: /** @type {Record<string, any>[]} */ ([]),
    locks_total: 0,
    stocks: /** @type {Record<string, any>[]} */ ([]),
    stocks_total: 0,
    caches: /** @type {Record<string, any>[]} */ ([]),
    without_ttl: /** @type {Record<string, any>[]} */ ([]),
    without_ttl_total: 0,
    stuck_total: 0,
    looks_stuck_total: 0,
    nodes: [server('127.0.0.1:6379')],
    scan: { running: false, done_percent: 100, keys_seen: 1_000, took_ms: 120, at_ms: now, unknown_since_ms: null },
  }
}

/** A server that is well. @param {string} address */
export function server(address) {
  const rest = {
    memory_used: 12 << 20,
    memory_max: 0,
    clients: 14,
    ops_per_s: 2_300,
    lag_ms: null,
    clock_skew_ms: 0,
    keys: 1_000,
  }
  return {
    address,
    role: 'primary',
    answers: true,
    ok: true,
    why: /** @type {string[]} */ ([]),
    version: 'Redis 7.0.15',
    ...rest,
  }
}

export class Scripted {
  /** @type {Set<import('node:http').ServerResponse>} */
  #browsers = new Set()
  /** Whether it takes connections and says nothing any more. */
  isHung = false
  /** Whether states come by themselves, one a second. */
  beats = true
  url = ''

  constructor() {
    this.state = calm(Date.now())
    this.server = createServer((request, response) => !this.isHung && this.#answer(request, response))
  }

  /** @param {import('node:test').TestContext} context */
  static async begun(context) {
    const scripted = new Scripted()
    await scripted.start()
    const beat = setInterval(() => scripted.beats && scripted.push(), 1_000)
    context.after(() => {
      clearInterval(beat)
      return scripted.stop()
    })
    return scripted
  }

  /** Without a port of before, on one that no outgoing connection gets while it is away. @param {number} [port] */
  async start(port) {
    const own = port ?? Number(await freePort())
    await new Promise((resolve) => this.server.listen(own, '127.0.0.1', () => resolve(null)))
    const address = /** @type {import('node:net').AddressInfo} */ (this.server.address())
    this.url = `http://127.0.0.1:${address.port}`
  }

  /** Tells all browsers. @param {Partial<ReturnType<typeof calm>>} [state] */
  push(state = {}) {
    if (this.isHung) return
    Object.assign(this.state, { now_ms: Date.now() }, state)
    const text = `event: state\ndata: ${JSON.stringify(this.state)}\n\n`
    for (const browser of this.#browsers) browser.write(text)
  }

  /** Goes away as a process that is killed does. */
  stop() {
    this.server.closeAllConnections()
    this.#browsers.clear()
    return new Promise((resolve) => this.server.close(resolve))
  }

  /** @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
  #answer(request, response) {
    const url = new URL(request.url ?? '/', this.url)
    const path = url.pathname
    response.setHeader('Content-Security-Policy', POLICY)
    response.setHeader('Cache-Control', 'no-store')
    if (path === '/api/session') return json(response, { csrf: 'csrf-of-the-session', writes: this.state.writes })
    if (path === '/api/state') return json(response, this.state)
    if (path === '/api/events') return this.#follow(response)
    if (!/^\/(login|assets\/[\w.-]+)?$/.test(path))
      return json(response, { code: 'not_found', message: 'nothing is here' }, 404)
    const name = path === '/' ? 'index.html' : path === '/login' ? 'login.html' : path.replace('/assets/', '')
    response.setHeader('Content-Type', TYPES[name.split('.').at(-1) ?? ''] ?? 'text/plain')
    response.end(readFileSync(new URL(name, FILES)))
  }

  /** @param {import('node:http').ServerResponse} response */
  #follow(response) {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write(`event: state\ndata: ${JSON.stringify(this.state)}\n\n`)
    this.#browsers.add(response)
    response.on('close', () => this.#browsers.delete(response))
  }
}

/** @param {import('node:http').ServerResponse} response @param {object} value */
function json(response, value, status = 200) {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(value))
}
