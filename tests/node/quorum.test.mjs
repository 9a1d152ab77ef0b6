// A lock over three independent servers: most of them decide, also with one gone.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, InvalidArgumentError, Lock, LostError, NotAcquiredError, quorumLock } from 'quotalock'
import { freshPrefix, servers } from './support.mjs'

/** Longer than a stall of a machine that is shared, and soon shorter than the servers have been up. */
const TTL = 6000
const LONG = 60_000

/** A client of each server. */
function clients(prefix = freshPrefix()) {
  return Object.values(servers()).map((url) => new Client(url, { prefix, timeoutMs: 10_000 }))
}

/** A client of a server that is not there: nobody listens on so low a port. */
const gone = (/** @type {string} */ prefix, port = 1) => new Client(`redis://127.0.0.1:${port}`, { prefix })

/** Waits until a lock is lost: that alone keeps no process alive. */
async function lost(/** @type {AbortSignal} */ signal) {
  const end = performance.now() + LONG
  while (!signal.aborted) {
    assert.ok(performance.now() < end, 'it is not lost')
    await sleep(10)
  }
}

/** Acquires what all tests are about, as soon as it can be had. */
const acquire = (/** @type {Client[]} */ all, /** @type {import('quotalock').QuorumOptions} */ options = {}) =>
  quorumLock(all, 'sku:42', { ttlMs: TTL, waitMs: LONG, ...options })

test('one holds, and the other is refused', async () => {
  const all = clients()
  const lock = await acquire(all, { label: 'checkout', tokenAbove: 7 })
  assert.ok(lock instanceof Lock && lock.held && lock.remainingMs < TTL)
  assert.deepEqual([lock.names, lock.ttlMs], [['sku:42'], TTL])
  const refused = await acquire(all, { waitMs: 0 }).catch((error) => error)
  assert.ok(refused instanceof NotAcquiredError)
  assert.match(refused.message, /"sku:42" was not acquired at once: 0 of 3 servers granted it/)
  const other = await acquire(all, { acquire: false })
  assert.equal(await other.acquire({ waitMs: 0 }), false)
  assert.equal((await other.inspect()).holders[0]?.label, 'checkout')
  const token = /** @type {number} */ (lock.token)
  assert.ok(token > 7)
  assert.deepEqual([await lock.release(), await lock.release()], [true, false])
  assert.ok(/** @type {number} */ (await other.run(({ token }) => token)) > token)
  assert.equal(other.state, 'released')
})

test('it is renewed and extended, and told when it is taken away', async () => {
  const all = clients()
  const lock = await acquire(all)
  await sleep(1.3 * TTL)
  assert.ok(lock.held)
  assert.equal(await lock.extend(2 * TTL), true)
  assert.ok(lock.remainingMs > TTL)
  const other = await acquire(all, { acquire: false })
  assert.equal(await other.forceRelease(), 1)
  await lost(lock.signal)
  assert.ok(lock.signal.reason instanceof LostError)
  assert.equal(lock.state, 'lost')
  assert.throws(() => lock.assertHeld(), LostError)
  assert.equal(await lock.extend(), false)
})

test('without renewal it ends', async () => {
  const lock = await acquire(clients(), { renew: false })
  await lost(lock.signal)
  assert.equal(lock.held, false)
})

test('one server may be gone, but not two', async () => {
  const prefix = freshPrefix()
  const [first, , third] = /** @type {[Client, Client, Client]} */ (clients(prefix))
  const lock = await acquire([first, gone(prefix), third])
  await assert.rejects(acquire(clients(prefix), { waitMs: 0 }), NotAcquiredError)
  assert.deepEqual([await lock.extend(), await lock.release()], [true, true])
  const one = [first, gone(prefix), gone(prefix, 2)]
  await assert.rejects(acquire(one, { waitMs: 200 }), { code: 'not_acquired', message: /1 of 3 servers granted it/ })
  // What the one granted was taken back.
  assert.ok((await first.lock('sku:42')).held)
})

test('a signal ends the wait, which leaves nothing', async () => {
  const all = clients()
  const lock = await acquire(all)
  const signal = AbortSignal.timeout(100)
  await assert.rejects(acquire(all, { signal }), { name: 'TimeoutError' })
  await lock.release()
  await (await acquire(all)).release()
})

test('what makes no quorum is refused', async () => {
  const all = [1, 2, 3].map((n) => new Client(`memory://${n}`))
  const [first] = /** @type {[Client]} */ (/** @type {unknown} */ (all))
  for (const [given, options, said] of /** @type {[any, any, RegExp][]} */ ([
    [[], {}, /0 clients make no quorum/],
    [all.slice(1), {}, /2 clients make no quorum/],
    [[...all, first], {}, /given twice/],
    [[...all, {}], {}, /client is an object: give a Client/],
    [first, {}, /clients is an object: give an array of clients/],
    [all, { ttlMs: 1 }, /ttl/],
    [all, { fair: true }, /fair/],
    [all, { replicasAck: 1 }, /replicasAck/],
  ])) {
    const error = await quorumLock(given, 'n', options).catch((error) => error)
    assert.ok(error instanceof InvalidArgumentError, `${error}`)
    assert.match(error.message, said)
  }
  await assert.rejects(quorumLock(all, ''), InvalidArgumentError)
})

test('on memory it is a lock as well', async () => {
  const lock = await quorumLock(
    [1, 2, 3].map((n) => new Client(`memory://${n}`)),
    Buffer.from('n'),
  )
  assert.deepEqual([await lock.extend(), await lock.forceRelease(), await lock.extend()], [true, 1, false])
})
