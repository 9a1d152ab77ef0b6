// Locks that cannot be, and servers that cannot answer, by class and code.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import * as quotalock from 'quotalock'
import { testing } from 'quotalock'
import { rejected } from './failures.mjs'
import { BUN, client, freshPrefix, ownRedis, redis, stores } from './support.mjs'

const BAD = 'InvalidArgumentError'

test('numbers that cannot be', async () => {
  const own = client('memory://')
  for (const ttlMs of [0, 9, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 7 * 86_400_000 + 1]) {
    await rejected(own.lock('n', { ttlMs }), BAD, 'ttl')
    await rejected(own.lock('n', { ttlMs, acquire: false }), BAD, 'ttl')
  }
  for (const waitMs of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    await rejected(own.lock('n', { waitMs }), BAD, 'wait')
    await rejected((await own.lock('n', { acquire: false })).acquire({ waitMs }), BAD, 'wait')
    await rejected(
      (await own.lock('n', { acquire: false })).run(() => {}, { waitMs }),
      BAD,
      'wait',
    )
  }
  for (const floor of [-1, 0.5, Number.NaN, 2 ** 52 + 1, Number.POSITIVE_INFINITY]) {
    await rejected(own.lock('n', { tokenAbove: floor }), BAD, 'token_above')
    const lock = await own.lock('n', { acquire: false })
    assert.throws(() => lock.raiseFloor(floor), quotalock.InvalidArgumentError)
  }
  await rejected(own.lock('n', { maxHoldMs: 0 }), BAD, 'max_hold')
  await rejected(own.lock('n', { replicasAck: -1 }), BAD, 'replicas_ack')
  await rejected(own.lock('n', { replicasAck: 2 ** 32 }), BAD, 'replicas_ack', '2^32 - 1')
  await rejected(own.lock('n', { replicasAck: 1 }), BAD, 'replicas_ack', 'memory:// has none')
  await rejected(own.lock('n', { replicasAck: 1, ackTimeoutMs: 0 }), BAD, 'ack_timeout')
  // Also where the option is not needed yet.
  await rejected(own.lock('n', { ackTimeoutMs: 0 }), BAD, 'ack_timeout')
  for (const waitMs of [-1, 36_500 * 86_400_000 + 1]) {
    await rejected(own.lock('n', { waitMs, acquire: false }), BAD, 'wait')
  }
  await rejected(own.lock('n', { label: 'x'.repeat(129) }), BAD, 'label')
  for (const permits of [0, -1, 0.5, Number.NaN, 2 ** 31]) await rejected(own.semaphore('n', permits), BAD, 'permits')
  for (const weight of [0, -1, 4, 1.5]) await rejected(own.semaphore('n', 3, { weight }), BAD, 'weight')
  const held = await own.lock('n')
  for (const ttlMs of [0, -5, Number.NaN]) await rejected(held.extend(ttlMs), BAD, 'ttl')
  assert.equal(await held.release(), true)
})

test('names that cannot be', async () => {
  const own = client('memory://')
  for (const name of ['', Buffer.alloc(0), 'x'.repeat(2048), Buffer.alloc(1025)]) {
    for (const call of [own.lock(name), own.readLock(name), own.writeLock(name), own.semaphore(name, 1)]) {
      await rejected(call, BAD)
    }
    await rejected(own.lockAll(['n', name]), BAD)
  }
  const any = /** @type {any} */ (own)
  for (const name of [42, null, undefined, {}, ['n']]) await rejected(any.lock(name), BAD, 'name')
  await rejected(own.lock('\ud800'), BAD, 'UTF-8')
  await rejected(own.lockAll([]), BAD, '0 lock names')
  await rejected(own.lockAll(['n', 'm', 'n']), BAD, 'twice')
  await rejected(own.lockAll(Array.from({ length: 101 }, (_, i) => `n${i}`)), BAD, '101')
  for (const names of ['n', undefined, { 0: 'n' }]) await rejected(any.lockAll(names), BAD, 'names')
})

