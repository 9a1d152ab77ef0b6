// The vectors about what decisions tell over HTTP.

import assert from 'node:assert/strict'
import { Client, clientAddress, testing } from 'quotalock'
import { mustFail } from './failures.mjs'
import { client } from './support.mjs'

/** @typedef {import('./support.mjs').Case} Case */
/** @typedef {import('quotalock').Decision | import('quotalock').CombinedDecision} Told */

/** Where no server is. */
const NOBODY = 'redis://127.0.0.1:1'

/**
 * @param {Case} given
 * @param {string} url
 */
export async function answers(given, url) {
  const own = given.away ? new Client(NOBODY, { onError: given.away }) : client(url)
  /** @type {Map<string, import('quotalock').Limiter>} */
  const limiters = new Map()
  for (const [name, { policy, enforce }] of Object.entries(given.limiters)) {
    limiters.set(name, own.limiter(name, policy, { enforce }))
  }
  for (const [i, step] of given.steps.entries()) {
    testing.setTime(own, step.at)
    await check(await decided(own, limiters, step), step, `${given.id} step ${i}`)
  }
  await own.close()
}

/** @param {Case} given */
export async function address(given) {
  const { id, peer, forwarded, trusted, ipv6_prefix: ipv6Prefix } = given
  const ask = () => clientAddress(peer, forwarded, trusted, { ipv6Prefix })
  if (given.code) await mustFail(given, ask)
  else assert.equal(ask(), given.expect, id)
}

/**
 * @param {Client} own
 * @param {Map<string, import('quotalock').Limiter>} limiters
 * @param {Case} step
 * @returns {Promise<Told>}
 */
async function decided(own, limiters, step) {
  const named = (/** @type {string} */ name) => /** @type {import('quotalock').Limiter} */ (limiters.get(name))
  if (step.op === 'consume_all') {
    const charge = (/** @type {Case} */ each) => /** @type {const} */ ([named(each.limiter), each.key, each.cost])
    const combined = await own.consumeAll(step.charges.map(charge))
    const names = step.charges.map((/** @type {Case} */ each) => each.limiter)
    assert.deepEqual(
      combined.decisions.map(({ name }) => name),
      names,
    )
    return combined
  }
  const limiter = named(step.limiter)
  if (step.op === 'block') return await limiter.block(step.key, step.duration / 1000)
  assert.ok(step.op === 'consume' || step.op === 'peek', step.op)
  const decision = await limiter[/** @type {'consume' | 'peek'} */ (step.op)](step.key, { cost: step.cost })
  assert.equal(decision.name, step.limiter)
  return decision
}

/**
 * @param {Told} told
 * @param {Case} step
 * @param {string} place
 */
async function check(told, step, place) {
  for (const { expect, error, ...options } of step.headers ?? []) {
    if (error) await mustFail({ id: place, code: error }, () => told.headers(options))
    else assert.deepEqual(Object.entries(told.headers(options)), expect, place)
  }
  if (step.problem?.error) await mustFail({ id: place, code: step.problem.error }, () => told.problem())
  else if (step.problem) assert.deepEqual(told.problem(), step.problem, place)
  for (const [at, [algorithm, quota, period, capacity]] of (step.rules ?? []).entries()) {
    const rule = 'rules' in told ? told.rules[at] : undefined
    assert.deepEqual(
      [rule?.algorithm, rule?.quota, rule?.periodMs, rule?.capacity],
      [algorithm, quota, period / 1000, capacity],
      place,
    )
  }
}
