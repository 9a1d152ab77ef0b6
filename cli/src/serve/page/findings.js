// What is wrong, in words: the one line at the top, worst first. Pure: a state in, sentences out.

import { age, count, percent, rate, some } from './format.js'
import { quoted } from './read.js'

/** From when on a wait for a lock, and a lock that others wait for, are worth a line. */
const [LONG_WAIT_MS, LONG_HOLD_MS] = [10_000, 60_000]
/** How long a limiter that admits nobody has to do so to be worth a line. */
const NOBODY_MS = 10_000
/** From when on a share of calls that is denied is worth a sentence. */
const MANY = 0.25

/** @typedef {{ level: 'bad' | 'near', text: string, section: string }} Finding */

/** A name of a holder. @param {HolderRow | undefined} holder */
export function who(holder) {
  if (!holder) return 'nobody'
  const label = quoted(holder.label)
  if (label) return holder.host ? `${label} on ${holder.host}` : label
  if (holder.host) return holder.process == null ? holder.host : `process ${holder.process} on ${holder.host}`
  return holder.process == null ? 'somebody' : `process ${holder.process}`
}

/** The limiter that denies most of what it is asked, if that is much. @param {State} state */
export function denier({ limiters }) {
  const share = (/** @type {LimiterRow} */ row) =>
    (row.denied_per_s ?? 0) / ((row.allowed_per_s ?? 0) + (row.denied_per_s ?? 0) || 1)
  const busy = limiters.filter((row) => (row.denied_per_s ?? 0) >= 1)
  const worst = busy.reduce(
    (/** @type {LimiterRow | undefined} */ most, row) => (most && share(most) >= share(row) ? most : row),
    undefined,
  )
  if (!worst || share(worst) < MANY) return ''
  return `Limiter ${quoted(worst.name)} denies ${percent(worst.denied_per_s ?? 0, (worst.allowed_per_s ?? 0) + (worst.denied_per_s ?? 0))} of its calls.`
}

/** What a server says of itself may begin with its name, and may not. @param {NodeRow} node @returns {Finding[]} */
function ofServer({ address, ok, why }) {
  if (ok) return []
  const said = why.length > 0 ? why : ['is unhealthy']
  const text = said.map((one) => (one.startsWith(address) ? one : `${address} ${one}`)).join('; ')
  return [{ level: 'bad', text, section: 'servers' }]
}

/** @param {LockRow} lock @returns {Finding[]} */
function ofLock({ name, holders, waiters, waited_ms, has_ttl }) {
  /** @type {Finding[]} */
  const found = has_ttl ? [] : [{ level: 'bad', text: `Lock ${quoted(name)} has no TTL`, section: 'locks' }]
  const oldest = holders.reduce((most, holder) => Math.max(most, holder.age_ms), 0)
  if (waiters > 0 && ((waited_ms ?? 0) >= LONG_WAIT_MS || oldest >= LONG_HOLD_MS)) {
    const text = `Lock ${quoted(name)} is held for ${age(oldest)} by ${who(holders[0])}, and ${waiters === 1 ? '1 waits' : `${count(waiters)} wait`}`
    found.push({ level: 'near', text, section: 'locks' })
  }
  return found
}

/** @param {LimiterRow} limiter @param {Point[]} points @param {number} now @returns {Finding[]} */
function ofLimiter({ name, denied_per_s, error_per_s }, points, now) {
  /** @type {Finding[]} */
  const found = []
  if (error_per_s)
    found.push({
      level: 'bad',
      text: `${rate(error_per_s)} calls a second of limiter ${quoted(name)} fail`,
      section: 'limiters',
    })
  const lately = points.filter(([at]) => at > now - NOBODY_MS)
  const since = lately[0]?.[0] ?? now
  const nobody = now - since > NOBODY_MS - 2_000 && lately.every(([, allowed, denied]) => allowed === 0 && denied > 0)
  if (nobody)
    found.push({
      level: 'near',
      text: `Limiter ${quoted(name)} admits nobody: ${rate(denied_per_s)} denied a second`,
      section: 'limiters',
    })
  return found
}

/**
 * All that is worth a line.
 * @param {State} state
 * @param {import('./histories.js').Histories} histories
 * @returns {Finding[]}
 */
export function findings(state, histories) {
  /** @type {Finding[]} */
  const found = state.problems.map((text) => ({ level: 'bad', text, section: 'servers' }))
  found.push(...state.nodes.flatMap(ofServer))
  const [stuck, looks] = [state.stuck_total, state.looks_stuck_total]
  if (stuck > 0) {
    const text = `${some(stuck, 'key')} ${stuck === 1 ? 'is' : 'are'} stuck: no TTL, and calls go on`
    found.push({ level: 'bad', text, section: 'without-ttl' })
  }
  if (looks > 0) {
    const text = `${some(looks, 'key')} without a TTL ${looks === 1 ? 'looks' : 'look'} stuck`
    found.push({ level: 'near', text, section: 'without-ttl' })
  }
  found.push(...state.locks.flatMap(ofLock))
  found.push(...state.limiters.flatMap((limiter) => ofLimiter(limiter, histories.of(limiter.name), state.now_ms)))
  // What is told of a server and of all of them may be the same.
  const told = [...new Map(found.map((one) => [one.text, one])).values()]
  return [...told.filter(({ level }) => level === 'bad'), ...told.filter(({ level }) => level === 'near')]
}
