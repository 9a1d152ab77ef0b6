// The limiter that answers as rate-limiter-flexible does: the same steps on theirs in memory and on ours.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client, testing } from 'quotalock'
import { RateLimiterQuotalock, RateLimiterRes } from 'quotalock/rate-limiter-flexible'
import { client, redis, stores } from '../../node/support.mjs'
import { framework } from './support.mjs'

const { RateLimiterMemory } = framework('rate-limiter-flexible')

/** @typedef {[call: string, ...given: any[]]} Step */

/** What each says of the same steps, and what differs by design. @type {[string, { points: number, duration: number, blockDuration?: number }, Step[]][]} */
const CASES = [
  [
    'consume until it rejects',
    { points: 3, duration: 30 },
    [
      ['get', 'a'],
      ['consume', 'a'],
      ['consume', 'a', 2],
      ['consume', 'a'],
      ['consume', 'a', 5],
      ['get', 'a'],
      ['consume', 'b'],
    ],
  ],
  [
    'more than there is',
    { points: 3, duration: 30 },
    [
      ['consume', 'a', 4],
      ['get', 'a'],
      ['consume', 7, 3],
    ],
  ],
  [
    'penalty and reward',
    { points: 5, duration: 30 },
    [
      ['penalty', 'a'],
      ['penalty', 'a', 3],
      ['reward', 'a', 2],
      ['consume', 'a', 3],
      ['consume', 'a'],
      ['reward', 'a', 4],
      ['consume', 'a'],
      ['penalty', 'a', 9],
      ['consume', 'a'],
    ],
  ],
  [
    'delete',
    { points: 1, duration: 30 },
    [
      ['delete', 'a'],
      ['consume', 'a'],
      ['consume', 'a'],
      ['delete', 'a'],
      ['get', 'a'],
      ['consume', 'a'],
    ],
  ],
  [
    'block',
    { points: 2, duration: 30 },
    [
      ['block', 'a', 20],
      ['consume', 'a'],
      ['get', 'a'],
      ['consume', 'b'],
    ],
  ],
  [
    'a block of whoever consumes too much',
    { points: 2, duration: 10, blockDuration: 60 },
    [
      ['consume', 'a', 2],
      ['consume', 'a'],
      ['consume', 'a'],
      ['get', 'a'],
    ],
  ],
]

/**
 * What a call gave: a result that is compared, and whether it was rejected.
 * @param {any} limiter
 * @param {Step} step
 */
async function outcome(limiter, [call, ...given]) {
  try {
    return { rejected: false, found: await limiter[call](...given) }
  } catch (error) {
    return { rejected: true, found: error }
  }
}

for (const [store, url] of Object.entries(stores())) {
  for (const [name, how, steps] of CASES) {
    test(`${name} (${store})`, async () => {
      const theirs = new RateLimiterMemory(how)
      const ours = new RateLimiterQuotalock({ ...how, client: client(url) })
      for (const step of steps) {
        const [expected, actual] = [await outcome(theirs, step), await outcome(ours, step)]
        const place = `${step.join(' ')}: ${JSON.stringify(actual.found)} for ${JSON.stringify(expected.found)}`
        assert.equal(actual.rejected, expected.rejected, place)
        if (expected.found === null || typeof expected.found === 'boolean') {
          assert.equal(actual.found, expected.found, place)
          continue
        }
        assert.ok(actual.found instanceof RateLimiterRes, place)
        assert.equal(actual.found.remainingPoints, expected.found.remainingPoints, place)
        assert.ok(Math.abs(actual.found.msBeforeNext - expected.found.msBeforeNext) < 5000, place)
        // A blocked key counts nothing more.
        const blocked = name.includes('block') && actual.found.consumedPoints > how.points
        if (blocked) assert.ok(expected.found.consumedPoints > how.points, place)
        else assert.equal(actual.found.consumedPoints, expected.found.consumedPoints, place)
        if (!blocked && step[0] !== 'get') {
          assert.equal(actual.found.isFirstInDuration, expected.found.isFirstInDuration, place)
        }
      }
    })
  }
}

test('after its duration a key begins anew, and after a block too', async () => {
  const own = new Client('memory://flexible')
  const limiter = new RateLimiterQuotalock({ client: own, points: 1, duration: 10, blockDuration: 4 })
  const at = (/** @type {number} */ seconds) => testing.setTime(own, 1e15 + seconds * 1e6)
  at(0)
  await limiter.consume('a')
  const denied = await limiter.consume('a').catch((error) => error)
  assert.equal(denied.msBeforeNext, 4000)
  at(3)
  assert.equal((await limiter.consume('a').catch((error) => error)).msBeforeNext, 1000)
  at(4.1)
  assert.equal((await limiter.consume('a')).consumedPoints, 1)
  at(14.2)
  assert.deepEqual((await limiter.consume('a')).toJSON(), {
    remainingPoints: 0,
    msBeforeNext: 10_000,
    consumedPoints: 1,
    isFirstInDuration: true,
  })
})

test('many at once are admitted exactly', async () => {
  const limiter = new RateLimiterQuotalock({ client: client(redis()), points: 7, duration: 60 })
  const ends = await Promise.allSettled(Array.from({ length: 50 }, () => limiter.consume('a')))
  assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 7)
})

test('a Redis that is away rejects with an error', async () => {
  const how = { points: 1, duration: 60 }
  const away = new RateLimiterQuotalock({ ...how, client: client('redis://127.0.0.1:1') })
  await assert.rejects(away.consume('a'), { code: 'unavailable' })
  const closed = new RateLimiterQuotalock({ ...how, client: client('redis://127.0.0.1:1', { onError: 'closed' }) })
  await assert.rejects(closed.consume('a'), { code: 'unavailable', statusCode: 503 })
  const open = new RateLimiterQuotalock({ ...how, client: client('redis://127.0.0.1:1', { onError: 'open' }) })
  await Promise.all(Array.from({ length: 5 }, () => open.consume('a')))
})

test('what cannot be is refused at once, and what is not supported', async () => {
  /** @type {[any, RegExp][]} */
  const refused = [
    [{ points: 1, duration: 0 }, /RateLimiterQuotalock: duration 0.*nothing is counted forever/],
    [{ points: 1.5, duration: 1 }, /points 1\.5/],
    [{ points: 1, duration: 1, insuranceLimiter: {} }, /insuranceLimiter/],
    [{ points: 1, duration: 1, execEvenly: true }, /execEvenly/],
    [{ points: 1, duration: 1, keyPrefix: '' }, /name/],
    [{ points: 1, duration: 1e12 }, /period/],
  ]
  for (const [how, message] of refused) assert.throws(() => new RateLimiterQuotalock(how), { message })
  const limiter = new RateLimiterQuotalock({ client: new Client('memory://'), points: 1, duration: 1 })
  await assert.rejects(limiter.consume(/** @type {any} */ (undefined)), { code: 'invalid_argument' })
  await assert.rejects(limiter.consume('a', 1, /** @type {any} */ ({ customDuration: 5 })), /customDuration/)
  await assert.rejects(limiter.block('a', 0), /nothing is blocked forever/)
})
