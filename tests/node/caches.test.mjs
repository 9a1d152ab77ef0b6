// Caches and once: one loads, however many want it. The vectors have the rules.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { rejected } from './failures.mjs'
import { client, freshPrefix, stores } from './support.mjs'

const BAD = 'InvalidArgumentError'
const texts = (/** @type {(Buffer | null)[]} */ values) => new Set(values.map(String))

for (const [store, url] of Object.entries(stores())) {
  test(`fifty want what is over, and one loads, on ${store}`, async () => {
    const prefix = freshPrefix()
    const clients = Array.from({ length: store === 'memory' ? 1 : 3 }, () => client(url, { prefix }))
    // What is loaded is fresh for a minute: on a busy machine some come late.
    const shops = clients.map((each) => each.cache('home', { beta: 0 }))
    let loads = 0
    const load = async () => {
      loads++
      await sleep(50)
      return `load ${loads}`
    }
    const crowd = (/** @type {string} */ page) =>
      Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          /** @type {import('quotalock').Cache} */ (shops[i % shops.length]).get(page, load),
        ),
      )
    assert.deepEqual(texts(await crowd('new')), new Set(['load 1']))
    assert.equal(loads, 1)
    await clients[0]?.cache('home', { freshMs: 20 }).put('old', 'old')
    await sleep(40)
    assert.deepEqual(texts(await crowd('old')), new Set(['load 2']))
    assert.equal(loads, 2)
  })

  test(`what is stale is served at once, and refreshed by one, on ${store}`, async () => {
    const own = client(url)
    await own.cache('home', { freshMs: 20, staleMs: 60_000 }).put('page', 'old')
    await sleep(40)
    const cache = own.cache('home', { staleMs: 60_000, beta: 0 })
    let loads = 0
    const load = async () => {
      loads++
      await sleep(100)
      return 'new'
    }
    const values = await Promise.all(Array.from({ length: 50 }, () => cache.get('page', load)))
    assert.equal(loads, 1)
    assert.equal(values.filter((value) => String(value) === 'old').length, 49)
    const seen = await cache.peek('page')
    assert.equal(String(seen?.value), 'new')
  })

  test(`a loader that throws, on ${store}`, async () => {
    const own = client(url)
    const [cache, soon] = [own.cache('home', { errorTtlMs: 60_000 }), own.cache('soon', { errorTtlMs: 50 })]
    const mine = new RangeError('no such table')
    const gets = [
      cache.get('page', async () => {
        await sleep(50)
        throw mine
      }),
    ]
    await sleep(10)
    for (let i = 0; i < 20; i++) gets.push(cache.get('page', () => 'never'))
    const [first, ...others] = await Promise.allSettled(gets)
    assert.ok(first?.status === 'rejected' && first.reason === mine)
    for (const other of others) {
      assert.ok(other.status === 'rejected')
      assert.deepEqual([other.reason.name, other.reason.code], ['LoadFailedError', 'load_failed'])
      assert.match(other.reason.message, /RangeError: no such table/)
    }
    await rejected(
      cache.get('page', () => 'never'),
      'LoadFailedError',
      'home',
      'page',
    )
    await assert.rejects(
      soon.get('page', () => Promise.reject(mine)),
      mine,
    )
    await sleep(70)
    assert.equal(String(await soon.get('page', () => 'well')), 'well')
  })

  test(`once, on ${store}`, async () => {
    const own = client(url)
    const once = own.once('order')
    let runs = 0
    const pay = async () => {
      runs++
      await sleep(50)
      return `receipt ${runs}`
    }
    const results = await Promise.all(Array.from({ length: 30 }, () => once.run('42', pay)))
    assert.deepEqual([texts(results), runs], [new Set(['receipt 1']), 1])
    assert.equal(String(await once.run('42', () => assert.fail())), 'receipt 1')
    assert.deepEqual((await once.claim('42')).value, Buffer.from('receipt 1'))

    const declined = new Error('declined')
    const failing = once.run('43', async () => {
      await sleep(30)
      throw declined
    })
    await sleep(5)
    const running = await once.claim('43', 'mine')
    assert.deepEqual([running.first, running.running, running.value], [false, true, null])
    assert.ok(running.remainingMs > 5_000 && running.remainingMs <= 10_000)
    const next = once.run('43', () => 'paid')
    assert.equal(await failing.catch((error) => error), declined)
    assert.equal(String(await next), 'paid')

    assert.equal(await once.run('44', async () => {}), null)
    assert.equal(await once.run('44', () => 'another'), null)

    const first = await once.claim('45', Buffer.from('a'))
    const second = await once.claim('45', 'b')
    assert.deepEqual([first.first, second.first, String(second.value)], [true, false, 'a'])
    assert.ok(second.remainingMs > 86_000_000 && second.ageMs < 60_000)
    assert.deepEqual([await once.release('45'), await once.release('45')], [true, false])
    assert.equal((await once.claim('45')).first, true)
  })

  test(`several keys, on ${store}`, async () => {
    const cache = client(url).cache('home', { freshMs: 60_000 })
    await cache.put('b', 'there')
    /** @type {string[][]} */
    const asked = []
    const load = async (/** @type {string[]} */ missing) => {
      asked.push(missing)
      return { a: 'loaded', other: 'ignored' }
    }
    const found = await cache.getMany(['a', 'b', 'c'], load)
    assert.deepEqual(
      [...found],
      [
        ['a', Buffer.from('loaded')],
        ['b', Buffer.from('there')],
        ['c', null],
      ],
    )
    await cache.getMany(['c', 'a'], load)
    assert.deepEqual(asked, [['a', 'c']])
    const keys = [Buffer.of(0), Buffer.of(255)]
    const bytes = await cache.getMany(keys, (missing) => new Map(missing.map((key) => [key, key])))
    assert.deepEqual(
      keys.map((key) => bytes.get(key)),
      keys,
    )
    const many = Array.from({ length: 1000 }, (_, i) => `key ${i}`)
    const all = await cache.getMany(many, (missing) => new Map(missing.map((key) => [key, key.toUpperCase()])))
    assert.deepEqual(
      [...all.values()].map(String),
      many.map((key) => key.toUpperCase()),
    )

    // Two who want each other's keys.
    let loads = 0
    const slowly = async (/** @type {string[]} */ missing) => {
      loads += missing.length
      await sleep(30)
      return Object.fromEntries(missing.map((key) => [key, 'v']))
    }
    const both = await Promise.all([cache.getMany(['x', 'y'], slowly), cache.getMany(['z', 'y', 'x'], slowly)])
    assert.deepEqual(
      both.map((each) => [...each.values()].map(String)),
      [
        ['v', 'v'],
        ['v', 'v', 'v'],
      ],
    )
    assert.equal(loads, 3)
  })

  test(`several keys, of which one failed, and one is being loaded, on ${store}`, async () => {
    const cache = client(url).cache('home', { freshMs: 60_000 })
    await cache.get('bad', () => Promise.reject(new Error('broken'))).catch(() => {})
    const load = (/** @type {string[]} */ missing) => new Map(missing.map((key) => [key, 'v']))
    await rejected(cache.getMany(['good', 'bad'], load), 'LoadFailedError', 'broken')
    assert.equal(String((await cache.peek('good'))?.value), 'v')
    await rejected(
      cache
        .getMany(['p', 'q'], () => Promise.reject(new Mine('mine')))
        .catch((error) => {
          assert.ok(error instanceof Mine)
          return cache.get('q', () => 'never')
        }),
      'LoadFailedError',
      'mine',
    )
    // It falls to us when whoever loads it gives up.
    const failing = cache.get('slow', async () => {
      await sleep(50)
      return /** @type {any} */ (42)
    })
    await sleep(10)
    const other = client(url, { prefix: freshPrefix() }).cache('home', { errorTtlMs: 0 })
    await rejected(failing, BAD, '42')
    assert.equal(String((await other.getMany(['slow'], load)).get('slow')), 'v')
  })

  test(`JSON, on ${store}`, async () => {
    const cache = client(url).cache('home')
    const made = { when: new Date(0), list: [1, null], text: 'ü' }
    const shown = { when: '1970-01-01T00:00:00.000Z', list: [1, null], text: 'ü' }
    assert.deepEqual(await cache.getJson('k', () => made), shown)
    assert.deepEqual(await cache.getJson('k', async () => assert.fail()), shown)
    assert.equal(await cache.getJson('none', async () => null), null)
    assert.equal((await cache.peek('none'))?.value, null)
    for (const value of [0, '', false, [], 'null']) {
      assert.deepEqual(await cache.getJson(`of ${inspect(value)}`, () => value), value)
      assert.deepEqual(await cache.getJson(`of ${inspect(value)}`, () => assert.fail()), value)
    }
    await rejected(
      cache.getJson('undefined', () => undefined),
      BAD,
      'undefined',
    )
    for (const odd of [Number.NaN, { price: Number.POSITIVE_INFINITY }]) {
      await rejected(
        cache.getJson(`odd ${inspect(odd)}`, () => odd),
        BAD,
        'finite',
      )
    }
    await assert.rejects(
      cache.getJson('big', () => 5n),
      TypeError,
    )
    await rejected(
      cache.getJson('big', () => 5),
      'LoadFailedError',
      'BigInt',
    )
    await cache.put('broken', '{')
    await assert.rejects(
      cache.getJson('broken', () => 5),
      SyntaxError,
    )
  })

  test(`values as they are, on ${store}`, async () => {
    const cache = client(url).cache('home', { negativeMs: 60_000 })
    const large = Buffer.alloc(3 << 20, 'large')
    for (const value of ['', 'ü', Buffer.of(0, 255), new Uint8Array([1, 2]), large]) {
      const key = `of ${inspect(value).slice(0, 40)}`
      const bytes = Buffer.from(/** @type {any} */ (value))
      for (const load of [() => value, () => assert.fail()])
        assert.ok(bytes.equals((await cache.get(key, load)) ?? Buffer.of(1)), key)
    }
    assert.equal(await cache.get('none', () => null), null)
    assert.equal(await cache.get('none', () => assert.fail()), null)
    // Each caller has bytes of its own.
    const [a, b] = await Promise.all([cache.get('large', () => large), cache.get('large', () => large)])
    a?.fill(0)
    assert.ok(large.equals(b ?? Buffer.of(1)))
    assert.equal(large[0], 'l'.charCodeAt(0))
    assert.equal(await cache.peek('nothing'), null)
    assert.deepEqual([await cache.invalidate('none'), await cache.invalidate('none')], [true, false])
    const late = cache.get('raced', async () => {
      await cache.put('raced', 'newer')
      return 'older'
    })
    assert.equal(String(await late), 'older')
    assert.equal(String((await cache.peek('raced'))?.value), 'newer')
  })

  test(`a wait that ends, on ${store}`, async () => {
    const cache = client(url).cache('home', { leaseMs: 60_000 })
    const { promise, resolve } = withResolvers()
    const first = cache.get('k', () => promise)
    await sleep(20)
    await rejected(
      cache.get('k', () => 'never', { waitMs: 30 }),
      'TimeoutError',
      'within 30 ms',
    )
    const reason = new Error('enough')
    const stop = new AbortController()
    const waiting = [
      cache.get('k', () => 'never', { signal: stop.signal }),
      cache.getMany(['k'], () => new Map(), { signal: stop.signal }),
    ]
    await sleep(20)
    stop.abort(reason)
    for (const each of waiting) assert.equal(await each.catch((error) => error), reason)
    await assert.rejects(
      cache.get('k', () => 'never', { signal: AbortSignal.abort(reason) }),
      reason,
    )
    const last = cache.get('k', () => 'never')
    resolve('v')
    assert.deepEqual(texts(await Promise.all([first, last])), new Set(['v']))
  })

  test(`who is gone before the answer frees the way, on ${store}`, async () => {
    const own = client(url)
    const cache = own.cache('home', { leaseMs: 60_000 })
    await cache.peek('warm')
    for (const delay of [
      () => {},
      () => new Promise(setImmediate),
      () => new Promise((done) => process.nextTick(done)),
    ]) {
      for (let i = 0; i < 20; i++) {
        const stop = new AbortController()
        const gone = cache.get(`k${i}`, () => 'made', { signal: stop.signal })
        await delay()
        stop.abort(new Error('gone'))
        await gone.catch(() => {})
        await cache.invalidate(`other${i}`)
        const value = await cache.get(`k${i}`, () => 'made', { waitMs: 5_000 })
        assert.equal(String(value), 'made')
        await cache.invalidate(`k${i}`)
      }
    }
  })
}

class Mine extends Error {}

function withResolvers() {
  /** @type {(value: string) => void} */
  let resolve = () => {}
  /** @type {Promise<string>} */
  const promise = new Promise((done) => {
    resolve = done
  })
  return { promise, resolve }
}

test('what they show', () => {
  const own = client('memory://', { prefix: 'ql' })
  const [cache, once] = [own.cache('home'), own.once('order')]
  assert.deepEqual([cache.name, once.name], ['home', 'order'])
  assert.deepEqual(
    [String(cache.redisKey('k')), String(once.redisKey('k'))],
    ['ql:cache:home:{k}', 'ql:once:order:{k}'],
  )
  assert.deepEqual([inspect(cache), inspect(once)], ["Cache { name: 'home' }", "Once { name: 'order' }"])
})
