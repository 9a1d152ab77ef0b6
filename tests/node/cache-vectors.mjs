// Executes the vectors of caches and of once.

import assert from 'node:assert/strict'
import { testing } from 'quotalock'
import { mustFail } from './failures.mjs'
import { bytes, client } from './support.mjs'

/** @typedef {import('./support.mjs').Case} Case */
/** @typedef {import('quotalock').Client} Client */

/** Nobody waits in vectors. */
const NOW = { waitMs: 0 }

/** Microseconds as milliseconds. The vectors have whole ones only. */
const ms = (/** @type {number | undefined} */ micros) => (micros === undefined ? undefined : micros / 1000)

/** The exception of a loader of a vector. */
class Raised extends Error {}

/**
 * @param {Client} own
 * @param {Case} made
 */
function cache(own, made) {
  const { name = 'home', beta, when_away: whenAway } = made
  const [freshMs, staleMs, leaseMs] = [ms(made.fresh), ms(made.stale), ms(made.lease)]
  const [negativeMs, errorTtlMs] = [ms(made.negative), ms(made.error_ttl)]
  return own.cache(name, { freshMs, staleMs, leaseMs, negativeMs, errorTtlMs, beta, whenAway })
}

/**
 * @param {Client} own
 * @param {Case} made
 */
function once(own, made) {
  const { name = 'coupon' } = made
  return own.once(name, { ttlMs: ms(made.ttl), leaseMs: ms(made.lease), errorTtlMs: ms(made.error_ttl) })
}

/** What the steps of one case share: its caches and onces by label. */
class Shared {
  own
  /** @type {Map<string, import('quotalock').Cache>} */
  caches = new Map()
  /** @type {Map<string, import('quotalock').Once>} */
  onces = new Map()

  constructor(/** @type {string} */ url, /** @type {Case} */ given) {
    this.own = client(url)
    for (const [label, made] of Object.entries(given.caches ?? {})) this.caches.set(label, cache(this.own, made))
    for (const [label, made] of Object.entries(given.onces ?? {})) this.onces.set(label, once(this.own, made))
  }
}

/**
 * @param {Case} given
 * @param {string} store
 * @param {string} url
 */
export async function flights(given, store, url) {
  const shared = new Shared(url, given)
  await performAll(shared, given.steps, `${given.id} on ${store}`)
  await shared.own.close()
}

/**
 * @param {Shared} shared
 * @param {Case[]} steps
 * @param {string} where
 */
async function performAll(shared, steps, where) {
  for (const [i, step] of steps.entries()) {
    const place = `${where} step ${i}`
    testing.setTime(shared.own, step.at)
    if (step.error) await mustFail({ id: place, code: step.error }, () => perform(shared, step, place))
    else {
      const found = await perform(shared, step, place)
      if (step.expect !== undefined) assert.deepEqual(found, step.expect, place)
    }
  }
}

/**
 * Performs a step and returns the answer as the vectors write it.
 * @param {Shared} shared
 * @param {Case} step
 * @param {string} place
 */
function perform(shared, step, place) {
  if (step.once !== undefined) return performOfOnce(shared, step, place)
  return performOfCache(shared, step, place)
}

/**
 * @param {Shared} shared
 * @param {Case} step
 * @param {string} place
 */
async function performOfCache(shared, step, place) {
  const found = shared.caches.get(step.cache)
  assert.ok(found, `${place}: no cache ${step.cache}`)
  const key = bytes(step, 'key') ?? Buffer.alloc(0)
  switch (step.op) {
    case 'get':
      return gotten(shared, step, step.load, 'loaded', place, (load) => found.get(key, load, NOW))
    case 'get_many': {
      /** @type {string[]} */
      let loaded = []
      const load = (/** @type {string[]} */ missing) => {
        loaded = missing
        return new Map(missing.map((each) => [each, step.load.values[step.keys.indexOf(each)]]))
      }
      const values = await found.getMany(/** @type {string[]} */ (step.keys), load, NOW)
      assert.deepEqual([...values.keys()], step.keys, place)
      return { values: [...values.values()].map((value) => value && String(value)), loaded }
    }
    case 'peek': {
      const seen = await found.peek(key)
      if (seen === null) return null
      return { ...shown(seen.value, 'value', step), stale: seen.stale, age: seen.ageMs * 1000 }
    }
    case 'put':
      return found.put(key, bytes(step, 'value') ?? null)
    case 'invalidate':
      return { existed: await found.invalidate(key) }
    default:
      return onKey(shared.own, step, found.redisKey(key), place)
  }
}

