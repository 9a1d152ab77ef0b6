// Caches and once: one loads, however many want it. The vectors have the rules.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once as event } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { Worker } from 'node:worker_threads'
import { Cache, InvalidArgumentError, Once } from 'quotalock'
import { rejected } from './failures.mjs'
import { client, freshPrefix, ownRedis, ROOT, redis, run, servers, stores } from './support.mjs'

const BAD = 'InvalidArgumentError'
const texts = (/** @type {(Buffer | null)[]} */ values) => new Set(values.map(String))

for (const [store, url] of Object.entries(stores())) {
  test(`fifty want what is over, and one loads, on ${store}`, async () => {
    const prefix = freshPrefix()
    const shops = Array.from({ length: store === 'memory' ? 1 : 3 }, () => {
      return client(url, { prefix }).cache('home', { freshMs: 100, beta: 0 })
    })
    let loads = 0
    const load = async () => {
      loads++
      await sleep(50)
      return `load ${loads}`
    }
    const crowd = () =>
      Promise.all(
        Array.from({ length: 50 }, (_, i) => /** @type {Cache} */ (shops[i % shops.length]).get('page', load)),
      )
    assert.deepEqual(texts(await crowd()), new Set(['load 1']))
    assert.equal(loads, 1)
    await sleep(120)
    assert.deepEqual(texts(await crowd()), new Set(['load 2']))
    assert.equal(loads, 2)
  })

  test(`what is stale is served at once, and refreshed by one, on ${store}`, async () => {
    const cache = client(url).cache('home', { freshMs: 20, staleMs: 60_000, beta: 0 })
    await cache.put('page', 'old')
    await sleep(40)
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
    const cache = client(url).cache('home', { freshMs: 60_000, errorsMs: 300 })
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
    await sleep(350)
    assert.equal(String(await cache.get('page', () => 'well')), 'well')
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
    assert.ok(running.remainingMs > 9_000 && running.remainingMs <= 10_000)
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
    const other = client(url, { prefix: freshPrefix() }).cache('home', { errorsMs: 0 })
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

const LOADER = (/** @type {string} */ url, /** @type {string} */ prefix, /** @type {number} */ leaseMs) => `
  import { Client } from 'quotalock'
  const cache = new Client('${url}', { prefix: '${prefix}', timeoutMs: 10_000 }).cache('home', { leaseMs: ${leaseMs} })
  setInterval(() => {}, 1000)
  await cache.get('k', () => {
    console.log('loading')
    return new Promise(() => {})
  })`

for (const [store, url] of Object.entries(servers())) {
  test(`a loader that is killed is followed by one, after its lease, on ${store}`, async (context) => {
    const prefix = freshPrefix()
    const how = { cwd: fileURLToPath(ROOT) }
    const child = spawn(process.execPath, ['--input-type=module', '--eval', LOADER(url, prefix, 1500)], how)
    context.after(() => child.kill('SIGKILL'))
    await event(child.stdout, 'data')
    child.kill('SIGKILL')
    const began = Date.now()
    const cache = client(url, { prefix }).cache('home', { leaseMs: 1500 })
    let loads = 0
    const gets = Array.from({ length: 20 }, () =>
      cache.get('k', async () => {
        loads++
        await sleep(20)
        return 'v'
      }),
    )
    assert.deepEqual(texts(await Promise.all(gets)), new Set(['v']))
    assert.equal(loads, 1)
    const took = Date.now() - began
    assert.ok(took > 500 && took < 5_000, `${took} ms`)
  })
}

test('a worker that is terminated while it loads frees the way', async () => {
  const prefix = freshPrefix()
  const text = LOADER(redis(), prefix, 60_000).replace("console.log('loading')", 'process.stdout.write("loading")')
  const module = new URL(
    `data:text/javascript,${encodeURIComponent(text.replace("'quotalock'", `'${import.meta.resolve('quotalock')}'`))}`,
  )
  const worker = new Worker(module, { stdout: true })
  await event(worker.stdout, 'data')
  const waiting = client(redis(), { prefix })
    .cache('home')
    .get('k', () => 'v', { waitMs: 20_000 })
  await worker.terminate()
  assert.equal(String(await waiting), 'v')
})

test('a process that waits for nothing more ends', async () => {
  const text = `
    import { Client } from 'quotalock'
    const own = new Client('${redis()}', { prefix: '${freshPrefix()}', timeoutMs: 10_000 })
    const cache = own.cache('home', { freshMs: 100, beta: 0 })
    const load = () => new Promise((done) => setTimeout(done, 100, 'v'))
    const both = await Promise.all([cache.get('k', load), cache.get('k', load)])
    console.log(both.join())
    const stop = new AbortController()
    void cache.get('other', () => new Promise(() => {}))
    const gone = cache.get('other', load, { signal: stop.signal, waitMs: 60_000 })
    setTimeout(() => stop.abort(new Error('gone')), 100)
    await gone.catch(({ message }) => console.log(message))`
  const began = Date.now()
  const { code, output } = await run(text)
  assert.deepEqual([code, output], [0, 'v,v\ngone\n'])
  assert.ok(Date.now() - began < 15_000)
})

test('a caller who gives up while it loads frees the way, and its error is nobody else’s', async () => {
  for (const url of Object.values(stores())) {
    const shop = client(url)
    const [cache, orders] = [
      shop.cache('home', { leaseMs: 60_000, errorsMs: 60_000 }),
      shop.once('orders', { errorsMs: 60_000 }),
    ]
    /** @type {[(load: () => any, signal?: AbortSignal) => Promise<any>, string][]} */
    const ways = [
      [(load, signal) => cache.get('k', load, { signal }), 'one'],
      [
        async (load, signal) => (await cache.getMany(['l'], async () => ({ l: await load() }), { signal })).get('l'),
        'many',
      ],
      [(load, signal) => orders.run('o', load, { signal }), 'run'],
    ]
    for (const [get, way] of ways) {
      const stop = new AbortController()
      const mine = get(() => sleep(60_000, 'never', { signal: stop.signal }), stop.signal)
      setTimeout(() => stop.abort(), 50)
      assert.equal((await mine.catch((error) => error)).name, 'AbortError')
      assert.equal(String(await get(() => 'another')), 'another', way)
    }
  }
})

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
  const own = client(url, { timeoutMs: 200, onError: 'open' })
  const [raising, loading] = [own.cache('a'), own.cache('a', { whenAway: 'load' })]
  await raising.put('k', 'v')
  server.kill('SIGKILL')
  await sleep(50)
  const error = await raising.get('k', () => 'never').catch((error) => error)
  assert.ok(['unavailable', 'timeout'].includes(error.code), `${error.stack}`)
  assert.equal(String(await loading.get('k', () => 'loaded')), 'loaded')
  const found = await loading.getMany(['k', 'l'], () => ({ k: 'loaded', l: null }))
  assert.deepEqual([...found.values()].map(String), ['loaded', 'null'])
  for (const call of [raising.peek('k'), own.once('o').run('x', () => 'never'), own.once('o').claim('x')]) {
    const { code } = await call.catch((error) => error)
    assert.ok(['unavailable', 'timeout'].includes(code), code)
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
    { errorsMs: 3_600_001 },
    { beta: -1 },
    { beta: Number.NaN },
    { whenAway: 'wait' },
    { whenAway: 5 },
    { ttlMs: 5 },
    5,
  ]) {
    assert.throws(() => any.cache('n', options), InvalidArgumentError, inspect(options))
  }
  for (const options of [{ ttlMs: 0 }, { leaseMs: 0 }, { errorsMs: -1 }, { freshMs: 5 }]) {
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
