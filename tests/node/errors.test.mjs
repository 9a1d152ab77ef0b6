// Bad input and bad servers, by class and code.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import * as quotalock from 'quotalock'
import { Client, testing } from 'quotalock'
import { BUN, client, freshPrefix, listener, ownRedis, redis, servers } from './support.mjs'

/**
 * Expects a rejection of this class, whose message holds all of `parts`, and returns it.
 * @param {Promise<unknown>} call
 * @param {string} name
 * @param {...string} parts
 */
async function rejected(call, name, ...parts) {
  const error = await call.then(
    () => assert.fail('it was not rejected'),
    (/** @type {any} */ reason) => reason,
  )
  assert.ok(error instanceof /** @type {any} */ (quotalock)[name], `${error.stack}`)
  for (const part of parts) assert.ok(error.message.includes(part), `no ${part} in ${error.message}`)
  return error
}

const limiterOf = (/** @type {string} */ url, /** @type {import('quotalock').ClientOptions} */ options = {}) =>
  client(url, options).limiter('n', '2/hour')

test('an option of another name is refused, not ignored', async () => {
  for (const options of [{ on_error: 'open' }, { timeout: 100 }, { url: 'memory://' }]) {
    assert.throws(() => new Client('memory://', /** @type {any} */ (options)), {
      name: 'InvalidArgumentError',
      message: /option '\w+' is unknown: use prefix, timeoutMs, onError, requestMemoryMs, password, denyCacheMaxMs/,
    })
  }
  const any = /** @type {any} */ (limiterOf('memory://'))
  await rejected(any.consume('k', { costs: 3 }), 'InvalidArgumentError', "'costs'", 'cost, requestId, signal')
  await rejected(any.wait('k', { timeout: 3 }), 'InvalidArgumentError', "'timeout'", 'timeoutMs')
  assert.equal((await any.peek('k')).remaining, 2)
})

test('arguments of a wrong type are rejected, and named', async () => {
  const limiter = limiterOf('memory://')
  const any = /** @type {any} */ (limiter)
  for (const key of [42, null, undefined, {}, ['k'], Symbol('k'), true]) {
    for (const verb of ['consume', 'peek', 'require', 'reset'])
      await rejected(any[verb](key), 'InvalidArgumentError', 'key')
    assert.throws(() => any.redisKey(key), quotalock.InvalidArgumentError)
  }
  await rejected(any.consume(42), 'InvalidArgumentError', 'key 42 is a number', 'string')
  for (const cost of ['1', null, 1n, true, {}])
    await rejected(any.consume('k', { cost }), 'InvalidArgumentError', 'cost')
  for (const cost of [1.5, NaN, Infinity, -1, 2 ** 52 + 1, 1e300]) {
    await rejected(limiter.consume('k', { cost }), 'InvalidArgumentError', 'cost')
  }
  await rejected(limiter.consume('k', { cost: 1.5 }), 'InvalidArgumentError', 'cost 1.5', 'whole')
  await rejected(any.consume('k', 2), 'InvalidArgumentError', 'options 2', 'cost')
  await rejected(any.wait('k'), 'InvalidArgumentError', 'timeoutMs')
  await rejected(limiter.wait('k', { timeoutMs: NaN }), 'InvalidArgumentError', 'timeout')
  await rejected(any.refund('k'), 'InvalidArgumentError', 'amount')
  await rejected(limiter.refund('k', 0.5), 'InvalidArgumentError', 'amount 0.5')
  await rejected(any.block('k', '60'), 'InvalidArgumentError', 'durationMs')
  await rejected(limiter.block('k', 0.5), 'InvalidArgumentError', 'duration 0.5')
  await rejected(any.consume('k', { signal: 1 }), 'InvalidArgumentError', 'signal')
  assert.equal((await limiter.peek('k')).remaining, 2, 'something was charged')
})

test('a key is text with a UTF-8 form, or bytes, as long as a key may be', async () => {
  const limiter = limiterOf('memory://')
  await rejected(limiter.consume('half \ud83d'), 'InvalidArgumentError', 'UTF-8')
  await rejected(limiter.consume(`${'long'.repeat(20)} \udc00`), 'InvalidArgumentError', 'UTF-8')
  await rejected(limiter.consume('k'.repeat(100_000)), 'InvalidArgumentError', '1024')
  await rejected(limiter.consume(Buffer.alloc(100_000)), 'InvalidArgumentError', '1024')
  for (const text of ['ascii', 'Größe', '🦀', 'a'.repeat(1024), 'ż'.repeat(512), '€'.repeat(341)]) {
    assert.equal((await limiter.consume(text)).remaining, 1, text)
    assert.equal((await limiter.consume(Buffer.from(text))).remaining, 0, text)
    assert.equal((await limiter.consume(new Uint8Array(Buffer.from(text)))).allowed, false, text)
  }
})