/**
 * @param {Shared} shared
 * @param {Case} step
 * @param {string} place
 */
async function performOfOnce(shared, step, place) {
  const found = shared.onces.get(step.once)
  assert.ok(found, `${place}: no once ${step.once}`)
  const id = bytes(step, 'id') ?? Buffer.alloc(0)
  switch (step.op) {
    case 'run':
      return gotten(shared, step, step.function, 'ran', place, (load) => found.run(id, load, NOW))
    case 'claim': {
      const { first, value, running } = await found.claim(id, bytes(step, 'value') ?? null)
      return { first, ...shown(value, 'value', step), running }
    }
    case 'release':
      return { released: await found.release(id) }
    default:
      return onKey(shared.own, step, found.redisKey(id), place)
  }
}

/**
 * What a get or a run comes to.
 * @param {Shared} shared
 * @param {Case} step
 * @param {Case} load
 * @param {string} called
 * @param {string} place
 * @param {(load: () => Promise<Buffer | null>) => Promise<Buffer | null>} get
 */
async function gotten(shared, step, load, called, place, get) {
  let loaded = false
  const loader = async () => {
    loaded = true
    await performAll(shared, load.during ?? [], `${place}, in it,`)
    if (load.until !== undefined) testing.setTime(shared.own, load.until)
    if (load.error !== undefined) throw new Raised(load.error)
    return bytes(load, 'value') ?? null
  }
  try {
    return { ...shown(await get(loader), 'value', step), [called]: loaded }
  } catch (error) {
    if (error instanceof Raised) return { raised: error.message }
    throw error
  }
}

/**
 * What is done with the Redis key itself.
 * @param {Client} own
 * @param {Case} step
 * @param {Buffer} redisKey
 * @param {string} place
 */
async function onKey(own, step, redisKey, place) {
  switch (step.op) {
    case 'redis_key':
      return shown(redisKey.subarray(own.prefix.length + 1), 'redis_key', step)
    case 'plant':
      return testing.put(own, redisKey, step.type ?? 'string', bytes(step, 'value') ?? 'x')
    case 'persist':
      return testing.put(own, redisKey, 'persist', '')
    case 'raw': {
      const stored = await testing.get(own, redisKey)
      const has = stored !== null && stored.ttlMs !== null
      return { exists: stored !== null, ...('ttl' in step.expect ? { ttl: has } : {}) }
    }
    default:
      return assert.fail(`${place}: unknown op ${step.op}`)
  }
}

/**
 * Bytes as the answer that is expected writes them.
 * @param {Buffer | null} found
 * @param {string} field
 * @param {Case} step
 */
function shown(found, field, step) {
  const hex = `${field}_hex` in (step.expect ?? {})
  return hex ? { [`${field}_hex`]: found?.toString('hex') } : { [field]: found && String(found) }
}

/**
 * Makes what cannot be made, or a call that is refused.
 * @param {Case} given
 * @param {string} url
 */
export async function badFlight({ make, options, call = {} }, url) {
  const own = client(url)
  const large = () => (call.size === undefined ? null : Buffer.alloc(call.size, 'x'))
  if (make === 'once') {
    const made = once(own, options)
    if (call.op === 'claim') return made.claim(call.key, large())
    assert.ok(call.op === 'run' || call.op === undefined)
    return call.op && made.run(call.key, large, NOW)
  }
  const made = cache(own, options)
  switch (call.op) {
    case 'get':
      try {
        return await made.get(call.key, large, NOW)
      } finally {
        // The way is free for the next one.
        if (call.size !== undefined) assert.equal(String(await made.get(call.key, () => 'small', NOW)), 'small')
      }
    case 'peek':
      return made.peek(call.key)
    case 'put':
      return made.put(call.key, large())
    case 'get_many':
      return made.getMany(call.keys, () => new Map(), NOW)
    default:
      return assert.equal(call.op, undefined)
  }
}
