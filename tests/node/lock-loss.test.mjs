// How a lock lasts, and how its holder learns that it is lost.

import assert from 'node:assert/strict'
import { getEventListeners, once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { LostError } from 'quotalock'
import { client, ownRedis, redis, run, stores } from './support.mjs'

/** What the machine may be late by: the tests share it, and a server or a thread may stand still alone. */
const SLACK = 3_000

/**
 * After how many milliseconds a signal fires.
 * @param {AbortSignal} signal
 * @param {number} began from when they count
 */
async function firedAfter(signal, began = performance.now()) {
  // A held lock keeps no process open, and neither does its signal.
  const late = setTimeout(() => assert.fail('it does not fire'), 10_000)
  if (!signal.aborted) await once(signal, 'abort')
  clearTimeout(late)
  return performance.now() - began
}

/**
 * How much later than that a timer of as many milliseconds fires: a busy machine is not to be taken for a slow library.
 * @param {number} ms
 */
async function lateness(ms) {
  const began = performance.now()
  await sleep(ms)
  return performance.now() - began - ms
}

/**
 * Does the same on every store, at the same time: it is a matter of waiting.
 * @param {(url: string, store: string) => Promise<void>} act
 */
const everywhere = (act) => Promise.all(Object.entries(stores()).map(([store, url]) => act(url, store)))

test('a lock is renewed while it is held', async () => {
  await everywhere(async (url, store) => {
    const own = client(url)
    // Longer than a stall of a machine that is shared.
    const lock = await own.lock('sku:42', { ttlMs: 6000 })
    const { signal } = lock
    for (let i = 0; i < 40; i++) {
      await sleep(200)
      assert.ok(lock.held && lock.remainingMs > 0, `${store}: ${lock.state}`)
    }
    assert.equal(signal.aborted, false)
    assert.equal(await lock.release(), true)
    await own.close()
  })
})

test('a lock is renewed while this thread is busy', async () => {
  const lock = await client(redis()).lock('sku:42', { ttlMs: 6000 })
  const still = new Int32Array(new SharedArrayBuffer(4))
  Atomics.wait(still, 0, 0, 8000)
  lock.assertHeld()
  assert.equal(await lock.release(), true)
})

test('a lock that is not renewed is lost at its deadline', async () => {
  await everywhere(async (url, store) => {
    const own = client(url)
    for (const how of [{ renew: false }, { maxHoldMs: 1 }]) {
      // Longer than a stall of a machine that is shared: a grant that comes later than this is none.
      const ttlMs = 3000
      const lock = await own.lock('sku:42', { ttlMs, ...how })
      const began = performance.now()
      const left = lock.remainingMs
      const [took, late] = await Promise.all([firedAfter(lock.signal, began), lateness(left)])
      // The margin for drift is 2 ms and 1 %.
      assert.ok(left <= 2968 && took >= left - 5 && took < left + SLACK + late, `${store}: ${took} of ${left}`)
      assert.deepEqual([lock.state, lock.held, lock.remainingMs], ['lost', false, 0])
      assert.throws(() => lock.assertHeld(), LostError)
      assert.ok(lock.token)
      await sleep(ttlMs - left)
      assert.equal(await lock.release(), false)
    }
    await own.close()
  })
})

test('an extension lengthens, and never shortens', async () => {
  const lock = await client(redis()).lock('sku:42', { ttlMs: 6000, renew: false })
  assert.equal(await lock.extend(60_000), true)
  assert.ok(lock.remainingMs > 50_000)
  assert.equal(await lock.extend(), true)
  assert.ok(lock.remainingMs > 50_000)
  assert.equal(lock.ttlMs, 6000)
  assert.equal(await lock.release(), true)
  assert.equal(await lock.extend(), false)
})

test('the signal fires soon after the lock was taken away', async () => {
  await everywhere(async (url, store) => {
    const own = client(url)
    // It is found a third of this later, and not two thirds, however late the machine is.
    const ttlMs = 12_000
    const lock = await own.lock('sku:42', { ttlMs })
    const { signal } = lock
    assert.equal(signal.aborted, false)
    assert.equal(await (await own.lock('sku:42', { acquire: false })).forceRelease(), 1)
    const [took, late] = await Promise.all([firedAfter(signal), lateness(ttlMs / 3)])
    assert.ok(took < ttlMs / 3 + SLACK + late, `${store}: ${took}`)
    assert.ok(signal.reason instanceof LostError)
    assert.match(signal.reason.message, /^lock "sku:42" was lost/)
    assert.equal(lock.state, 'lost')
    assert.equal(lock.signal, signal)
    await own.close()
  })
})

test('the signal fires at the deadline when the server stands still', async (context) => {
  const { url, server } = await ownRedis(context)
  const lock = await client(url).lock('sku:42', { ttlMs: 3000 })
  const { signal } = lock
  server.kill('SIGSTOP')
  const began = performance.now()
  const left = lock.remainingMs
  const [took, late] = await Promise.all([firedAfter(signal, began), lateness(left)])
  assert.ok(took >= left - 5 && took < left + SLACK + late, `${took} of ${left}`)
  assert.ok(signal.reason instanceof LostError)
  server.kill('SIGCONT')
})

test('a renewal that fails makes it uncertain until one succeeds', async (context) => {
  const { url, server } = await ownRedis(context)
  const lock = await client(url).lock('sku:42', { ttlMs: 9000 })
  // Not by `server.kill`, which sends only the first signal in Deno.
  const signal = (/** @type {string} */ name) => process.kill(/** @type {number} */ (server.pid), name)
  signal('SIGSTOP')
  for (const end = performance.now() + 8800; lock.state === 'held' && performance.now() < end; ) await sleep(20)
  assert.deepEqual([lock.state, lock.held], ['uncertain', true])
  lock.assertHeld()
  signal('SIGCONT')
  for (const end = performance.now() + 8800; lock.state === 'uncertain' && performance.now() < end; ) await sleep(20)
  assert.equal(lock.state, 'held')
  assert.equal(await lock.release(), true)
})

test('each grant has a signal of its own', async () => {
  for (const url of Object.values(stores())) {
    const own = client(url)
    const lock = await own.lock('sku:42', { acquire: false, ttlMs: 10_000 })
    const force = async () => {
      await lock.forceRelease()
      await lock.extend()
      assert.equal(lock.state, 'lost')
    }
    // Before the first grant it is that of the grant to come, also if that takes several attempts.
    const before = lock.signal
    const other = await own.lock('sku:42')
    assert.equal(await lock.acquire(), false)
    await assert.rejects(lock.acquire({ waitMs: 60_000, signal: AbortSignal.timeout(20) }))
    await other.release()
    // The attempt that was given up is taken back in the background, and goes before newcomers for a moment.
    assert.equal(await lock.acquire({ waitMs: 60_000 }), true)
    assert.equal(lock.signal, before)
    // A release fires nothing, and the next grant has another.
    assert.equal(await lock.release(), true)
    const second = lock.signal
    assert.notEqual(second, before)
    assert.equal(await lock.acquire(), true)
    assert.equal(lock.signal, second)
    await force()
    await firedAfter(second)
    assert.equal(lock.signal, second, 'that of the loss')
    assert.equal(await lock.acquire(), true)
    assert.notEqual(lock.signal, second)
    assert.equal(lock.signal.aborted, false)
    // What was lost before anybody asked has fired.
    await lock.release()
    await lock.acquire()
    await force()
    assert.ok(lock.signal.aborted && lock.signal.reason instanceof LostError)
    // It has fired before its handle is acquired or released again.
    for (const next of [() => lock.acquire(), () => lock.release()]) {
      await lock.release()
      await lock.acquire()
      const { signal } = lock
      await force()
      await next()
      assert.ok(signal.aborted)
    }
    await lock.release()
    assert.equal(before.aborted, false)
    await own.close()
  }
})

test('the signal ends what uses it', async () => {
  const own = client(redis())
  const lock = await own.lock('sku:42')
  // Looked at from the beginning: the word of a loss may come before the answer that tells of it.
  const work = sleep(60_000, undefined, { signal: lock.signal }).catch((reason) => reason)
  assert.equal(getEventListeners(lock.signal, 'abort').length, 1)
  await lock.forceRelease()
  assert.equal(await lock.extend(), false, 'it learns of it')
  const error = await work
  assert.ok(error.name === 'AbortError' && error.cause instanceof LostError)
})

test('who hears of the loss may use the lock', async () => {
  const lock = await client(redis()).lock('sku:42')
  /** @type {Promise<boolean> | undefined} */
  let again
  lock.signal.addEventListener('abort', () => {
    again = lock.release().then(() => lock.acquire())
  })
  const { signal } = lock
  await lock.forceRelease()
  assert.equal(await lock.extend(), false, 'it learns of it')
  await firedAfter(signal)
  assert.equal(await again, true)
  assert.equal(await lock.release(), true)
})

test('a handle that is forgotten is released, unless its signal is watched', async () => {
  const own = client(redis())
  const text = `
    import { once } from 'node:events'
    import { setTimeout as sleep } from 'node:timers/promises'
    import { Client } from 'quotalock'
    const client = new Client('${redis()}', { prefix: '${own.prefix}', timeoutMs: 10_000 })
    process.emitWarning = () => {} // Deno prints warnings whatever its options are.
    let lost
    const lead = async () => {
      const lock = await client.lock('leader', { ttlMs: 9000 })
      await once(lock.signal, 'abort')
      console.log(lock.state)
    }
    await (async () => {
      for (let i = 0; i < 50; i++) await client.lock('plain:' + i)
      await client.lock('left', { renew: false })
      lost = lead()
    })()
    const held = async (name) => (await (await client.lock(name, { acquire: false })).inspect()).holders.length
    let left = 50
    for (let i = 0; i < 500 && left > 0; i++) {
      globalThis.gc()
      await sleep(10)
      left = 0
      for (let i = 0; i < 50; i++) left += await held('plain:' + i)
    }
    console.log(left, await held('left'), await held('leader'))
    await (await client.lock('leader', { acquire: false })).forceRelease()
    // That alone keeps no process alive.
    await Promise.race([lost, sleep(20_000)])
    process.exit()`
  assert.deepEqual(await run(text, ['--expose-gc', '--no-warnings']), {
    code: 0,
    signal: null,
    output: '0 1 1\nlost\n',
  })
})