test('construction throws', () => {
  const make = /** @type {any} */ (Client)
  for (const bad of [5, null, {}]) assert.throws(() => new make(bad), quotalock.InvalidArgumentError)
  for (const options of [{ prefix: 1 }, { timeoutMs: '500' }, { timeoutMs: 0.5 }, { onError: true }, 'ql', null]) {
    assert.throws(() => new make('memory://', options), quotalock.InvalidArgumentError)
  }
  const memory = /** @type {any} */ (client('memory://'))
  for (const name of [1, undefined, ''])
    assert.throws(() => memory.limiter(name, '1/s'), quotalock.InvalidArgumentError)
  for (const policy of [
    10,
    null,
    [1],
    [null],
    { limit: '1', periodMs: 1000 },
    { limit: 1.5, periodMs: 1000 },
    { limit: 1 },
    { limit: 1, periodMs: 1000, algorithm: 'token-bucket', capacity: '1' },
    { limit: 1, periodMs: 1000, algorithm: 'token-bucket', capacity: 1.5 },
    { limit: 1, periodMs: 1000, algorithm: 'token-bucket', capacity: -1 },
    { limit: Number.POSITIVE_INFINITY, periodMs: 1000 },
    { limit: Number.NaN, periodMs: 1000 },
    { limit: -(2 ** 62), periodMs: 1000 },
  ]) {
    assert.throws(() => memory.limiter('n', policy), quotalock.InvalidArgumentError)
  }
  for (const policy of [
    '',
    [],
    '10/month',
    { limit: 0, periodMs: 1000 },
    { limit: 1, periodMs: 1000, algorithm: 'x' },
    { limit: 1, periodMs: 1000, capacity: 1 },
    { limit: 1, periodMs: 1000, algorithm: 'token-bucket', capacity: 0 },
    { limit: 2 ** 52 + 1, periodMs: 1000 },
    { limit: 2 ** 62, periodMs: 1000 },
    { limit: 2 ** 70, periodMs: 1000 },
    { limit: 1, periodMs: 1000, algorithm: 'token-bucket', capacity: 2 ** 62 },
  ]) {
    assert.throws(() => memory.limiter('n', policy), quotalock.InvalidPolicyError)
  }
})

test('null is not an option that was left out, but where the declaration has it', async () => {
  const own = client('memory://nulls')
  const any = /** @type {any} */ (own)
  const BAD = quotalock.InvalidArgumentError
  for (const name of ['freshMs', 'staleMs', 'leaseMs', 'negativeMs', 'errorTtlMs', 'beta', 'whenAway']) {
    assert.throws(() => any.cache('c', { [name]: null }), BAD, name)
  }
  for (const name of ['ttlMs', 'leaseMs', 'errorTtlMs']) assert.throws(() => any.once('o', { [name]: null }), BAD, name)
  for (const name of ['ledgerCap', 'retentionMs', 'scope'])
    assert.throws(() => any.stock('s', { [name]: null }), BAD, name)
  for (const name of ['prefetch', 'scope', 'enforce']) {
    assert.throws(() => any.limiter('n', '9/s', { [name]: null }), BAD, name)
  }
  const stock = any.stock('s')
  await assert.rejects(stock.open(5, { prizes: null }), BAD)
  // No limit, no end: so a status has them.
  await stock.open(5, { perBuyer: null, endsMs: null })
  await assert.rejects(stock.restock(1, { prizes: null }), BAD)
  for (const name of ['holdMs', 'quantity', 'requestId'])
    await assert.rejects(stock.take('b', { [name]: null }), BAD, name)
  await assert.rejects(own.takeAll([[stock, 1]], 'b', /** @type {any} */ ({ holdMs: null })), BAD)
  const { reservation } = await stock.take('b')
  await assert.rejects(stock.extend(reservation.id, null), BAD)
  await assert.rejects(own.extendAll([[stock, reservation.id]], /** @type {any} */ (null)), BAD)
  // The cursor behind the last page is null.
  assert.equal((await stock.reservations({ cursor: null })).next, null)
  assert.ok(await stock.ledger({ after: null }))
  for (const name of ['ttlMs', 'waitMs', 'label', 'replicasAck'])
    await assert.rejects(any.lock('l', { [name]: null }), BAD)
})

test('the stack begins at the caller', async () => {
  const limiter = limiterOf('memory://')
  function innermost(/** @type {any} */ error) {
    // Node's own frames come first when the rejection is made while it runs its queue of ticks.
    return error.stack.split('\n').find((/** @type {string} */ line) => /^ +at /.test(line) && !line.includes('node:'))
  }
  async function caller() {
    await limiter.consume('')
  }
  const line = innermost(await caller().catch((error) => error))
  // Bun's stacks have no caller of what was answered later.
  if (BUN) assert.equal(line, undefined)
  else assert.match(line, /at async caller .*errors\.test\.mjs/)
  try {
    client('nonsense')
    assert.fail()
  } catch (error) {
    assert.match(innermost(error), /support\.mjs/)
  }
  try {
    client('memory://').limiter('n', 'x')
    assert.fail()
  } catch (error) {
    assert.match(innermost(error), /errors\.test\.mjs/)
  }
})

