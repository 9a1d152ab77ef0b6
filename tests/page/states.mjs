// States for tests that look at the page itself: a shop on a good day, and one on a bad night.

import { calm, server } from './scripted.mjs'

/** @typedef {ReturnType<typeof calm>} State */

/** Five minutes of a limiter. @param {number} now @param {number} allowed @param {number} denied */
function history(now, allowed, denied) {
  const point = (/** @type {number} */ at) => {
    const wave = 1 + 0.2 * Math.sin(at / 17)
    return [now - (300 - at) * 1000, allowed * wave, at > 200 ? denied * wave : 0]
  }
  return Array.from({ length: 300 }, (_, at) => point(at))
}

/** @param {number} now @param {string} name @param {number} allowed @param {number} denied */
function limiter(now, name, allowed, denied) {
  const rates = { allowed_per_s: allowed, denied_per_s: denied, would_deny_per_s: 0, error_per_s: 0 }
  return {
    name,
    ...rates,
    by_source: { redis: allowed, 'deny-cache': denied },
    history: history(now, allowed, denied),
    keys: 120,
  }
}

/** @param {number} now @param {number} at */
function refused(now, at) {
  const why = { state: 'denied', why: '10/minute: 0 of 10 left', used_percent: 100 }
  return {
    id: `d${at}`,
    limiter: 'checkout',
    scope: null,
    key: `user:${1042 + 7 * at}`,
    ...why,
    until_ms: now + 58_000 - 3_100 * at,
    per_s: 21.4 / (at + 1),
  }
}

/** @param {string} name @param {object} holder @param {object} rest */
const lock = (name, holder, rest) => ({
  id: name,
  name,
  kind: 'lock',
  holders: [
    {
      host: 'web-1',
      process: 712,
      label: '',
      age_ms: 4_000,
      remaining_ms: 21_400,
      token: '1795430839919762',
      ...holder,
    },
  ],
  ...{ waiters: 0, waited_ms: null, permits: 1, has_ttl: true, ...rest },
})

/** A shop with work to do, and nothing wrong. @returns {State} */
export function busy() {
  const state = calm(Date.now())
  const now = state.now_ms
  const used = { state: 'near', until_ms: null, per_s: null, scope: null }
  state.writes = true
  state.limiters = [limiter(now, 'checkout', 210, 80), limiter(now, 'login', 40, 2), limiter(now, 'search', 820, 0)]
  state.denied = [
    {
      id: 'b',
      limiter: 'login',
      scope: null,
      key: 'ip:203.0.113.9',
      state: 'blocked',
      why: '5/hour: 3 of 5 left',
      used_percent: 40,
      until_ms: now + 5_400_000,
      per_s: 1.4,
    },
    ...Array.from({ length: 14 }, (_, at) => refused(now, at)),
    { id: 'n', limiter: 'api', key: 'token:9f3c', why: '1000/hour: 38 of 1000 left', used_percent: 96, ...used },
  ]
  state.denied_total = state.denied.length
  state.locks = [
    lock('invoices', { host: 'web-3', process: 4121 }, {}),
    lock('reports', { label: 'nightly' }, { kind: 'semaphore', permits: 2 }),
    lock('sku:42', { label: 'checkout worker', age_ms: 180 }, { waiters: 1, waited_ms: 140 }),
  ]
  state.locks_total = state.locks.length
  state.stocks = [
    { name: 'sneaker-42', scope: null, available: 118, held: 32, sold: 850, total: 1_000, phase: 'open' },
    { name: 'tickets', scope: 'vienna', available: 0, held: 0, sold: 500, total: 500, phase: 'open' },
  ]
  state.stocks_total = state.stocks.length
  const entries = { entries: 2_211, fresh: 2_100, stale: 110, loading: 1, failed: 0 }
  state.caches = [{ name: 'product', hits_per_s: 940, stale_per_s: 31, loads_per_s: 4.2, ...entries }]
  state.nodes = [
    { ...server('redis-1:6379'), memory_max: 64 << 20 },
    { ...server('redis-2:6379'), role: 'replica' },
  ]
  return state
}

/** The same on a bad night. @returns {State} */
export function wrong() {
  const state = busy()
  state.without_ttl = [
    {
      key: 'limit:sku:42',
      family: 'SET NX EX, then DECR',
      kind: 'negative_counter',
      means: 'it expired between the two commands, and DECR created it again: every call is denied for ever',
      state: 'stuck',
      why: 'while it was watched it was counted further down below zero',
    },
    {
      key: 'laravel_cache:login|10.0.0.1',
      family: "Laravel's RateLimiter",
      kind: 'no_ttl',
      means: 'the counter lost its TTL: the limit is used up for ever',
      state: 'looks',
      why: 'by its own record its time is not over yet',
    },
  ]
  Object.assign(state, { without_ttl_total: 2, stuck_total: 1, looks_stuck_total: 1 })
  Object.assign(
    state.locks[0] ?? {},
    lock('invoices', { host: 'web-3', process: 4121, age_ms: 732_000 }, { waiters: 3, waited_ms: 64_000 }),
  )
  const away = {
    answers: false,
    ok: false,
    why: ['does not answer: connection refused'],
    version: null,
    memory_used: null,
    memory_max: null,
  }
  state.nodes.push(
    /** @type {any} */ ({ ...server('redis-3:6379'), ...away, clients: null, ops_per_s: null, keys: null }),
  )
  return state
}
