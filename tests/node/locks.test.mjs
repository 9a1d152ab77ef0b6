// Locks: who holds, who waits, and what stays behind.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Lock, NotAcquiredError } from 'quotalock'
import { empty, handle, LONG } from './locks.mjs'
import { client, ownRedis, redis, run, stores } from './support.mjs'

test('one holds, and the other learns who', async () => {
  for (const [store, url] of Object.entries(stores())) {
    const own = client(url)
    const lock = await own.lock('sku:42', { label: 'checkout' })
    assert.ok(lock instanceof Lock && lock.held && lock.state === 'held', store)
    assert.ok(lock.remainingMs > 25_000 && lock.remainingMs <= 29_698, `${lock.remainingMs}`)
    lock.assertHeld()
    const other = await handle(own, {})
    assert.equal(await other.acquire(), false)
    const refused = await own.lock('sku:42').catch((error) => error)
    assert.ok(refused instanceof NotAcquiredError, store)
    assert.match(refused.message, /"sku:42" was not acquired at once: .*"checkout"/)
    const { holders, ...rest } = await other.inspect()
    assert.deepEqual(rest, { token: lock.token, waiters: 0, healed: false })
    const [{ host, pid, label, token, permits, sinceMs = 0, untilMs = 0 } = {}, ...others] = holders
    assert.deepEqual([pid, label, token, permits, others], [process.pid, 'checkout', lock.token, 1, []])
    assert.ok(host)
    assert.equal(untilMs - sinceMs, 30_000)
    const before = /** @type {number} */ (lock.token)
    assert.equal(await other.release(), false, 'another handle releases nothing')
    assert.deepEqual([await lock.release(), await lock.release()], [true, false])
    assert.deepEqual([lock.state, lock.held, lock.token, lock.remainingMs], ['released', false, null, 0])
    assert.equal(await other.acquire(), true)
    assert.ok(/** @type {number} */ (other.token) > before)
    assert.equal(await other.forceRelease(), 1)
    assert.equal(await other.extend(), false)
    await own.close()
  }
})

test('a name is text or bytes', async () => {
  const own = client('memory://')
  const given = Buffer.from('sku:42')
  const lock = await own.lock(given)
  given.fill(0)
  assert.deepEqual(lock.names, [Buffer.from('sku:42')])
  assert.deepEqual(lock.redisKeys, [Buffer.from(`${own.prefix}:lock:{sku:42}`)])
  await assert.rejects(own.lock('sku:42'), NotAcquiredError)
  const several = await own.lockAll(['ä', new Uint8Array([255])], { acquire: false })
  assert.deepEqual(several.names, ['ä', Buffer.from([255])])
  assert.deepEqual(
    several.redisKeys.map((key) => key.toString('latin1')),
    [`${own.prefix}:lock:{Ã¤}`, `${own.prefix}:lock:{ÿ}`],
  )
})

test('a hundred waiters hold it one after another', async () => {
  for (const [store, url] of Object.entries(stores())) {
    const own = client(url)
    let inside = 0
    let most = 0
    /** @type {number[]} */
    const tokens = []
    const work = async () => {
      const lock = await own.lock('sku:42', { waitMs: LONG })
      most = Math.max(most, ++inside)
      tokens.push(/** @type {number} */ (lock.token))
      await new Promise((resolve) => setImmediate(resolve))
      inside--
      assert.equal(await lock.release(), true)
    }
    await Promise.all(Array.from({ length: 100 }, work))
    assert.equal(most, 1, store)
    assert.deepEqual(
      tokens,
      [...new Set(tokens)].sort((a, b) => a - b),
      'tokens grow',
    )
    await own.close()
  }
})

test('waiters of one process cost about one script an acquisition', async (context) => {
  const { url, socket } = await ownRedis(context)
  const admin = new Redis(socket)
  for (const fair of [false, true]) {
    const own = client(url)
    await (await own.lock('warm')).release()
    await admin.config('RESETSTAT')
    const work = async () => {
      const lock = await own.lock('sku:42', { waitMs: LONG, fair })
      await sleep(1)
      await lock.release()
    }
    await Promise.all(Array.from({ length: 100 }, work))
    const stats = await admin.info('commandstats')
    const calls = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, n]) => sum + Number(n), 0)
    context.diagnostic(`${calls / 100} scripts per acquisition, ${fair ? 'fair' : 'in any order'}`)
    assert.ok(calls > 0 && calls <= 150, `${calls} scripts`)
    await own.close()
  }
  admin.disconnect()
})

