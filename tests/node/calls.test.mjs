// How calls travel, end, and are given up.

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { createRequire } from 'node:module'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { ClosedError, Decision, testing } from 'quotalock'
import { BUN, client, DENO, listener, ownRedis, redis, run, stores } from './support.mjs'

/** A server behind a listener that tells how many commands each write to it had. */
async function counted(/** @type {import('node:test').TestContext} */ context) {
  /** @type {number[]} */
  const writes = []
  const { url } = await listener(context, (socket) => {
    const upstream = connect(Number(new URL(redis()).port), '127.0.0.1')
    socket.on('data', (data) => {
      const count = data.toString().split('EVALSHA').length - 1
      // A greeting has none.
      if (count > 0) writes.push(count)
    })
    socket.pipe(upstream).pipe(socket)
    socket.on('close', () => upstream.destroy())
  })
  return { url, writes }
}

test('the calls of one tick go out as one write and come back in one turn', async (context) => {
  const { url, writes } = await counted(context)
  const limiter = client(url).limiter('n', '100/hour;1000/day')
  let left = 99
  // Those of few calls that JavaScript's thread makes itself, those of many that another makes.
  for (const count of [20, 60]) {
    await limiter.consume('k')
    writes.length = 0
    const decisions = await Promise.all(Array.from({ length: count }, () => limiter.consume('k')))
    // 32 calls at most are one script call.
    assert.deepEqual(writes, [Math.ceil(count / 32)])
    assert.deepEqual(
      decisions.map(({ remaining }) => remaining),
      Array.from({ length: count }, () => --left),
    )
    left--
  }
})

test('calls that follow on several answers go out in two halves', async (context) => {
  const { url, writes } = await counted(context)
  const limiter = client(url).limiter('n', '1000/hour')
  await limiter.consume('k')
  writes.length = 0
  const caller = async () => [await limiter.consume('k'), await limiter.consume('k'), await limiter.consume('k')]
  const decisions = (await Promise.all(Array.from({ length: 16 }, caller))).flat()
  // Of each half one script call: 16 together, and twice 8 and 8. Not where another thread writes the calls, as in Bun and Deno.
  assert.equal(
    writes.reduce((sum, count) => sum + count, 0),
    BUN || DENO ? 3 : 5,
  )
  const remaining = decisions.map((decision) => decision.remaining).sort((a, b) => b - a)
  assert.deepEqual(
    remaining,
    Array.from({ length: 48 }, (_, number) => 998 - number),
  )
})

test('a decision is one command, whatever the number of rules', async (context) => {
  const { url, socket } = await ownRedis(context)
  const limiter = client(url).limiter('n', '50/s;100/minute;calendar-window 1000/day')
  await limiter.consume('k')
  const admin = new Redis(socket)
  await admin.config('RESETSTAT')
  for (let i = 0; i < 10; i++) await limiter.consume('k')
  const stats = (await admin.info('commandstats')).split('\r\n').filter((line) => line.startsWith('cmdstat_'))
  const counts = Object.fromEntries(stats.map((line) => /cmdstat_(\S+):calls=(\d+)/.exec(line)?.slice(1) ?? []))
  admin.disconnect()
  // What the script itself calls is counted too: the time, one read and one write.
  assert.deepEqual(
    { ...counts, 'config|resetstat': '1' },
    { evalsha: '10', time: '10', getrange: '10', set: '10', 'config|resetstat': '1' },
  )
})

test('a loop of calls that are decided at once leaves others their turn', async () => {
  const limiter = client('memory://').limiter('n', '1000000/hour')
  let [calls, hasTurned] = [0, false]
  setImmediate(() => {
    hasTurned = true
  })
  for (; !hasTurned && calls < 10_000; calls++) await limiter.consume('k')
  // Bun and Deno call back several times before their loops turn.
  assert.ok(calls <= (BUN || DENO ? 9_000 : 1_000), `${calls} calls before the loop turned`)
})

test('more calls than a batch holds are all answered', async () => {
  for (const [store, url] of Object.entries(stores())) {
    const limiter = client(url).limiter('n', '2000/hour')
    const keys = ['k', 'a key that is too long for the loop: '.repeat(5), 'Schlüssel']
    const decisions = await Promise.all(Array.from({ length: 9000 }, (_, i) => limiter.consume(keys[i % 3] ?? '')))
    assert.equal(decisions.filter(({ allowed }) => allowed).length, 6000, store)
    assert.ok(decisions.every((decision) => decision instanceof Decision))
  }
})

test('calls that are answered at once are so beside one that is wrong', async () => {
  const limiter = client('memory://').limiter('n', '2/minute')
  const wrong = limiter.peek('k', { cost: 0.5 })
  const [refused, ...others] = await Promise.allSettled([wrong, limiter.peek('k'), limiter.block('k', 1000)])
  assert.equal(/** @type {PromiseRejectedResult} */ (refused).reason.code, 'invalid_argument')
  assert.deepEqual(
    others.map(({ status }) => status),
    ['fulfilled', 'fulfilled'],
  )
})