test('arguments of a wrong type or another name', async () => {
  const any = /** @type {any} */ (client('memory://'))
  const wrong = {
    ttlMs: '5',
    waitMs: '5',
    fair: 1,
    renew: null,
    maxHoldMs: 5n,
    tokenAbove: [],
    label: 5,
    acquire: 'no',
  }
  for (const [name, value] of Object.entries({ ...wrong, replicasAck: true, ackTimeoutMs: {}, signal: {} })) {
    await rejected(any.lock('n', { [name]: value }), BAD, name)
  }
  await rejected(any.lock('n', { ttl: 5 }), BAD, "'ttl'", 'ttlMs')
  await rejected(any.lock('n', { weight: 5 }), BAD, "'weight'")
  await rejected(any.lock('n', 5), BAD, 'options')
  await rejected(any.semaphore('n', '3'), BAD, 'permits')
  await rejected(any.semaphore('n'), BAD, 'permits', 'missing')
  await rejected(any.semaphore('n', { weight: 3 }), BAD, 'permits')
  await rejected(any.lock('n', { acquire: false, signal: new AbortController().signal }), BAD, 'signal')
  const lock = await any.lock('n', { acquire: false })
  await rejected(lock.acquire(5), BAD, 'options')
  await rejected(lock.acquire({ wait: 5 }), BAD, "'wait'")
  await rejected(lock.extend('5'), BAD, 'ttlMs')
  assert.throws(() => lock.raiseFloor('5'), quotalock.InvalidArgumentError)
  for (const fn of [undefined, 5, {}]) await rejected(lock.run(fn), BAD, 'fn')
  await rejected(
    lock.run(() => {}, 5),
    BAD,
    'options',
  )
  assert.equal(await lock.acquire(), true)
})

test('a handle is acquired once at a time', async () => {
  for (const url of Object.values(stores())) {
    const own = client(url)
    const lock = await own.lock('n')
    await rejected(lock.acquire(), BAD, 'held by this handle')
    const other = await own.lock('n', { acquire: false })
    const waits = other.acquire({ waitMs: 60_000 })
    await rejected(other.acquire(), BAD, 'being acquired')
    assert.throws(() => other.assertHeld(), { name: 'LostError', message: /is not held/ })
    assert.equal(await other.release(), false, 'it waits on')
    await lock.release()
    assert.equal(await waits, true)
    await own.close()
    await rejected(own.lock('n'), 'ClosedError')
  }
})

test('errors have the stack of the caller', async () => {
  const own = client(redis())
  const lock = await own.lock('n')
  const other = await own.lock('n', { acquire: false })
  /** Bun's stacks have no caller of what is answered later, or behind `then`. @type {[string, () => unknown, boolean?][]} */
  const calls = [
    ['NotAcquiredError', () => own.lock('n')],
    ['NotAcquiredError', () => own.semaphore('n', 1).then(() => own.lock('n')), BUN],
    ['NotAcquiredError', () => other.run(() => {})],
    ['InvalidArgumentError', () => own.lock(''), BUN],
    ['InvalidArgumentError', () => lock.acquire()],
    ['InvalidArgumentError', () => lock.extend(0)],
    ['LostError', () => other.assertHeld()],
    ['LostError', () => lock.run((it) => it.forceRelease())],
    ['ClosedError', () => other.inspect(), BUN],
  ]
  for (const [name, call, isLost] of calls) {
    if (name === 'ClosedError') await own.close()
    async function findMe() {
      await call()
    }
    const { stack } = await rejected(findMe(), name)
    if (isLost) assert.ok(!stack.includes('findMe'), stack)
    else assert.match(stack, /at .*findMe .*lock-errors\.test\.mjs/, name)
  }
})

test('a server that is not there, and one that does not permit', async (context) => {
  await rejected(client('redis://127.0.0.1:1').lock('n'), 'UnavailableError', '127.0.0.1:1')
  await rejected(client('redis://127.0.0.1:1').lock('n', { waitMs: 100 }), 'UnavailableError', '127.0.0.1:1')
  const admin = new Redis(redis())
  const user = freshPrefix()
  await admin.acl('SETUSER', user, 'on', '>secret', '~*', '+@all', '-evalsha', '-eval')
  await rejected(
    client(redis().replace('redis://', `redis://${user}:secret@`)).lock('n'),
    'NotPermittedError',
    'evalsha',
  )
  await admin.acl('DELUSER', user)
  admin.disconnect()
  const { url, server } = await ownRedis(context)
  const own = client(url, { timeoutMs: 2_000 })
  const lock = await own.lock('n')
  server.kill('SIGSTOP')
  await rejected(lock.release(), 'TimeoutError')
  server.kill('SIGCONT')
  assert.equal(lock.state, 'released')
})

test('a key of another type, and a leftover that is healed', async () => {
  for (const url of Object.values(stores())) {
    const own = client(url)
    const lock = await own.lock('n', { acquire: false })
    const [key] = /** @type {[Buffer]} */ (lock.redisKeys)
    if (url !== 'memory://') {
      await testing.put(own, key, 'list', 'x')
      await rejected(lock.acquire(), 'WrongTypeError')
      await rejected(lock.inspect(), 'WrongTypeError')
      const admin = new Redis(url)
      await admin.del(key)
      admin.disconnect()
    }
    await testing.put(own, key, 'string', '-37412')
    const { healed, holders, token } = await lock.inspect()
    assert.deepEqual([healed, holders, token], [true, [], 0])
    assert.equal(await lock.acquire(), true)
    assert.equal((await lock.inspect()).healed, false)
    await own.close()
  }
})