test('three processes take turns', async () => {
  const own = client(redis())
  const text = `
    import { Client } from 'quotalock'
    const client = new Client('${redis()}', { prefix: '${own.prefix}', timeoutMs: 10_000 })
    const inside = client.limiter('inside', '1/hour')
    for (let i = 0; i < 50; i++) {
      const lock = await client.lock('sku:42', { waitMs: ${LONG} })
      await inside.require('k')
      await inside.reset('k')
      await lock.release()
    }
    console.log('done')`
  const ends = await Promise.all([1, 2, 3].map(() => run(text)))
  for (const end of ends) assert.deepEqual(end, { code: 0, signal: null, output: 'done\n' })
})

test('waiting blocks nobody else', async () => {
  for (const url of Object.values(stores())) {
    const own = client(url)
    const lock = await own.lock('sku:42')
    const other = await handle(own, { waitMs: 300 })
    const began = performance.now()
    assert.equal(await other.acquire(), false, 'as long as the handle was told to')
    const took = performance.now() - began
    assert.ok(took >= 295 && took < 10_000, `${took}`)
    assert.match((await own.lock('sku:42', { waitMs: 20 }).catch((error) => error)).message, /within 20 ms/)
    let waiting = true
    const waits = other.acquire({ waitMs: LONG }).finally(() => (waiting = false))
    for (let tick = 0; tick < 20; tick++) {
      await sleep(5)
      assert.ok(waiting, 'this thread stood still')
    }
    assert.equal(await lock.release(), true)
    assert.equal(await waits, true)
    await other.release()
    await empty(lock, url)
    await own.close()
  }
})

test('an aborted acquisition rejects with the reason, and leaves the handle free', async () => {
  for (const [store, url] of Object.entries(stores())) {
    const own = client(url)
    const lock = await own.lock('sku:42')
    const other = await handle(own, {})
    const reason = new Error('enough')
    assert.equal(await other.acquire({ signal: AbortSignal.abort(reason) }).catch((error) => error), reason)
    for (const start of [other.acquire.bind(other), (/** @type {any} */ how) => own.lock('sku:42', how)]) {
      const controller = new AbortController()
      const waits = start({ waitMs: LONG, signal: controller.signal })
      await sleep(30)
      controller.abort(reason)
      assert.equal(await waits.catch((/** @type {unknown} */ error) => error), reason, store)
      // At once, not only when the core has answered.
      assert.equal(await other.acquire(), false)
    }
    await assert.rejects(own.lock('sku:42', { waitMs: LONG, signal: AbortSignal.timeout(20) }), {
      name: 'TimeoutError',
    })
    // A signal has no effect on what is held already.
    await lock.release()
    const late = new AbortController()
    // What the others are about to take back goes before newcomers for a moment.
    assert.equal(await other.acquire({ waitMs: LONG, signal: late.signal }), true)
    late.abort()
    await sleep(10)
    assert.ok(other.held)
    await other.release()
    await empty(other, store)
    await own.close()
  }
})

test('two thousand waits aborted at random moments leave nothing', async (context) => {
  for (const [store, url] of Object.entries(stores())) {
    const own = client(url)
    const counts = { granted: 0, aborted: 0, refused: 0 }
    let inside = 0
    /** @type {Lock[]} */
    const handles = []
    const wait = async (/** @type {number} */ i) => {
      const lock = await own.lock(`sku:${i % 7}`, { acquire: false, fair: i % 2 === 0 })
      handles.push(lock)
      await sleep(Math.random() * 300)
      const controller = new AbortController()
      // Some are not aborted, however long a turn takes.
      if (i % 40 > 0) setTimeout(() => controller.abort('enough'), Math.random() * 40)
      try {
        const waitMs = i % 40 > 0 && Math.random() < 0.1 ? 5 : LONG
        if (!(await lock.acquire({ waitMs, signal: controller.signal }))) {
          counts.refused++
          return
        }
      } catch (error) {
        assert.equal(error, 'enough', store)
        assert.equal(lock.held, false)
        counts.aborted++
        return
      }
      counts.granted++
      if (i % 7 === 0) assert.equal(++inside, 1, store)
      await sleep(Math.random() * 2)
      if (i % 7 === 0) inside--
      assert.equal(await lock.release(), true, store)
    }
    await Promise.all(Array.from({ length: 2000 }, (_, i) => wait(i)))
    context.diagnostic(`${store}: ${JSON.stringify(counts)}`)
    assert.ok(counts.granted > 20 && counts.aborted > 100, JSON.stringify(counts))
    assert.equal(handles.filter(({ state }) => state !== 'released').length, 0, store)
    for (let i = 0; i < 7; i++)
      await empty(/** @type {Lock} */ (handles.find(({ names }) => names[0] === `sku:${i}`)), store)
    for (let i = 0; i < 7; i++) await (await own.lock(`sku:${i}`)).release()
    await own.close()
  }
})

