// Reservations: what they show, and who may settle them.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Worker } from 'node:worker_threads'
import { Decision, InvalidArgumentError, Reservation, testing, UnavailableError } from 'quotalock'
import { client, freshPrefix, redis, run, stores } from './support.mjs'

test('a reservation shows its key, its id and its decision', async () => {
  for (const [store, url] of Object.entries(stores())) {
    const limiter = client(url).limiter('n', '10/hour')
    const bytes = Buffer.from([0xff, 0])
    const held = await limiter.reserve(bytes, 8, { ttlMs: 60_000 })
    assert.ok(held instanceof Reservation && held.decision instanceof Decision)
    assert.match(held.id, /^[0-9a-f]{32}$/)
    assert.deepEqual([held.allowed, held.decision.cost, held.decision.remaining], [true, 8, 2], store)
    const denied = await limiter.reserve(bytes, 3, { ttlMs: 60_000 })
    assert.deepEqual([denied.allowed, denied.decision?.remaining], [false, 2], store)
    assert.notEqual(held.id, denied.id)
    // Nobody changes the key of what is held.
    bytes.fill(1)
    assert.deepEqual(held.key, Buffer.from([0xff, 0]))
    assert.deepEqual([await denied.settle(1), await denied.cancel()], [false, false], store)
    assert.deepEqual([await held.settle(3), await held.settle(3), await held.settle(4)], [true, true, false], store)
    assert.equal((await limiter.peek(held.key)).remaining, 7, store)
  }
})

test('one that is made of its key and id knows no decision, and settles', async () => {
  for (const [store, url] of Object.entries(stores())) {
    const limiter = client(url).limiter('n', '10/hour')
    const { id } = await limiter.reserve('k', 8, { ttlMs: 60_000 })
    const again = limiter.reservation('k', id.toUpperCase())
    assert.ok(again instanceof Reservation)
    assert.deepEqual([again.key, again.id, again.decision, again.allowed], ['k', id, null, null])
    assert.equal(inspect(again), `Reservation { key: 'k', id: '${id}', allowed: null }`)
    assert.equal(await limiter.reservation('other', id).cancel(), false, store)
    assert.equal(await again.cancel(), true, store)
    assert.equal((await limiter.peek('k')).remaining, 10, store)
  }
})

test('what becomes of one that nobody settles', async () => {
  for (const [store, url] of Object.entries(stores())) {
    const own = client(url)
    const limiter = own.limiter('n', '10/hour')
    const at = (/** @type {number} */ ms) => testing.setTime(own, (1_700_000_000_000 + ms) * 1000)
    at(0)
    const [spent, returned] = await Promise.all([
      limiter.reserve('spent', 8, { ttlMs: 1000 }),
      limiter.reserve('returned', 8, { ttlMs: 1000, unsettled: 'returned' }),
    ])
    at(1000)
    assert.deepEqual([await spent.settle(1), await returned.settle(1)], [false, false], store)
    const left = [await limiter.peek('spent'), await limiter.peek('returned')].map(({ remaining }) => remaining)
    assert.deepEqual(left, [2, 10], store)
  }
})

test('a reservation outlives its limiter', async () => {
  const text = `
    import { setImmediate } from 'node:timers/promises'
    import { Client } from 'quotalock'
    const client = new Client('memory://')
    const held = await client.limiter('n', '10/hour').reserve('k', 8, { ttlMs: 60000 })
    for (let i = 0; i < 20; i++) {
      globalThis.gc()
      await setImmediate()
    }
    // Takes the handle of the one that is gone.
    const other = client.limiter('other', '10/hour')
    console.log(await held.settle(3), (await other.peek('k')).remaining, (await client.limiter('n', '10/hour').peek('k')).remaining)
  `
  assert.deepEqual(await run(text, ['--expose-gc']), { code: 0, signal: null, output: 'true 10 7\n' })
})

