// Several keys at once and request ids: how such calls travel among the others, end, and are given up.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { ClosedError, CombinedDecision, CrossSlotError, Decision, TimeoutError, UnavailableError } from 'quotalock'
import { BUN, client, freePort, listener, often, ownRedis, redis, run, stores } from './support.mjs'

test('calls of all kinds in one tick go out as one write, in their order', async (context) => {
  /** @type {number[]} */
  const writes = []
  const { url } = await listener(context, (socket) => {
    const upstream = connect(Number(new URL(redis()).port), '127.0.0.1')
    socket.on('data', (data) => writes.push(data.toString('latin1').split('EVALSHA').length - 1))
    socket.pipe(upstream).pipe(socket)
    socket.on('close', () => upstream.destroy())
  })
  const own = client(url)
  const [user, ip] = [own.limiter('user', '100/hour'), own.limiter('ip', '50/hour;500/day')]
  const open = await user.reserve('other', 1, { ttlMs: 60_000 })
  const round = (/** @type {string} */ id, k = 'k', i = 'i') => [
    user.consume(k),
    own.consumeAll([
      [user, k, 2],
      [ip, i],
    ]),
    user.consume(k, { requestId: `a${id}` }),
    user.consume(k, { requestId: `a${id}` }),
    user.consumeUpTo(k, 3),
    user.reserve(k, 4, { ttlMs: 60_000 }),
    user.refund(k, 1, { requestId: `b${id}` }),
    open.settle(1),
    ip.consume(i),
  ]
  /** @type {(answer: any) => unknown} */
  const left = (answer) => {
    if (answer instanceof CombinedDecision) return answer.decisions.map(left)
    return typeof answer === 'boolean' ? answer : (answer.remaining ?? answer.decision.remaining)
  }
  // A script that the server does not know yet is sent a second time, behind the others.
  await Promise.all(round('0', 'warm', 'warm'))
  writes.length = 0
  assert.deepEqual((await Promise.all(round('1'))).map(left), [99, [97, 49], 96, 96, 93, 89, 90, true, 48])
  assert.deepEqual((await Promise.all(round('2'))).map(left), [89, [87, 47], 86, 86, 83, 79, 80, true, 46])
  assert.deepEqual(writes, [9, 9])
})

test('more calls of all kinds than a batch holds are all answered', async () => {
  for (const [store, url] of Object.entries(stores())) {
    const own = client(url)
    const limiter = own.limiter('n', '3000/hour')
    const both = (/** @type {string} */ key) =>
      own.consumeAll([
        [limiter, key],
        [limiter, 'other'],
      ])
    // The server knows the scripts of both.
    await Promise.all([limiter.consume('warm'), both('warm')])
    const calls = Array.from({ length: 3000 }, (_, i) => [
      limiter.consume('k'),
      both('k'),
      limiter.consume('once', { requestId: `r${i % 1000}` }),
    ])
    const answers = /** @type {any[]} */ (await Promise.all(calls.flat()))
    const allowed = (/** @type {number} */ kind) => answers.filter((d, i) => i % 3 === kind && d.allowed).length
    assert.deepEqual([allowed(0), allowed(1), allowed(2)], [1500, 1500, 3000], store)
    assert.equal((await limiter.peek('other')).remaining, 1499, store)
    assert.equal((await limiter.peek('once')).remaining, 2000, store)
  }
})

test('the most charges of the most rules are answered whole', async () => {
  const rules = Array.from({ length: 10 }, (_, i) => ({ limit: i + 1, periodMs: 60_000 * (i + 1) }))
  for (const [store, url] of Object.entries(stores())) {
    const own = client(url, { timeoutMs: 30_000 })
    const limiter = own.limiter('n', rules)
    const charges = Array.from({ length: 100 }, (_, i) => /** @type {const} */ ([limiter, `k${i}`]))
    const [first, second] = await Promise.all([own.consumeAll(charges), own.consumeAll(charges)])
    assert.deepEqual([first.allowed, first.decisions.length], [true, 100], store)
    for (const decision of first.decisions) {
      assert.ok(decision instanceof Decision)
      assert.deepEqual(
        decision.rules.map(({ remaining }) => remaining),
        Array.from({ length: 10 }, (_, i) => i),
      )
    }
    assert.deepEqual([second.allowed, second.binding], [false, 0], store)
    assert.ok(Number(second.retryAfterMs) > 0 && Number(second.retryAfterMs) <= 60_000)
    await assert.rejects(own.consumeAll([...charges, [limiter, 'one more']]), /101 charges are more than 100/)
  }
})

test('a signal that fires in the same tick takes such calls back, and no other', async () => {
  const own = client(redis())
  const limiter = own.limiter('n', '9/hour')
  const { signal, abort } = aborter()
  const calls = [
    own.consumeAll([[limiter, 'k', 4]], { signal }),
    own.consumeAll([[limiter, 'k', 1]]),
    limiter.consume('k', { cost: 4, requestId: 'r', signal }),
    limiter.consume('k', { cost: 2, requestId: 'r' }),
  ]
  abort('enough')
  const ends = await Promise.allSettled(calls)
  assert.deepEqual(
    ends.map((end) => ('reason' in end ? end.reason : end.value.allowed)),
    ['enough', true, 'enough', true],
  )
  assert.equal((await limiter.peek('k')).remaining, 6, 'what was taken back was charged')
})

