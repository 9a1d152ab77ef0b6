// What `testing` has for the tests of others, and faked timers as `node:test` has them.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { Client, testing } from 'quotalock'

let memories = 0
const own = () => new Client(`memory://of-the-kit-${memories++}`)

test('a clock stands still until it is moved', async () => {
  const client = own()
  const clock = new testing.Clock(client)
  const logins = client.limiter('login', '1/minute')
  assert.equal((await logins.consume('ada')).allowed, true)
  assert.equal((await logins.consume('ada')).retryAfterMs, 60_000)
  clock.advance(59_500)
  assert.equal((await logins.consume('ada')).retryAfterMs, 500)
  clock.advance(500)
  assert.equal((await logins.consume('ada')).allowed, true)
  assert.equal(clock.nowMs, 1_700_000_060_000)
  assert.equal(new testing.Clock(client, { atMs: 1_800_000_000_000 }).nowMs, 1_800_000_000_000)
})

test('a time that cannot be leaves the clock as it was', () => {
  const clock = new testing.Clock(own())
  assert.throws(() => clock.advance(-2_000_000_000_000), { code: 'invalid_argument' })
  assert.throws(() => clock.advance(/** @type {any} */ ('60')), { code: 'invalid_argument' })
  assert.throws(() => new testing.Clock(/** @type {any} */ ({})), { code: 'invalid_argument' })
  assert.equal(clock.nowMs, 1_700_000_000_000)
})

test('a decision for what a test doubles', async () => {
  const [admitted, denied] = [
    await testing.decision(),
    await testing.decision({ policy: '5/10s;9/minute', used: 5, name: 'api' }),
  ]
  assert.deepEqual([admitted.allowed, admitted.remaining], [true, 9])
  assert.deepEqual([denied.allowed, denied.retryAfterMs, denied.name], [false, 10_000, 'api'])
  assert.equal(denied.headers()['Retry-After'], '10')
  assert.equal(denied.problem().status, 429)
  const words = /** @type {const} */ (['open', 'closed', 'local'])
  const away = await Promise.all(words.map((onError) => testing.decision({ onError })))
  assert.deepEqual(
    away.map(({ allowed, source }) => [allowed, source]),
    [
      [true, 'open'],
      [false, 'closed'],
      [true, 'local'],
    ],
  )
  assert.equal(away[1]?.problem().status, 503)
  await assert.rejects(testing.decision({ policy: '5/minute', used: 6 }), { code: 'limited' })
})

test('faked timers are moved beside the clock, and neither moves the other', async (context) => {
  const now = 1_800_000_000_000
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate', 'Date'], now })
  context.after(() => mock.timers.reset())
  const client = own()
  const clock = new testing.Clock(client, { atMs: Date.now() })
  assert.equal(clock.nowMs, now)
  const logins = client.limiter('login', '1/minute')
  assert.equal((await logins.consume('ada')).allowed, true)
  mock.timers.tick(60_000)
  assert.equal((await logins.consume('ada')).allowed, false)
  clock.advance(60_000)
  assert.equal((await logins.consume('ada')).allowed, true)
  // A lock is renewed, and a wait sleeps, in real time.
  const lock = await client.lock('sku', { ttlMs: 10_000 })
  mock.timers.tick(3_600_000)
  assert.equal(lock.held, true)
  await lock.release()
})