test('a policy of the most rules is answered whole', async () => {
  const rules = Array.from({ length: 10 }, (_, i) => ({ limit: i + 1, periodMs: 60_000 * (i + 1) }))
  for (const url of Object.values(stores())) {
    const limiter = client(url).limiter('n', rules)
    const decisions = await Promise.all(Array.from({ length: 200 }, (_, i) => limiter.consume(`k${i}`)))
    for (const decision of decisions) {
      assert.deepEqual(
        decision.rules.map(({ remaining }) => remaining),
        Array.from({ length: 10 }, (_, i) => i),
      )
    }
  }
})

test('calls of one tick are made in their order, also those that are decided at once', async () => {
  const limiter = client('memory://order').limiter('n', '1/hour')
  assert.ok((await limiter.consume('k')).allowed)
  const answers = await Promise.all([limiter.consume('k'), limiter.reset('k'), limiter.consume('k'), limiter.peek('k')])
  assert.deepEqual(
    answers.map((answer) => (answer instanceof Decision ? answer.allowed : answer)),
    [false, true, true, false],
  )
})

test('whole numbers stay exact up to 2^52', async () => {
  const most = 2 ** 52
  for (const url of Object.values(stores())) {
    const limiter = client(url).limiter('n', { limit: most, periodMs: 3_600_000 })
    const { remaining } = await limiter.consume('k', { cost: most - 1 })
    assert.equal(remaining, 1)
    assert.equal((await limiter.refund('k', most - 2)).remaining, most - 1)
  }
})

test('wait sleeps as long as it must', async () => {
  for (const url of Object.values(stores())) {
    const limiter = client(url).limiter('n', '1/200ms')
    const began = performance.now()
    const waits = await Promise.all([1, 2, 3].map(() => limiter.wait('k', { timeoutMs: 20_000 })))
    assert.ok(waits.every(({ allowed }) => allowed))
    assert.ok(performance.now() - began >= 400)
    const slow = client(url).limiter('n', '1/hour')
    await slow.consume('k')
    assert.equal((await slow.wait('k', { timeoutMs: 1 })).allowed, false)
    assert.equal((await slow.wait('k', { timeoutMs: 9_000, cost: 2 })).retryAfterMs, null)
  }
})

test('a signal that fired already rejects before anything is sent', async () => {
  const limiter = client(redis()).limiter('n', '5/hour')
  const reason = new Error('enough')
  const signal = AbortSignal.abort(reason)
  for (const call of [limiter.consume('k', { signal }), limiter.wait('k', { signal, timeoutMs: 9 })]) {
    assert.equal(await call.catch((error) => error), reason)
  }
  assert.equal((await limiter.peek('k')).remaining, 5)
})

test('a signal that fires in the same tick takes the call back', async () => {
  const limiter = client(redis()).limiter('n', '5/hour')
  const controller = new AbortController()
  const [first, second] = [limiter.consume('k', { signal: controller.signal }), limiter.consume('k')]
  controller.abort()
  await assert.rejects(first, { name: 'AbortError' })
  assert.equal((await second).remaining, 4, 'what was taken back was charged')
})

test('a signal ends a wait, and nothing is left behind', async () => {
  const act = async (/** @type {string} */ url) => {
    // The signal fires before the wait ends by itself, also if this thread is late.
    const limiter = client(url).limiter('n', '1/4s')
    assert.ok((await limiter.consume('k')).allowed)
    const controller = new AbortController()
    const wait = limiter.wait('k', { timeoutMs: 60_000, signal: controller.signal })
    await sleep(50)
    controller.abort('enough')
    assert.equal(await wait.catch((reason) => reason), 'enough')
    await sleep(4_000)
    assert.equal((await limiter.peek('k')).remaining, 1, 'the wait went on')
  }
  await Promise.all(Object.values(stores()).map(act))
})

test('a signal that fires when its call is answered already ends no later call', async () => {
  const own = client(redis())
  const limiter = own.limiter('n', '100000/hour')
  const key = limiter.redisKey('k')
  const still = new Int32Array(new SharedArrayBuffer(4))
  await limiter.consume('k')
  for (let round = 0; round < 50; round++) {
    const controller = new AbortController()
    const calls = Array.from({ length: 50 }, () => limiter.consume('k', { signal: controller.signal }))
    const ends = Promise.allSettled(calls)
    // They are sent, and while this thread stands still their answers come.
    await new Promise((resolve) => setImmediate(resolve))
    Atomics.wait(still, 0, 0, 5)
    controller.abort('enough')
    // The first collects the answers; with those behind it, the core hears of both in one turn.
    const later = await Promise.all(Array.from({ length: 60 }, () => testing.get(own, key)))
    assert.ok(later.every((found) => found !== null))
    assert.ok((await ends).every((end) => end.status === 'fulfilled' || end.reason === 'enough'))
  }
})