test('a reservation is settled by a worker thread', async () => {
  const prefix = freshPrefix()
  const text = `
    const { parentPort, workerData } = require('node:worker_threads')
    const { Client } = require('quotalock')
    const { url, prefix, key, id } = workerData
    const limiter = new Client(url, { prefix, timeoutMs: 10_000 }).limiter('n', '10/hour')
    limiter.reservation(key, id).settle(3).then((settled) => parentPort.postMessage(settled))`
  const limiter = client(redis(), { prefix }).limiter('n', '10/hour')
  const held = await limiter.reserve('k', 8, { ttlMs: 60_000 })
  const workerData = { url: redis(), prefix, key: held.key, id: held.id }
  const worker = new Worker(text, { eval: true, workerData })
  assert.deepEqual(await once(worker, 'message'), [true])
  assert.equal((await limiter.peek('k')).remaining, 7)
  assert.deepEqual([await held.settle(3), await held.cancel()], [true, false])
})

test('without Redis nothing is settled, whatever on_error says', async () => {
  for (const onError of /** @type {const} */ (['raise', 'open', 'closed', 'local'])) {
    const limiter = client('redis://127.0.0.1:1', { onError }).limiter('n', '10/hour')
    await assert.rejects(limiter.reservation('k', '0'.repeat(32)).settle(1), UnavailableError, onError)
  }
})

test('arguments of a wrong type are refused, and named', async () => {
  const limiter = client('memory://').limiter('n', '9/hour')
  const any = /** @type {any} */ (limiter)
  const good = { ttlMs: 1000 }
  for (const [given, message] of [
    [[42, 1, good], /key 42 is a number/],
    [['', 1, good], /key is empty/],
    [['k', '1', good], /estimate '1' is a string/],
    [['k', undefined, good], /estimate undefined is missing/],
    [['k', 1.5, good], /estimate 1.5 is not a whole number/],
    [['k', 0, good], /amount 0/],
    [['k', -1, good], /estimate -1/],
    [['k', 1], /ttlMs undefined is missing/],
    [['k', 1, {}], /ttlMs undefined is missing/],
    [['k', 1, 1000], /options 1000 is a number: give an object { ttlMs, unsettled }/],
    [['k', 1, { ttlMs: '1000' }], /ttlMs '1000' is a string/],
    [['k', 1, { ttlMs: 0.5 }], /ttl 0.5 is not a whole number/],
    [['k', 1, { ttlMs: 0 }], /ttl/],
    [['k', 1, { ttlMs: Infinity }], /ttl/],
    [['k', 1, { ttl: 1000 }], /option 'ttl' is unknown: use ttlMs, unsettled/],
    [['k', 1, { ...good, unsettled: 'lost' }], /unsettled "lost" is unknown: use spent or returned/],
    [['k', 1, { ...good, unsettled: true }], /unsettled true is a boolean: give a string/],
  ]) {
    await assert.rejects(any.reserve(.../** @type {any[]} */ (given)), { name: 'InvalidArgumentError', message })
  }
  for (const [given, message] of [
    [[42, '0'.repeat(32)], /key 42 is a number/],
    [['', '0'.repeat(32)], /key is empty/],
    [['k'], /id undefined is missing/],
    [['k', Buffer.alloc(16)], /id is an object: give a string/],
    [['k', ''], /32 hexadecimal digits/],
    [['k', 'g'.repeat(32)], /32 hexadecimal digits/],
    [['k', '0'.repeat(33)], /32 hexadecimal digits/],
  ]) {
    assert.throws(() => any.reservation(.../** @type {any[]} */ (given)), { name: 'InvalidArgumentError', message })
  }
  const held = await limiter.reserve('k', 4, good)
  for (const actual of [undefined, null, '1', 1n, 1.5, -1, NaN, 2 ** 52 + 2]) {
    await assert.rejects(/** @type {any} */ (held).settle(actual), {
      name: 'InvalidArgumentError',
      message: /actual|cost/,
    })
  }
  assert.equal((await limiter.peek('k')).remaining, 5)
  assert.throws(() => Reflect.construct(Reservation, [{}, 'k', null]), InvalidArgumentError)
})
