// Executes every vector of the spec on every store.

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { Client, testing } from 'quotalock'
import { address, answers } from './answer-vectors.mjs'
import { badFlight, flights } from './cache-vectors.mjs'
import { mustFail } from './failures.mjs'
import { badStock, stocks } from './stock-vectors.mjs'
import { bytes, client, clusters, ROOT, stores, vectors } from './support.mjs'

/** @typedef {import('./support.mjs').Case} Case */

/** Microseconds as the milliseconds that a caller sees: rounded up, null for never. */
const ms = (/** @type {number | null} */ micros) => (micros === null ? null : Math.ceil(micros / 1000))

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
  const limiter = own.limiter(given.name, '1/hour', { scope: bytes(given, 'scope') })
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
  const given = (/** @type {string} */ name) => (args[name] === undefined ? undefined : args[name] / 1000)
  const own = new Client(args.url ?? url, {
    prefix: args.prefix,
    onError: args.on_error,
    timeoutMs: op === 'client' ? given('timeout') : undefined,
    requestMemoryMs: given('request_memory'),
  })
  const limiter = own.limiter(args.name ?? 'limiter', args.policy ?? '10/minute', { scope: bytes(args, 'scope') })
  const k = args.key ?? 'k'
  const requestId = bytes(args, 'request')
  if (op === 'consume') return limiter.consume(k, { cost: args.cost, requestId })
  if (op === 'consume_up_to') return limiter.consumeUpTo(k, args.most ?? 1)
  if (op === 'reserve')
    return limiter.reserve(k, args.estimate ?? 1, { ttlMs: given('ttl') ?? 1000, unsettled: args.unsettled })
  if (op === 'reservation') return limiter.reservation(k, args.id ?? '')
  if (op === 'settle') return limiter.reservation(k, '00112233445566778899aabbccddeeff').settle(args.actual ?? 1)
  if (op === 'consume_all') {
    // The charges are keys and costs for this limiter.
    const charge = (/** @type {[string, number]} */ [key, cost]) => /** @type {const} */ ([limiter, key, cost])
    return own.consumeAll(args.charges.map(charge), { requestId })
  }
  if (op === 'peek') return limiter.peek(k, { cost: args.cost })
  if (op === 'wait') return limiter.wait(k, { timeoutMs: (args.timeout ?? 0) / 1000, cost: args.cost })
  if (op === 'refund') return limiter.refund(k, args.amount ?? 1, { requestId })
  if (op === 'block') return limiter.block(k, args.duration / 1000)
  if (op === 'reset') return limiter.reset(k)
  assert.ok(op === 'client' || op === 'limiter', op)
  return undefined
}

/**
 * What the steps of one case share: its limiters by label (the first one's is empty), and the ids of its reservations.
 * @typedef {{ own: Client, limiters: Map<string, import('quotalock').Limiter>, reservations: Map<string, string> }} Shared
 */

/**
 * @param {Case} given
 * @param {string} store
 * @param {string} url
 */
async function steps(given, store, url) {
  const own = client(url)
  const limiters = new Map([['', own.limiter('vector', given.policy)]])
  for (const [label, { policy, scope, enforce, name }] of Object.entries(given.limiters ?? {})) {
    limiters.set(label, own.limiter(name === 'main' ? 'vector' : label, policy, { scope, enforce }))
  }
  const shared = { own, limiters, reservations: new Map() }
  for (const [i, step] of given.steps.entries()) {
    const place = `${given.id} step ${i} on ${store}`
    testing.setTime(own, step.at)
    if (step.error) await mustFail({ id: place, ...step.error }, () => perform(shared, step, store, place))
    else await perform(shared, step, store, place)
  }
  await own.close()
}

/**
 * The limiter with the label of a step or charge.
 * @param {Shared} shared
 * @param {Case} object
 */
function limiterOf({ limiters }, { limiter = '' }) {
  const found = limiters.get(limiter)
  assert.ok(found, `no limiter ${limiter}`)
  return found
}

/**
 * Performs a step and checks its answer.
 * @param {Shared} shared
 * @param {Case} step
 * @param {string} store
 * @param {string} place
 */