test('the number of a call never comes twice', () => {
  const { executor, release, take } = createRequire(import.meta.url)('../../bindings-node/lib/pending.js')
  const seen = new Set()
  for (let round = 0; round < 1000; round++) {
    new Promise(executor)
    const some = Array.from({ length: 1 + (round % 9) }, take)
    for (const id of some) {
      assert.ok(Number.isSafeInteger(id) && id >= 0)
      assert.ok(!seen.has(id), `${id} came twice`)
      seen.add(id)
    }
    // An answer that comes twice gives nothing back twice.
    for (const id of [...some, ...some]) release(id)
  }
})

test('many calls share a signal, and one listener', async () => {
  const controller = new AbortController()
  const { signal } = controller
  const limiter = client(redis()).limiter('n', '50/hour')
  for (let round = 0; round < 3; round++) {
    const calls = Array.from({ length: 10 }, () => limiter.consume('k', { signal }))
    await Promise.all([...calls, limiter.consume('', { signal }).catch(() => {})])
    assert.equal(getEventListeners(signal, 'abort').length, 1)
  }
  const waits = Array.from({ length: 20 }, () => limiter.wait('k', { signal, cost: 21, timeoutMs: 7_200_000 }))
  await sleep(50)
  controller.abort('enough')
  assert.deepEqual(
    new Set((await Promise.allSettled(waits)).map((end) => 'reason' in end && end.reason)),
    new Set(['enough']),
  )
  assert.equal((await limiter.peek('k')).remaining, 20)
})

test('close ends calls under way, refuses later ones, and may come twice', async () => {
  for (const [store, url] of Object.entries(stores())) {
    const own = client(url)
    const limiter = own.limiter('n', '1/hour')
    await limiter.consume('k')
    const wait = limiter.wait('k', { timeoutMs: 7_200_000 })
    await sleep(50)
    await own.close()
    await assert.rejects(wait, ClosedError, store)
    await assert.rejects(limiter.consume('k'), { name: 'ClosedError', code: 'closed' }, store)
    await own.close()
  }
})

test('a client is disposed of', async () => {
  for (const dispose of /** @type {const} */ ([Symbol.dispose, Symbol.asyncDispose])) {
    const own = client(redis())
    const limiter = own.limiter('n', '1/hour')
    await limiter.consume('k')
    await own[dispose]()
    await assert.rejects(limiter.consume('k'), ClosedError)
  }
})

test('limit takes its client from the environment', async () => {
  const text = `
    import { limit } from 'quotalock'
    const policies = ['2/hour', { limit: 2, periodMs: 3600000 }, '2/hour']
    for (const policy of policies) console.log((await limit('one-line', 'user:42', policy)).remaining)
    console.log((await limit('one-line', 'user:42', '2/hour', { cost: 2 })).source)
    console.log(await limit('one-line', '', '2/hour').catch((error) => error.code))
    console.log(await limit('one-line', 'k', 'x').catch((error) => error.code))
  `
  process.env.QUOTALOCK_URL = 'memory://'
  const { code, output } = await run(text)
  delete process.env.QUOTALOCK_URL
  assert.deepEqual(
    [code, output.trim().split('\n')],
    [0, ['1', '0', '0', 'memory', 'invalid_argument', 'invalid_policy']],
  )
})

test('limit keeps names and policies apart', async () => {
  const text = `
    import { limit } from 'quotalock'
    class Rule {
      #limit
      constructor(limit) { this.#limit = limit }
      get limit() { return this.#limit }
      get periodMs() { return 60000 }
    }
    const left = async (name, policy) => console.log((await limit(name, 'k', policy)).remaining)
    await left('x', '5/minute ')
    await left(' x', '5/minute')
    await left('5/minute x', ' 5/minute')
    await left('x","y', '5/minute')
    await left('rules', new Rule(7))
    await left('rules', [new Rule(7), new Rule(3)])
    console.log(await limit(5n, 'k', '5/minute').catch((error) => error.code))
    console.log(await limit('x', 'k', { limit: 5n, periodMs: 1 }).catch((error) => error.code))
    console.log(await limit('x', 'k', '5/minute', { requestId: 'r' }).catch((error) => error.code))
  `
  process.env.QUOTALOCK_URL = 'memory://'
  const { code, output } = await run(text)
  delete process.env.QUOTALOCK_URL
  assert.deepEqual(
    [code, output.trim().split('\n')],
    [0, ['4', '4', '4', '4', '6', '1', 'invalid_argument', 'invalid_argument', 'invalid_argument']],
  )
})

test('limiters that are forgotten are collected, but not before their calls', async () => {
  const text = `
    import { setImmediate } from 'node:timers/promises'
    import { Client } from 'quotalock'
    const client = new Client('memory://')
    for (let round = 0; round < 20; round++) {
      const calls = []
      for (let i = 0; i < 500; i++) calls.push(client.limiter('n' + i, '1000/hour').consume('k'))
      globalThis.gc()
      const decisions = await Promise.all(calls)
      if (decisions.some(({ remaining }) => remaining !== 999 - round)) throw new Error('round ' + round)
      await setImmediate()
    }
    console.log('fine')
  `
  assert.deepEqual(await run(text, ['--expose-gc']), { code: 0, signal: null, output: 'fine\n' })
})
