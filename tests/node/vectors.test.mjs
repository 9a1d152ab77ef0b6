// Executes every vector of the spec on every store.

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Client, QuotalockError, testing } from 'quotalock'
import { bytes, client, ROOT, stores, vectors } from './support.mjs'

/** @typedef {import('./support.mjs').Case} Case */

/** Microseconds as the milliseconds that a caller sees: rounded up, null for never. */
const ms = (/** @type {number | null} */ micros) => (micros === null ? null : Math.ceil(micros / 1000))

/**
 * Checks the class, the code and the message of an error.
 * @param {string} place
 * @param {Case} expected
 * @param {unknown} error
 */
function assertError(place, expected, error) {
  assert.ok(error instanceof QuotalockError, `${place}: ${inspect(error)}`)
  assert.equal(error.code, expected.code, `${place}: ${error.message}`)
  for (const part of expected.contains ?? [])
    assert.ok(error.message.includes(part), `${place}: no ${part} in ${error}`)
  for (const secret of expected.never ?? []) {
    const shown = `${inspect(error, { showHidden: true })} ${error.stack} ${JSON.stringify(error)} ${error.message}`
    assert.ok(!shown.includes(secret), `${place}: ${secret} shows in ${shown}`)
  }
}

/**
 * Expects a failure, thrown or rejected.
 * @param {Case} expected
 * @param {() => unknown} act
 */
async function mustFail(expected, act) {
  let error
  try {
    await act()
  } catch (thrown) {
    error = thrown
  }
  assertError(expected.id, expected, error)
}

/** @param {Case} given */
async function policy(given) {
  const memory = new Client('memory://')
  if (given.canonical === undefined) return mustFail(given, () => memory.limiter('n', given.input))
  assert.equal(memory.limiter('n', given.input).policy, given.canonical, given.id)
  assert.equal(memory.limiter('n', given.canonical).policy, given.canonical, given.id)
  const rules = given.rules.map((/** @type {Case} */ rule) => {
    const { algorithm, limit, period, capacity } = rule
    return { algorithm, limit, periodMs: period / 1000, capacity }
  })
  assert.equal(memory.limiter('n', rules).policy, given.canonical, `${given.id} from objects`)
}

/**
 * @param {Case} given
 * @param {string} url
 */
async function key(given, url) {
  // Vectors name their prefixes, and stores are shared: the key is taken away again.
  const own = new Client(url, { prefix: given.prefix, timeoutMs: 10_000 })
  const limiter = own.limiter(given.name, '1/hour')
  const plain = /** @type {Buffer} */ (bytes(given, 'key'))
  const expected = bytes(given, 'redis_key')
  assert.deepEqual(limiter.redisKey(plain), expected, given.id)
  if (typeof given.key === 'string') assert.deepEqual(limiter.redisKey(given.key), expected, given.id)
  const { allowed } = await limiter.consume(given.key ?? plain)
  assert.ok(allowed, given.id)
  const stored = await testing.get(own, /** @type {Buffer} */ (expected))
  assert.ok(stored && stored.ttlMs !== null && stored.ttlMs > 0, given.id)
  assert.equal(await limiter.reset(plain), true, given.id)
  await own.close()
}

/** What each `op` of errors.json does with its arguments. */
function badCall(/** @type {string} */ op, /** @type {Case} */ args, /** @type {string} */ url) {
  const timeoutMs = op === 'client' && args.timeout !== undefined ? args.timeout / 1000 : undefined
  const own = new Client(args.url ?? url, { prefix: args.prefix, onError: args.on_error, timeoutMs })
  const limiter = own.limiter(args.name ?? 'limiter', args.policy ?? '10/minute')
  const k = args.key ?? 'k'
  if (op === 'consume') return limiter.consume(k, { cost: args.cost })
  if (op === 'peek') return limiter.peek(k, { cost: args.cost })
  if (op === 'wait') return limiter.wait(k, { timeoutMs: (args.timeout ?? 0) / 1000, cost: args.cost })
  if (op === 'refund') return limiter.refund(k, args.amount)
  if (op === 'block') return limiter.block(k, args.duration / 1000)
  if (op === 'reset') return limiter.reset(k)
  assert.ok(op === 'client' || op === 'limiter', op)
  return undefined
}