test('a signal gives up a consumeAll on its way, and one that fired already before it', async (context) => {
  const { url } = await listener(context, () => {})
  const own = client(url, { timeoutMs: 60_000 })
  const limiter = own.limiter('n', '9/hour')
  const { signal, abort } = aborter()
  const call = own.consumeAll([[limiter, 'k']], { signal })
  await sleep(50)
  abort('enough')
  for (const given of [call, own.consumeAll([[limiter, 'k']], { signal })]) {
    assert.equal(await given.catch((reason) => reason), 'enough')
  }
  await own.close()
})

test('close ends calls of all kinds under way', async (context) => {
  const { url } = await listener(context, () => {})
  const own = client(url, { timeoutMs: 60_000 })
  const limiter = own.limiter('n', '9/hour')
  const reservation = limiter.reservation('k', '0'.repeat(32))
  const all = () => [
    own.consumeAll([[limiter, 'k']]),
    limiter.consume('k', { requestId: 'r' }),
    limiter.refund('k', 1, { requestId: 'r' }),
    limiter.consumeUpTo('k', 2),
    limiter.reserve('k', 2, { ttlMs: 1000 }),
    reservation.settle(1),
    reservation.cancel(),
  ]
  const calls = all()
  await sleep(50)
  await own.close()
  await Promise.all([...calls, ...all()].map((call) => assert.rejects(call, ClosedError)))
})

test('a lost reply is asked for again with a request id, and reported without', async (context) => {
  // The call reaches Redis, and the connection goes before the reply comes.
  let losing = false
  const { url } = await listener(context, (socket) => {
    const upstream = connect(Number(new URL(redis()).port), '127.0.0.1')
    socket.pipe(upstream)
    upstream.on('data', (data) => {
      if (!losing) return socket.write(data)
      losing = false
      return socket.destroy()
    })
    upstream.on('error', () => {})
    socket.on('close', () => upstream.destroy())
  })
  const own = client(url)
  const limiter = own.limiter('n', '9/hour')
  const calls = [
    (/** @type {string | undefined} */ requestId) => limiter.consume('k', { requestId }),
    (/** @type {string | undefined} */ requestId) => own.consumeAll([[limiter, 'k']], { requestId }),
  ]
  for (const [i, call] of calls.entries()) await call(`warm${i}`)
  for (const [i, call] of calls.entries()) {
    losing = true
    await assert.rejects(call(undefined), UnavailableError)
    // It connects anew.
    assert.ok((await limiter.peek('k')).allowed)
    losing = true
    assert.ok((await call(`r${i}`)).allowed)
  }
  assert.equal((await limiter.peek('k')).remaining, 9 - 2 - 2 - 2)
})

test('on_error answers a consumeAll in place of Redis', async () => {
  for (const [onError, expected] of /** @type {const} */ ([
    ['open', [true, true]],
    ['closed', [false, false]],
    ['local', [true, false]],
  ])) {
    const own = client('redis://127.0.0.1:1', { onError })
    const [one, two] = [own.limiter('one', '9/hour'), own.limiter('two', '1/hour')]
    const both = /** @type {const} */ ([
      [one, 'k'],
      [two, 'k'],
    ])
    for (const allowed of expected) {
      const combined = await own.consumeAll(both)
      assert.deepEqual([combined.allowed, combined.source], [allowed, onError])
      assert.deepEqual(
        combined.decisions.map(({ source }) => source),
        [onError, onError],
      )
    }
  }
  const own = client('redis://127.0.0.1:1')
  await assert.rejects(own.consumeAll([[own.limiter('n', '1/s'), 'k']]), UnavailableError)
})

test('a server that says nothing', async (context) => {
  const { url } = await listener(context, () => {})
  const own = client(url, { timeoutMs: 200 })
  await assert.rejects(own.consumeAll([[own.limiter('n', '1/s'), 'user:42']]), TimeoutError)
})

test('in a cluster keys need a common scope', async (context) => {
  const alone = ['--cluster-enabled', 'yes', '--cluster-port', await freePort()]
  const { url, socket } = await ownRedis(context, undefined, ...alone)
  const admin = new Redis(socket)
  await admin.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  while (!(await admin.call('CLUSTER', 'INFO'))?.toString().includes('cluster_state:ok')) await sleep(10)
  admin.disconnect()
  const own = client(url)
  const limiters = (/** @type {string | undefined} */ scope) =>
    ['a', 'b'].map((name) => own.limiter(name, '5/hour', { scope }))
  const charges = (/** @type {import('quotalock').Limiter[]} */ given) =>
    given.map((limiter, i) => /** @type {const} */ ([limiter, `k${i}`]))
  await assert.rejects(own.consumeAll(charges(limiters(undefined))), (error) => {
    assert.ok(error instanceof CrossSlotError, `${error}`)
    assert.equal(error.code, 'cross_slot')
    return /scope/.test(error.message)
  })
  const { allowed, decisions } = await own.consumeAll(charges(limiters('shop')), { requestId: 'r' })
  assert.deepEqual([allowed, ...decisions.map(({ remaining }) => remaining)], [true, 4, 4])
})

