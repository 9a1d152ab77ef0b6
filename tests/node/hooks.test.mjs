// `onDecision` and `onLost`: what is told to whom, how often, and what a function that fails changes.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, quorumLock, RateLimitedError, UnavailableError } from 'quotalock'
import { client, redis, stores } from './support.mjs'

const AWAY = 'unix:///nonexistent/quotalock.sock'

/**
 * A client that notes what it tells of decisions.
 * @param {string} url
 * @param {import('quotalock').ClientOptions} [options]
 */
function telling(url, options) {
  /** @type {[import('quotalock').Decision, unknown][]} */
  const told = []
  const own = client(url, { onDecision: (decision, key) => void told.push([decision, key]), ...options })
  return { own, told }
}

/**
 * What is emitted as warnings while something is done.
 * @param {() => Promise<void>} act
 */
async function warnings(act) {
  /** @type {any[]} */
  const seen = []
  const note = (/** @type {Error} */ warning) => void seen.push(warning)
  process.on('warning', note)
  await act()
  await sleep(0)
  process.off('warning', note)
  return seen
}

for (const [store, url] of Object.entries(stores())) {
  test(`each verb that charges or denies is told, on ${store}`, async () => {
    const { own, told } = telling(url)
    const limiter = own.limiter('checkout', '3/hour')
    const bytes = Buffer.from('b')
    const decided = [
      await limiter.consume('a'),
      await limiter.consume(bytes, { cost: 2, requestId: '1' }),
      await limiter.consumeUpTo('7', 5),
      await limiter.require('a'),
      await limiter.wait('a', { timeoutMs: 10_000 }),
    ]
    const reservation = await limiter.reserve('r', 1, { ttlMs: 60_000 })
    const denied = await limiter.consume('a')
    const limited = await limiter.require('a').catch((error) => error)
    assert.ok(limited instanceof RateLimitedError)
    const decisions = [...decided, reservation.decision, denied, limited.decision]
    const keys = ['a', bytes, '7', 'a', 'a', 'r', 'a', 'a']
    assert.equal(told.length, keys.length)
    told.forEach(([decision, key], at) => {
      assert.equal(decision, decisions[at])
      assert.equal(key, keys[at])
    })
    await own.close()
  })

  test(`what decides nothing is not told, on ${store}`, async () => {
    const { own, told } = telling(url)
    const limiter = own.limiter('checkout', '3/hour')
    await limiter.peek('a')
    await limiter.reset('a')
    await limiter.consume('a', { cost: 0 })
    await limiter.block('b', 60_000)
    assert.deepEqual(told, [])
    const reservation = await limiter.reserve('r', 1, { ttlMs: 60_000 })
    told.length = 0
    await limiter.refund('a', 1)
    await reservation.settle(1)
    await assert.rejects(limiter.consume(''))
    await assert.rejects(limiter.consume('a', { signal: AbortSignal.abort() }))
    assert.deepEqual(told, [])
    // It denies whatever is asked for.
    assert.equal((await limiter.consume('b', { cost: 0 })).allowed, false)
    assert.equal(told.length, 1)
    await own.close()
  })

  test(`of several charges each is told that counted, on ${store}`, async () => {
    const { own, told } = telling(url)
    const [user, shop] = [own.limiter('user', '2/hour', { scope: 's' }), own.limiter('shop', '1/hour', { scope: 's' })]
    const trial = own.limiter('trial', '1/hour', { scope: 's', enforce: false })
    await trial.consume('t')
    told.length = 0
    const both = await own.consumeAll([
      [user, 'u'],
      [shop, 's'],
    ])
    assert.ok(both.allowed)
    assert.deepEqual(told, [
      [both.decisions[0], 'u'],
      [both.decisions[1], 's'],
    ])
    told.length = 0
    const denied = await own.consumeAll([
      [user, 'u'],
      [shop, 's'],
      [trial, 't'],
    ])
    assert.equal(denied.allowed, false)
    // The first would have been admitted: it was neither charged nor denied.
    assert.deepEqual(told, [
      [denied.decisions[1], 's'],
      [denied.decisions[2], 't'],
    ])
    await own.close()
  })

  test(`a loss is told once, on ${store}`, async () => {
    /** @type {unknown[]} */
    const lost = []
    const own = client(url, { onLost: (lock) => void lost.push(lock) })
    const lock = await own.lock('sku:42')
    // The release finds it.
    await (await own.lock('sku:42', { acquire: false })).forceRelease()
    assert.equal(await lock.release(), false)
    assert.deepEqual(lost, [lock])
    // The lock's own listener hears it too.
    assert.ok(await lock.acquire())
    const fired = once(lock.signal, 'abort')
    await lock.forceRelease()
    assert.equal(await lock.extend(), false)
    await fired
    assert.deepEqual(lost, [lock, lock])
    assert.equal(await lock.release(), false)
    assert.ok(await lock.acquire())
    assert.ok(await lock.release())
    assert.deepEqual(lost, [lock, lock])
    await own.close()
  })

  test(`a loss by time is told though nobody looks, on ${store}`, async () => {
    /** @type {(lock: unknown) => void} */
    let tell = () => {}
    const told = new Promise((resolve) => {
      tell = resolve
    })
    const own = client(url, { onLost: (lock) => tell(lock) })
    // Longer than a stall of a machine that is shared.
    const lock = await own.lock('sku:42', { ttlMs: 1000, renew: false })
    const late = setTimeout(() => assert.fail('it is not told'), 10_000)
    assert.equal(await told, lock)
    clearTimeout(late)
    await own.close()
  })
}