/**
 * @param {Case} given
 * @param {string} store
 * @param {string} url
 */
async function steps(given, store, url) {
  const own = client(url)
  const limiter = own.limiter('vector', given.policy)
  for (const [i, step] of given.steps.entries()) {
    const place = `${given.id} step ${i} on ${store}`
    testing.setTime(own, step.at)
    if (step.error) {
      await mustFail({ id: place, ...step.error }, () => perform(own, limiter, step, store, place))
    } else {
      await perform(own, limiter, step, store, place)
    }
  }
  await own.close()
}

/**
 * Performs a step and checks its answer.
 * @param {Client} own
 * @param {import('quotalock').Limiter} limiter
 * @param {Case} step
 * @param {string} store
 * @param {string} place
 */
async function perform(own, limiter, step, store, place) {
  const k = /** @type {Buffer} */ (bytes(step, 'key'))
  const redisKey = limiter.redisKey(k)
  switch (step.op) {
    case 'consume':
    case 'peek':
      return assertDecision(
        await limiter[/** @type {'consume' | 'peek'} */ (step.op)](k, { cost: step.cost }),
        step,
        store,
        place,
      )
    case 'refund':
      return assertDecision(await limiter.refund(k, step.amount), step, store, place)
    case 'block':
      return assertDecision(await limiter.block(k, step.duration / 1000), step, store, place)
    case 'reset':
      return assert.equal(await limiter.reset(k), step.expect.existed, place)
    case 'plant':
      return testing.put(own, redisKey, step.type ?? 'string', bytes(step, 'value') ?? 'x')
    case 'persist':
      return testing.put(own, redisKey, 'persist', '')
    case 'raw': {
      const stored = await testing.get(own, redisKey)
      assert.equal(stored !== null, step.expect.exists, place)
      if (stored !== null && step.expect.ttl !== undefined) assert.equal(stored.ttlMs !== null, step.expect.ttl, place)
      return undefined
    }
    default:
      assert.fail(`${place}: unknown op ${step.op}`)
  }
}

/**
 * @param {import('quotalock').Decision} decision
 * @param {Case} step
 * @param {string} store
 * @param {string} place
 */
function assertDecision(decision, step, store, place) {
  const five = (/** @type {Case} */ { allowed, limit, remaining, retry_after, reset_after }) => {
    return { allowed, limit, remaining, retryAfterMs: ms(retry_after), resetAfterMs: ms(reset_after) }
  }
  const { cost, healed, rules } = step.expect
  const source = store === 'memory' ? 'memory' : 'redis'
  // Through JSON: only the fields count, not the classes.
  const found = JSON.parse(JSON.stringify(decision))
  assert.deepEqual(found, { ...five(step.expect), cost, healed, source, rules: rules.map(five) }, place)
}

for (const [store, url] of Object.entries(stores())) {
  test(`every vector on ${store}`, async () => {
    const executed = []
    for (const [file, cases] of vectors()) {
      for (const given of cases) {
        if (file === 'policies.json') await policy(given)
        else if (file === 'keys.json') await key(given, url)
        else if (file === 'errors.json') await mustFail(given, () => badCall(given.op, given.args, url))
        else await steps(given, store, url)
        executed.push(given.id)
      }
    }
    executed.sort()
    const folder = new URL('target/vectors/', ROOT)
    mkdirSync(folder, { recursive: true })
    writeFileSync(new URL(`node-${store}.json`, folder), `${JSON.stringify(executed, null, 2)}\n`)
    const spec = vectors().flatMap(([, cases]) => cases.map((given) => given.id))
    assert.deepEqual(executed, spec.sort(), 'the executed vectors are not those of the spec')
  })
}