test('require is rejected with the decision', async () => {
  for (const url of ['memory://', ...Object.values(servers())]) {
    const limiter = limiterOf(url)
    assert.equal((await limiter.require('user:42', { cost: 2 })).remaining, 0)
    const error = await rejected(limiter.require('user:42'), 'RateLimitedError', 'user:42', 'n')
    assert.equal(error.code, 'limited')
    assert.ok(error.decision instanceof quotalock.Decision)
    assert.deepEqual([error.decision.allowed, error.decision.cost, error.decision.limit], [false, 1, 2])
    assert.ok(error.decision.retryAfterMs > 3_590_000 && error.decision.retryAfterMs <= 3_600_000)
  }
})

test('a port where nobody listens', async () => {
  await rejected(limiterOf('redis://127.0.0.1:1').consume('k'), 'UnavailableError', '127.0.0.1:1')
})

test('something else than Redis on the port', async (context) => {
  const { url } = await listener(context, (socket) => {
    socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  })
  await rejected(limiterOf(url).consume('k'), 'UnavailableError', '127.0.0.1')
})

test('a server that says nothing', async (context) => {
  const { url } = await listener(context, () => {})
  const began = performance.now()
  const limiter = limiterOf(url, { timeoutMs: 200 })
  await rejected(limiter.consume('k'), 'TimeoutError', '127.0.0.1')
  assert.ok(performance.now() - began >= 190)
})

test('on_error answers in place of Redis', async () => {
  const gone = 'redis://127.0.0.1:1'
  const open = await limiterOf(gone, { onError: 'open' }).consume('k')
  assert.deepEqual([open.allowed, open.source], [true, 'open'])
  const closed = await limiterOf(gone, { onError: 'closed' }).consume('k')
  assert.deepEqual([closed.allowed, closed.source], [false, 'closed'])
  const local = limiterOf(gone, { onError: 'local' })
  const answers = [await local.consume('k'), await local.consume('k'), await local.consume('k')]
  assert.deepEqual(
    answers.map((answer) => [answer.allowed, answer.source]),
    [
      [true, 'local'],
      [true, 'local'],
      [false, 'local'],
    ],
  )
  await rejected(local.reset('k'), 'UnavailableError', '127.0.0.1:1')
})

test('a wrong and a missing password, and the right one', async (context) => {
  const { url } = await ownRedis(context, undefined, '--requirepass', 'sesame')
  for (const login of ['', ':wrong@']) {
    const error = await rejected(limiterOf(url.replace('unix://', `unix://${login}`)).consume('k'), 'NotPermittedError')
    assert.ok(!error.stack.includes('wrong@'))
  }
  assert.ok((await limiterOf(url.replace('unix://', 'unix://:sesame@')).consume('k')).allowed)
})

test('a user who lacks a command', async () => {
  const admin = new Redis(redis())
  const user = freshPrefix()
  await admin.acl('SETUSER', user, 'on', '>secret', '~*', '+@all', '-evalsha', '-eval')
  const limiter = limiterOf(redis().replace('redis://', `redis://${user}:secret@`))
  const error = await rejected(limiter.consume('k'), 'NotPermittedError', 'evalsha')
  assert.ok(!error.stack.includes('secret'))
  await admin.acl('DELUSER', user)
  admin.disconnect()
})

test('a full Redis', async (context) => {
  const { url } = await ownRedis(context, undefined, '--maxmemory', '1', '--maxmemory-policy', 'noeviction')
  await rejected(limiterOf(url).consume('k'), 'UnavailableError', 'maxmemory')
})

test('a key of another type, and a leftover that is healed', async () => {
  for (const url of Object.values(servers())) {
    const own = client(url)
    const limiter = own.limiter('checkout', '1/minute')
    await testing.put(own, limiter.redisKey('list'), 'list', 'x')
    await rejected(limiter.consume('list'), 'WrongTypeError', 'list')
    await testing.put(own, limiter.redisKey('k'), 'string', '-37412')
    assert.deepEqual((await testing.get(own, limiter.redisKey('k')))?.ttlMs, null)
    const healed = await limiter.consume('k')
    assert.deepEqual([healed.allowed, healed.healed], [true, true])
    assert.ok(Number((await testing.get(own, limiter.redisKey('k')))?.ttlMs) > 0)
  }
})

test('a server that dies and comes back', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'quotalock-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const first = await ownRedis(context, folder)
  const limiter = limiterOf(first.url)
  assert.ok((await limiter.consume('k')).allowed)
  first.server.kill('SIGKILL')
  await once(first.server, 'exit')
  await rejected(limiter.consume('k'), 'UnavailableError')
  await ownRedis(context, folder)
  // The breaker looks again by itself, within a second.
  const seen = []
  for (const end = performance.now() + 20_000; seen.at(-1) !== 'redis' && performance.now() < end; await sleep(20)) {
    seen.push(
      await limiter.consume('k').then(
        ({ source }) => source,
        ({ code }) => code,
      ),
    )
  }
  assert.equal(seen.at(-1), 'redis', `${seen}`)
})