test('decisions without Redis are told', async () => {
  const { own, told } = telling(redis(), { denyCacheMaxMs: 60_000 })
  const limiter = own.limiter('checkout', '2/hour')
  for (let i = 0; i < 4; i++) await limiter.consume('a')
  assert.equal(told.at(-1)?.[0].source, 'deny-cache')
  await own.close()
  for (const onError of /** @type {const} */ (['open', 'closed', 'local'])) {
    const { own, told } = telling(AWAY, { onError })
    await own.limiter('checkout', '2/hour').consume('a')
    assert.deepEqual(
      told.map(([decision]) => decision.source),
      [onError],
    )
    await own.close()
  }
})

test('a call that fails is not told', async () => {
  const { own, told } = telling(AWAY)
  await assert.rejects(own.limiter('checkout', '2/hour').consume('a'), UnavailableError)
  assert.deepEqual(told, [])
  await own.close()
})

test('a call that is aborted is not told', async () => {
  const { own, told } = telling(redis())
  const stop = new AbortController()
  const call = own.limiter('checkout', '2/hour').consume('a', { signal: stop.signal })
  stop.abort()
  await assert.rejects(call, { name: 'AbortError' })
  await own.limiter('checkout', '2/hour').consume('b')
  assert.deepEqual(
    told.map(([, key]) => key),
    ['b'],
  )
  await own.close()
})

test('it runs in the context of its caller', async () => {
  const request = new AsyncLocalStorage()
  /** @type {unknown[]} */
  const seen = []
  const own = client(redis(), { onDecision: () => void seen.push(request.getStore()) })
  const limiter = own.limiter('checkout', '100/hour')
  await Promise.all(['one', 'two'].map((id) => request.run(id, () => limiter.consume(id))))
  assert.deepEqual(seen.sort(), ['one', 'two'])
  await own.close()
})

test('what it throws changes nothing and is a warning', async () => {
  const seen = await warnings(async () => {
    const fail = () => {
      throw new RangeError('of the hook')
    }
    const own = client(redis(), { onDecision: fail, onLost: fail })
    const limiter = own.limiter('checkout', '1/hour')
    assert.ok((await limiter.consume('a')).allowed)
    await assert.rejects(limiter.require('a'), RateLimitedError)
    const lock = await own.lock('sku:42')
    await lock.forceRelease()
    assert.equal(await lock.release(), false)
    await own.close()
  })
  assert.deepEqual(
    seen.map(({ name, code, message, cause }) => [name, code, message.split('\n')[0], cause.message]),
    ['onDecision', 'onDecision', 'onLost'].map((what) => [
      'QuotalockWarning',
      'QUOTALOCK_HOOK',
      `${what} threw RangeError: of the hook`,
      'of the hook',
    ]),
  )
})

test('it may call the client', async () => {
  /** @type {Promise<unknown>[]} */
  const calls = []
  const own = client(redis(), {
    onDecision: ({ name }) => {
      if (name === 'checkout') calls.push(log.consume('all'))
    },
  })
  const [limiter, log] = [own.limiter('checkout', '3/hour'), own.limiter('log', '100/hour')]
  for (let i = 0; i < 4; i++) await limiter.consume('a')
  await Promise.all(calls)
  assert.equal((await log.peek('all')).remaining, 96)
  await own.close()
})

test('what cannot be called is refused', () => {
  for (const option of ['onDecision', 'onLost']) {
    assert.throws(() => new Client('memory://', { [option]: 5 }), {
      code: 'invalid_argument',
      message: `${option} 5 is a number: give a function`,
    })
    assert.throws(() => new Client('memory://', { [option]: async () => {} }), {
      code: 'invalid_argument',
      message: `${option} is an async function, and is not awaited: give a plain function`,
    })
  }
})

test('an adopted lock is one of its client, and a quorum of the first', async () => {
  /** @type {unknown[]} */
  const lost = []
  const onLost = (/** @type {unknown} */ lock) => void lost.push(lock)
  const own = client(redis(), { onLost })
  const giver = await own.lock('sku:42')
  const taker = await own.adopt(giver.handover())
  await taker.forceRelease()
  assert.equal(await taker.release(), false)
  assert.deepEqual(lost, [taker])
  await own.close()
  const three = ['a', 'b', 'c'].map((name) => client(`memory://hooks-${name}`, { onLost }))
  const lock = await quorumLock(three, 'sku:42')
  await lock.forceRelease()
  assert.equal(await lock.release(), false)
  assert.deepEqual(lost, [taker, lock])
  await Promise.all(three.map((each) => each.close()))
})
