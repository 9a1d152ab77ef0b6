// Locks: how holding ends, by a function's end, a disposal, or the close of the client.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ClosedError, LostError } from 'quotalock'
import { empty, handle, LONG } from './locks.mjs'
import { client, freshPrefix, redis, stores } from './support.mjs'

test('the close of a client gives back what is held through it', async () => {
  for (const end of /** @type {const} */ (['close', Symbol.dispose, Symbol.asyncDispose])) {
    const prefix = freshPrefix()
    const [own, other] = [client(redis(), { prefix }), client(redis(), { prefix })]
    const held = [
      await own.lock('sku:42'),
      await own.lockAll(['{all}a', '{all}b']),
      await own.semaphore('pool', 3, { weight: 2 }),
      await own.readLock('book'),
    ]
    const holder = await other.lock('other')
    const waits = own.lock('other', { waitMs: LONG })
    const ended = assert.rejects(waits, ClosedError)
    while ((await holder.inspect()).waiters === 0) await sleep(5)
    const ending = own[end]()
    assert.deepEqual(
      held.map((lock) => [lock.state, lock.held]),
      held.map(() => ['lost', false]),
    )
    await ending
    await ended
    if (end !== Symbol.dispose) {
      const look = await other.lock('sku:42', { acquire: false })
      assert.deepEqual((await look.inspect()).holders, [], 'it was waited for')
    }
    for (const lock of held) {
      assert.throws(() => lock.assertHeld(), LostError)
      assert.equal(await lock.release(), false)
      await assert.rejects(lock.acquire(), ClosedError)
    }
    await other.lock('sku:42', { waitMs: LONG })
    await other.lockAll(['{all}a', '{all}b'], { waitMs: LONG })
    await other.semaphore('pool', 3, { weight: 3, waitMs: LONG })
    await other.writeLock('book', { waitMs: LONG })
    await holder.release()
    await empty(holder, 'the one that waited')
    await own.close()
    await other.close()
  }
})

test('whoever works under a lock is told that its client was closed', async () => {
  const own = client(redis())
  const lock = await own.lock('n')
  const ended = await lock
    .run(async ({ signal }) => {
      await own.close()
      for (let turns = 0; !signal.aborted && turns < 1_000; turns++) await sleep(5)
      assert.ok(signal.aborted)
    })
    .catch((error) => error)
  assert.ok(ended instanceof LostError, `${ended}`)
})

test('run releases in every ending', async () => {
  for (const [store, url] of Object.entries(stores())) {
    const own = client(url)
    const lock = await handle(own, {})
    const reason = new Error('mine')
    assert.equal(await lock.run(({ token, held }) => held && token !== null), true)
    assert.equal(lock.state, 'released', store)
    assert.equal(await lock.run(async (it) => it === lock), true)
    const sync = lock.run(() => {
      throw reason
    })
    assert.equal(await sync.catch((error) => error), reason)
    assert.equal(await lock.run(() => Promise.reject(reason)).catch((error) => error), reason)
    assert.equal(lock.state, 'released')
    await lock.acquire()
    assert.equal(await lock.run(() => 5), 5, 'what is held is not acquired again')
    assert.equal(lock.state, 'released')
    assert.equal(await lock.run(async (it) => await it.release()), true, 'what it released itself is not lost')
    const other = await own.lock('sku:42')
    let ran = false
    const refused = lock.run(() => (ran = true), { waitMs: 10 })
    await assert.rejects(refused, { name: 'NotAcquiredError', message: /within 10 ms/ })
    const stopped = lock.run(() => (ran = true), { waitMs: LONG, signal: AbortSignal.timeout(10) })
    await assert.rejects(stopped, { name: 'TimeoutError' })
    assert.equal(ran, false)
    await other.release()
    // Lost meanwhile, whether the handle has noticed or not; what the function throws comes first.
    const lost = lock.run((it) => it.forceRelease())
    await assert.rejects(lost, { name: 'LostError', code: 'lost', message: /sku:42/ })
    const noticed = lock.run(async (it) => {
      await it.forceRelease()
      assert.equal(await it.extend(), false)
      assert.equal(it.state, 'lost')
    })
    await assert.rejects(noticed, { name: 'LostError' })
    const thrown = lock.run(async (it) => {
      await it.forceRelease()
      throw reason
    })
    assert.equal(await thrown.catch((error) => error), reason)
    await own.close()
  }
})

test('a handle runs one function at a time', async () => {
  for (const [store, url] of Object.entries(stores())) {
    const own = client(url)
    const lock = await handle(own, {})
    let ran = false
    const intrude = () => lock.run(() => (ran = true))
    const refused = { code: 'invalid_argument', message: /"?'?sku:42.* runs a function already/ }
    // From within, and from beside it.
    const end = lock.run(async () => {
      await assert.rejects(intrude(), refused, store)
      await sleep(30)
      assert.ok(lock.held)
      return 5
    })
    for (const until = performance.now() + LONG; !lock.held && performance.now() < until; ) await sleep(1)
    await assert.rejects(intrude(), refused, store)
    assert.equal(await end, 5)
    assert.equal(ran, false)
    assert.equal(await intrude(), true, 'one after the other')
    assert.equal(lock.state, 'released')
    await own.close()
  }
})

test('a lock is disposed of', async () => {
  const own = client(redis())
  const lock = await own.lock('sku:42')
  assert.equal(await lock[Symbol.asyncDispose](), undefined)
  assert.equal(lock.state, 'released')
  await lock[Symbol.asyncDispose]()
  await (await own.lock('sku:42')).release()
})

test('close ends who waits', async () => {
  for (const [store, url] of Object.entries(stores())) {
    const own = client(url)
    const lock = await own.lock('sku:42')
    const waits = own.lock('sku:42', { waitMs: LONG })
    const ended = assert.rejects(waits, { name: 'ClosedError', code: 'closed' }, store)
    await sleep(30)
    await own.close()
    await ended
    const after = [lock.release(), lock.extend(), lock.inspect(), lock.forceRelease(), own.lock('other')]
    for (const end of await Promise.allSettled(after)) {
      // Nothing is extended that was released just before.
      if (end.status === 'fulfilled') assert.equal(end.value, false, store)
      else assert.equal(end.reason.code, 'closed', store)
    }
  }
})
