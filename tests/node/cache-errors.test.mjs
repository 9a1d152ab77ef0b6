// Caches and once that cannot be, loaders that return what cannot be, and a Redis that is away.

import assert from 'node:assert/strict'
import { once as event } from 'node:events'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Cache, InvalidArgumentError, Once } from 'quotalock'
import { rejected } from './failures.mjs'
import { client, ownRedis } from './support.mjs'

const BAD = 'InvalidArgumentError'

test('an error that cannot be shown is one all the same', async () => {
  const cache = client('memory://').cache('home')
  const odd = Object.assign(new Error('x'), { toString: () => assert.fail('shown') })
  const thrown = await cache.get('k', () => Promise.reject(odd)).catch((error) => error)
  assert.ok(thrown === odd)
  await rejected(
    cache.get('k', () => 'never'),
    'LoadFailedError',
  )
})

test('when Redis is away', async (context) => {
  const { url, server } = await ownRedis(context)
  const own = client(url, { onError: 'open' })
  const [raising, loading] = [own.cache('a'), own.cache('a', { whenAway: 'load' })]
  await raising.put('k', 'v')
  server.kill('SIGKILL')
  await event(server, 'exit')
  const error = await raising.get('k', () => 'never').catch((error) => error)
  assert.ok(['unavailable', 'timeout'].includes(error.code), `${error.stack}`)
  assert.equal(String(await loading.get('k', () => 'loaded')), 'loaded')
  const found = await loading.getMany(['k', 'l'], () => ({ k: 'loaded', l: null }))
  assert.deepEqual([...found.values()].map(String), ['loaded', 'null'])
  const calls = [raising.peek('k'), own.once('o').run('x', () => 'never'), own.once('o').claim('x')]
  for (const end of await Promise.allSettled(calls)) {
    assert.ok(end.status === 'rejected' && ['unavailable', 'timeout'].includes(end.reason.code), end.status)
  }
  await own.close()
  await rejected(
    loading.get('k', () => 'never'),
    'ClosedError',
  )
})

test('what cannot be', async () => {
  const own = client('memory://')
  /** @type {any} */
  const any = own
  for (const name of ['', 'x'.repeat(1025), 5, undefined, Buffer.from('n')]) {
    assert.throws(() => any.cache(name), InvalidArgumentError)
    assert.throws(() => any.once(name), InvalidArgumentError)
  }
  for (const options of [
    { freshMs: 0 },
    { freshMs: '5' },
    { staleMs: -1 },
    { leaseMs: 9 },
    { negativeMs: 0.5 },
    { errorTtlMs: 3_600_001 },
    { beta: -1 },
    { beta: Number.NaN },
    { whenAway: 'wait' },
    { whenAway: 5 },
    { ttlMs: 5 },
    5,
  ]) {
    assert.throws(() => any.cache('n', options), InvalidArgumentError, inspect(options))
  }
  for (const options of [{ ttlMs: 0 }, { leaseMs: 0 }, { errorTtlMs: -1 }, { freshMs: 5 }]) {
    assert.throws(() => any.once('n', options), InvalidArgumentError, inspect(options))
  }
  const [cache, once] = [any.cache('n'), any.once('n')]
  for (const key of ['', 'x'.repeat(1025), 5, null, undefined]) {
    await rejected(
      cache.get(key, () => 'v'),
      BAD,
      'key',
    )
    await rejected(
      cache.getMany([key], () => ({})),
      BAD,
      'key',
    )
    for (const call of [cache.peek(key), cache.invalidate(key), cache.put(key, 'v')]) await rejected(call, BAD, 'key')
    for (const call of [once.run(key, () => 'v'), once.claim(key), once.release(key)]) await rejected(call, BAD)
    assert.throws(() => cache.redisKey(key), InvalidArgumentError)
    assert.throws(() => once.redisKey(key), InvalidArgumentError)
  }
  for (const load of ['v', undefined, null, { waitMs: 5 }]) {
    await rejected(cache.get('k', load), BAD, 'load')
    await rejected(cache.getJson('k', load), BAD, 'load')
    await rejected(cache.getMany(['k'], load), BAD, 'load')
    await rejected(once.run('k', load), BAD, 'fn')
  }
  for (const waitMs of [-1, 0.5, Number.NaN, '5', null])
    await rejected(
      cache.get('k', () => 'v', { waitMs }),
      BAD,
      'wait',
    )
  await rejected(
    cache.get('k', () => 'v', { wait: 5 }),
    BAD,
    "'wait' is unknown",
  )
  await rejected(
    cache.get('k', () => 'v', { signal: 5 }),
    BAD,
    'signal',
  )
  for (const keys of ['k', undefined, [], ['k', 'k'], Array.from({ length: 1001 }, (_, i) => `${i}`)]) {
    await rejected(
      cache.getMany(keys, () => ({})),
      BAD,
    )
  }
  for (const value of [undefined, 5, {}]) await rejected(cache.put('k', value), BAD, 'value')
  await rejected(once.claim('k', 5), BAD, 'value')
  const large = Buffer.alloc((64 << 20) + 1)
  await rejected(cache.put('k', large), BAD, '67108865 bytes')
  await rejected(once.claim('k', large), BAD, '67108865 bytes')
  assert.throws(() => Reflect.construct(Cache, [{}, 'n']), InvalidArgumentError)
  assert.throws(() => Reflect.construct(Once, [{}, 'n']), InvalidArgumentError)
})

test('what a loader must not return is an error of its own', async () => {
  /** @type {any} */
  const cache = client('memory://').cache('n')
  for (const [i, value] of [undefined, 5, {}, [], true].entries()) {
    await rejected(
      cache.get(`k${i}`, () => value),
      BAD,
      'what was loaded',
    )
    await rejected(
      cache.get(`k${i}`, () => 'never'),
      'LoadFailedError',
      'what was loaded',
    )
  }
  for (const [i, value] of [undefined, null, 'v', ['v'], 5].entries()) {
    await rejected(
      cache.getMany([`m${i}`], () => value),
      BAD,
      'what was loaded',
    )
  }
  await rejected(
    cache.getMany(['n'], () => ({ n: 5 })),
    BAD,
    'what was loaded',
  )
  // A key that every object has is none of its values.
  assert.equal((await cache.getMany(['toString'], () => ({}))).get('toString'), null)
  for (const [i, thrown] of [undefined, 'text', { code: 5 }, null].entries()) {
    const caught = await cache
      .get(`t${i}`, () => {
        throw thrown
      })
      .then(assert.fail, (/** @type {unknown} */ error) => error)
    assert.equal(caught, thrown)
    await rejected(
      cache.get(`t${i}`, () => 'never'),
      'LoadFailedError',
      inspect(thrown).replaceAll("'", ''),
    )
  }
})