test('a semaphore has as many holders as permits', async () => {
  for (const [store, url] of Object.entries(stores())) {
    const own = client(url)
    let inside = 0
    let most = 0
    const work = async (/** @type {number} */ weight) => {
      const lock = await own.semaphore('pool', 3, { weight, waitMs: LONG })
      inside += weight
      most = Math.max(most, inside)
      await sleep(2)
      inside -= weight
      assert.equal(await lock.release(), true)
    }
    await Promise.all(Array.from({ length: 30 }, (_, i) => work(1 + (i % 3))))
    assert.equal(most, 3, store)
    // Tries of one process do not wait for each other.
    const [first] = await Promise.all([own.semaphore('pool', 3, { weight: 2 }), own.semaphore('pool', 3)])
    await assert.rejects(own.semaphore('pool', 3), NotAcquiredError)
    const { holders } = await first.inspect()
    assert.deepEqual(holders.map(({ permits }) => permits).sort(), [1, 2])
    assert.equal(await first.forceRelease(), 2)
    await own.close()
  }
})

test('many read, one writes, and a writer who waits is not starved', async () => {
  for (const [store, url] of Object.entries(stores())) {
    const own = client(url)
    const readers = await Promise.all([1, 2, 3].map(() => own.readLock('rw')))
    await assert.rejects(own.writeLock('rw'), { name: 'NotAcquiredError', message: /^write lock "rw"/ })
    const writer = own.writeLock('rw', { waitMs: LONG })
    for (const end = performance.now() + 10_000; (await readers[0]?.inspect())?.waiters !== 1; await sleep(5)) {
      assert.ok(performance.now() < end, `${store}: the writer does not wait`)
    }
    await assert.rejects(own.readLock('rw'), NotAcquiredError, `${store}: a reader passed a waiting writer`)
    assert.equal((await readers[0]?.inspect())?.waiters, 1)
    for (const reader of readers) assert.equal(await reader.release(), true)
    const held = await writer
    await assert.rejects(own.readLock('rw'), NotAcquiredError)
    const next = own.readLock('rw', { waitMs: LONG })
    assert.equal(await held.release(), true)
    assert.equal(await (await next).release(), true)
    await own.close()
  }
})

test('several names are granted all or none, in any order', async () => {
  for (const [store, url] of Object.entries(stores())) {
    const own = client(url)
    const one = await own.lock('b')
    await assert.rejects(own.lockAll(['a', 'b', 'c']), NotAcquiredError)
    await (await own.lock('a')).release()
    await one.release()
    let inside = 0
    const work = async (/** @type {number} */ i) => {
      const names = ['a', 'b', 'c']
      const lock = await own.lockAll(i % 2 ? names : names.reverse(), { waitMs: LONG })
      assert.equal(++inside, 1, store)
      await sleep(1)
      inside--
      assert.equal(await lock.release(), true)
    }
    await Promise.all(Array.from({ length: 20 }, (_, i) => work(i)))
    await own.close()
  }
})

test('a floor raises the token', async () => {
  for (const url of Object.values(stores())) {
    const own = client(url)
    const far = 2 ** 51
    const lock = await own.lock('sku:42', { tokenAbove: far })
    assert.equal(lock.token, far + 1)
    lock.raiseFloor(far + 10)
    await lock.release()
    await lock.acquire()
    assert.equal(lock.token, far + 11)
    await lock.release()
    await own.close()
  }
})