test('a limiter shows its scope, which nobody changes, and whether it is enforced', async () => {
  const own = client('memory://')
  const scope = Buffer.from('shop')
  const trial = own.limiter('n', '1/hour', { scope, enforce: false })
  scope.fill('x')
  assert.deepEqual([trial.scope, trial.enforce], [Buffer.from('shop'), false])
  assert.equal(own.limiter('n', '1/hour', { scope: 'shop' }).scope, 'shop')
  assert.match(trial.redisKey('k').toString(), /:limit:n:\{shop\}:\{k\}$/)
  const marks = [await trial.consume('k'), await trial.consume('k')].map(({ allowed, wouldDeny }) => [
    allowed,
    wouldDeny,
  ])
  assert.deepEqual(marks, [
    [true, false],
    [true, true],
  ])
})

test('the stack of a rejection begins at the caller', async () => {
  const own = client('redis://127.0.0.1:1')
  const limiter = own.limiter('n', '1/s')
  const callers = {
    refusedAtOnce: async () => void (await own.consumeAll([])),
    refusedByRedis: async () => void (await own.consumeAll([[limiter, 'k']])),
    reserving: async () => void (await limiter.reserve('k', 1, { ttlMs: 5 })),
    settling: async () => void (await limiter.reservation('k', '0'.repeat(32)).settle(1)),
  }
  for (const [name, caller] of Object.entries(callers)) {
    const { stack } = await caller().catch((error) => error)
    const line = stack.split('\n').find((/** @type {string} */ at) => /^ +at /.test(at) && !at.includes('node:'))
    // Bun's stacks do not name these functions, and have no caller of what was answered later.
    if (BUN && name !== 'refusedAtOnce') assert.equal(line, undefined, stack)
    else assert.match(line, new RegExp(`${BUN ? '' : name} .*charges\\.test\\.mjs`))
  }
})

test('finished calls leave no memory behind', async () => {
  const text = `
    import { setImmediate } from 'node:timers/promises'
    import { Client } from 'quotalock'
    const client = new Client('memory://', { requestMemoryMs: 1 })
    const limiter = client.limiter('n', '4503599627370496/hour')
    const key = 'k'.repeat(1000)
    const forgotten = new AbortController()
    async function rounds(count) {
      for (let round = 0; round < count; round++) {
        const calls = []
        for (let i = 0; i < 100; i++) {
          const ended = new AbortController()
          calls.push(
            client.consumeAll([[limiter, key], [limiter, 'other']], { requestId: 'r', signal: forgotten.signal }),
            client.consumeAll([[limiter, key]], { signal: ended.signal }).catch(() => {}),
            client.consumeAll([[limiter, key], [limiter, key]]).catch(() => {}),
            limiter.consume(key, { requestId: 'r' }),
            limiter.reserve(key, 2, { ttlMs: 1 }).then((reservation) => reservation.settle(1)),
          )
          ended.abort()
        }
        await Promise.all(calls)
      }
      for (let i = 0; i < 5; i++) {
        globalThis.gc()
        await setImmediate()
      }
      return process.memoryUsage()
    }
    // Each look comes after a run of the same length: a longer one leaves the allocator more, which is no leak.
    const looks = []
    while (looks.length < 8) looks.push(await rounds(${often(20, 50)}))
    // The first looks warm up.
    const [before, after] = [looks[3], looks[7]]
    const grown = { heap: (after.heapUsed - before.heapUsed) >> 20, rss: (after.rss - before.rss) >> 20 }
    console.log(grown.heap < 4 && grown.rss < 6 ? 'fine' : grown)
  `
  // What V8 keeps for young objects grows by itself, up to 48 MiB or 128, as Node has it, and tells nothing about us.
  assert.deepEqual(await run(text, ['--expose-gc', '--max-semi-space-size=1']), {
    code: 0,
    signal: null,
    output: 'fine\n',
  })
})

function aborter() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: (/** @type {unknown} */ reason) => controller.abort(reason) }
}

test('header fields of more rules than usual, and of a decision that was changed', async () => {
  const own = client('memory://')
  const policy = Array.from({ length: 10 }, (_, place) => `${place + 5}/${place + 1}s`).join(';')
  const limiters = Array.from({ length: 10 }, (_, place) => own.limiter(`n${place}`, policy))
  const decision = await own.consumeAll(limiters.map((limiter) => [limiter, 'k', 1]))
  const fields = decision.headers().RateLimit?.split(', ') ?? []
  assert.equal(fields.length, 100)
  assert.match(`${fields[99]}`, /^"n9:.*";r=13;t=10$/)
  const one = await limiters[0]?.consume('k')
  assert.throws(() => Object.assign(/** @type {any} */ (one), { limit: undefined }).headers(), {
    code: 'invalid_argument',
    message: /was changed since/,
  })
})