async function perform(shared, step, store, place) {
  const { own, reservations } = shared
  const requestId = bytes(step, 'request')
  const key = (/** @type {Case} */ object) => /** @type {Buffer} */ (bytes(object, 'key'))
  if (step.op === 'consume_all') {
    const charges = step.charges.map((/** @type {Case} */ charge) => [
      limiterOf(shared, charge),
      key(charge),
      charge.cost,
    ])
    return assertCombined(await own.consumeAll(charges, { requestId }), step.expect, store, place)
  }
  const [limiter, k] = [limiterOf(shared, step), key(step)]
  const redisKey = limiter.redisKey(k)
  const decided = (/** @type {import('quotalock').Decision} */ decision) =>
    assertDecision(decision, step.expect, store, place)
  switch (step.op) {
    case 'consume':
      return decided(await limiter.consume(k, { cost: step.cost, requestId }))
    case 'peek':
      return decided(await limiter.peek(k, { cost: step.cost }))
    case 'consume_up_to':
      return decided(await limiter.consumeUpTo(k, step.most))
    case 'refund':
      return decided(await limiter.refund(k, step.amount, { requestId }))
    case 'block':
      return decided(await limiter.block(k, step.duration / 1000))
    case 'reserve': {
      const { estimate, ttl, unsettled, as } = step
      const reservation = await limiter.reserve(k, estimate, { ttlMs: ttl / 1000, unsettled })
      reservations.set(as, reservation.id)
      assert.deepEqual([reservation.key, reservation.allowed], [k, reservation.decision?.allowed], place)
      return decided(/** @type {import('quotalock').Decision} */ (reservation.decision))
    }
    case 'settle':
    case 'cancel': {
      const reservation = limiter.reservation(k, reservations.get(step.reservation) ?? '')
      const settled = step.op === 'settle' ? await reservation.settle(step.actual) : await reservation.cancel()
      return assert.equal(settled, step.expect.settled, place)
    }
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
 * Makes the lock that a vector describes. Nothing is acquired.
 * @param {Client} own
 * @param {Case} given
 */
async function handle(own, given) {
  const micros = (/** @type {number | undefined} */ time) => (time === undefined ? undefined : time / 1000)
  const { kind, permits, weight, token_above: tokenAbove, label } = given
  const options = { acquire: false, renew: false, ttlMs: micros(given.ttl), tokenAbove, label }
  const name = /** @type {Buffer} */ (bytes(given, 'name'))
  if (kind === 'lock_all') {
    const hex = (/** @type {string} */ text) => Buffer.from(text, 'hex')
    return own.lockAll(given.names ?? given.names_hex.map(hex), options)
  }
  if (kind === 'semaphore') return own.semaphore(name, permits, { ...options, weight })
  if (kind === 'read_lock') return own.readLock(name, options)
  if (kind === 'write_lock') return own.writeLock(name, options)
  assert.equal(kind, 'lock')
  return own.lock(name, options)
}

/**
 * @param {Case} given
 * @param {string} store
 * @param {string} url
 */
async function locks(given, store, url) {
  const own = client(url)
  /** @type {Map<string, import('quotalock').Lock>} */
  const handles = new Map()
  for (const [label, of] of Object.entries(given.handles)) handles.set(label, await handle(own, of))
  /** @type {Map<string, string>} */
  const texts = new Map()
  for (const [i, step] of given.steps.entries()) {
    const place = `${given.id} step ${i} on ${store}`
    testing.setTime(own, step.at)
    const act = async () => {
      if (step.op === 'adopt') {
        handles.set(step.handle, await own.adopt(texts.get(step.text) ?? '', { renew: false, name: step.name }))
        return { adopted: true }
      }
      const lock = handles.get(step.handle)
      assert.ok(lock, `${place}: no handle ${step.handle}`)
      if (step.op !== 'handover') return await onLock(own, lock, step, place)
      texts.set(step.as, lock.handover())
      return {}
    }
    if (step.error) await mustFail({ id: place, code: step.error }, act)
    else {
      const answer = await act()
      if (step.expect) assert.deepEqual(answer, step.expect, place)
    }
  }
  await own.close()
}

/**
 * Performs a step with a lock and returns the answer as the vectors write it.
 * @param {Client} own
 * @param {import('quotalock').Lock} lock
 * @param {Case} step
 * @param {string} place
 */
async function onLock(own, lock, step, place) {
  const redisKey = /** @type {Buffer} */ (lock.redisKeys[0])
  switch (step.op) {
    case 'acquire':
      return { acquired: await lock.acquire() }
    case 'release':
      return { released: await lock.release() }
    case 'extend':
      return { extended: await lock.extend(step.ttl === undefined ? undefined : step.ttl / 1000) }
    case 'state':
      return { state: lock.state, held: lock.held, remaining: lock.remainingMs * 1000, token: lock.token }
    case 'force_release':
      return { count: await lock.forceRelease() }
    case 'raise_floor':
      return lock.raiseFloor(step.floor)
    case 'assert_held':
      lock.assertHeld()
      return {}
    case 'inspect': {
      const { token, waiters, healed, holders } = await lock.inspect()
      const shown = holders.map(({ label, token, permits, sinceMs, untilMs }) => {
        return { label, token, permits, since: sinceMs * 1000, until: untilMs * 1000 }
      })
      return { token, waiters, healed, holders: shown }
    }
    case 'redis_keys': {
      const hex = step.expect.redis_keys === undefined
      const shown = (/** @type {Buffer} */ key) => key.subarray(own.prefix.length + 1).toString(hex ? 'hex' : 'utf8')
      return { [hex ? 'redis_keys_hex' : 'redis_keys']: lock.redisKeys.map(shown) }
    }
    case 'plant':
      return testing.put(own, redisKey, step.type ?? 'string', bytes(step, 'value') ?? 'x')
    case 'persist':
      return testing.put(own, redisKey, 'persist', '')
    case 'raw': {
      const stored = await testing.get(own, redisKey)
      const { ttl } = step.expect
      const has = stored !== null && stored.ttlMs !== null
      return { exists: stored !== null, ...(ttl === undefined ? {} : { ttl: has }) }
    }
    default:
      return assert.fail(`${place}: unknown op ${step.op}`)
  }
}

/** Who answers on a store. */
const sourceOf = (/** @type {string} */ store) => (store === 'memory' ? 'memory' : 'redis')

/**
 * A decision of the vectors as Node shows it.
 * @param {Case} expect
 * @param {string} store
 */
function shown(expect, store) {
  const five = (/** @type {Case} */ { allowed, limit, remaining, retry_after, reset_after }) => {
    return { allowed, limit, remaining, retryAfterMs: ms(retry_after), resetAfterMs: ms(reset_after) }
  }
  const { cost, healed, rules, would_deny: wouldDeny = false } = expect
  return { ...five(expect), wouldDeny, cost, healed, source: sourceOf(store), rules: rules.map(five) }
}

/** What answers.json is about. */
const OF_LIMITERS = new Set(['name', 'algorithm', 'quota', 'periodMs', 'capacity'])

/** What an answer shows but what it says of its limiter: only the fields count, not the classes. */
const plain = (/** @type {unknown} */ answer) =>
  JSON.parse(JSON.stringify(answer, (name, value) => (OF_LIMITERS.has(name) ? undefined : value)))

/**
 * @param {import('quotalock').Decision} decision
 * @param {Case} expect
 * @param {string} store
 * @param {string} place
 */
function assertDecision(decision, expect, store, place) {
  assert.deepEqual(plain(decision), shown(expect, store), place)
}

/**
 * @param {import('quotalock').CombinedDecision} combined
 * @param {Case} expect
 * @param {string} store
 * @param {string} place
 */
function assertCombined(combined, expect, store, place) {
  const { allowed, would_deny: wouldDeny, binding, retry_after } = expect
  const decisions = expect.decisions.map((/** @type {Case} */ decision) => shown(decision, store))
  const source = sourceOf(store)
  assert.deepEqual(
    plain(combined),
    { allowed, wouldDeny, binding, retryAfterMs: ms(retry_after), source, decisions },
    place,
  )
}

for (const [store, url] of Object.entries({ ...stores(), ...clusters() })) {
  test(`every vector on ${store}`, async () => {
    const executed = []
    for (const [file, cases] of vectors()) {
      for (const given of cases) {
        if (file === 'policies.json') await policy(given)
        else if (file === 'keys.json') await key(given, url)
        else if (file === 'errors.json') await mustFail(given, () => badCall(given.op, given.args, url))
        else if (file === 'lock-errors.json')
          await mustFail({ id: given.id, code: given.error }, () => handle(client(url), given.handle))
        else if (file === 'stock-errors.json') await mustFail(given, () => badStock(given, url))
        else if (file === 'cache-errors.json') await mustFail(given, () => badFlight(given, url))
        else if (file === 'addresses.json') await address(given)
        else if (file === 'answers.json') await answers(given, url)
        else if (given.stocks) await stocks(given, store, url)
        else if (given.caches ?? given.onces) await flights(given, store, url)
        else if (given.handles) await locks(given, store, url)
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
