// The module, its declarations and tests/spec/api.json say the same.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { inspect } from 'node:util'
import * as esm from 'quotalock'
import { api, client, ROOT } from './support.mjs'

const cjs = createRequire(import.meta.url)('quotalock')
const DECLARATIONS = readFileSync(new URL('bindings-node/index.d.ts', ROOT), 'utf8').replaceAll(
  /\/\*\*[\s\S]*?\*\//g,
  '',
)

/** A canonical name as Node writes it. `function` is a word of the language. */
function camel(/** @type {string} */ name) {
  return name === 'function' ? 'fn' : name.replaceAll(/_(.)/g, (_, letter) => letter.toUpperCase())
}

/** A parameter or property as Node has it: `retry_after` is `retryAfterMs`; some are durations in one type only. */
function casedIn(/** @type {string} */ type, /** @type {string} */ name) {
  const { durations } = api()
  return durations.includes(name) || durations.includes(`${type}.${name}`) ? `${camel(name)}Ms` : camel(name)
}

/** As `casedIn`, in whatever type. */
const cased = (/** @type {string} */ name) => casedIn('', name)

/** The methods that make and acquire a lock. */
const LOCKING = ['lock', 'lock_all', 'semaphore', 'read_lock', 'write_lock']

/** What the spec lists for a type, with what Node has beyond the other languages. */
function specOf(/** @type {string} */ name) {
  const { types, only } = api()
  const spec = types[name]
  const { methods = {}, properties = [] } = only.node[name] ?? {}
  Object.assign(spec.methods, methods)
  spec.properties.push(...properties)
  if (name === 'Client') for (const method of LOCKING) spec.methods[method].push(...only.node.parameters)
  return spec
}

/** The body of a declared class, interface or constant. */
function declared(/** @type {string} */ name) {
  const found = new RegExp(`(?:class|interface|const) ${name}\\b[^{]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(DECLARATIONS)
  assert.ok(found, `${name} is not declared`)
  return /** @type {string} */ (found[1])
}

/** The names of what a declared body holds, `method` or `property`. */
function members(/** @type {string} */ name) {
  const body = declared(name)
  const of = (/** @type {RegExp} */ pattern) => [...body.matchAll(pattern)].map(([, found]) => found).sort()
  return {
    methods: of(/^ {2}(\w+)(?:<[^>]*>)?\(/gm).filter((found) => found !== 'constructor'),
    properties: of(/^ {2}readonly (\w+)\??:/gm),
  }
}

/** The names of a declared interface's properties, those of what it extends included. @returns {string[]} */
function inherited(/** @type {string} */ name) {
  const [, base] = new RegExp(`interface ${name} extends (\\w+)`).exec(DECLARATIONS) ?? []
  const own = /** @type {string[]} */ (members(name).properties)
  return base === undefined ? own : [...own, ...inherited(base)]
}

/** The parameters of a declared method or function, those of an options object in its place. */
function parameters(/** @type {string} */ body, /** @type {string} */ method) {
  const found = new RegExp(`\\b${method}(?:<[^>]*>)?\\(([^)]*)\\)`).exec(body)
  assert.ok(found, `${method} is not declared`)
  const names = []
  for (const parameter of /** @type {string} */ (found[1]).split(/,\s*/).filter(Boolean)) {
    const [name, type] = /** @type {[string, string]} */ (parameter.trim().split(/\??: /))
    if (type.endsWith('Options')) names.push(...inherited(type))
    else names.push(name)
  }
  // A signal is JavaScript's own way to give up.
  return names.filter((name) => name !== 'signal').sort()
}

/** The names on a prototype: methods, and accessors as properties. */
function reflected(/** @type {any} */ type) {
  const found = Object.entries(Object.getOwnPropertyDescriptors(type.prototype)).filter(
    ([name]) => name !== 'constructor',
  )
  const names = (/** @type {boolean} */ accessor) =>
    found.filter(([, { get }]) => !!get === accessor).map(([name]) => name)
  return { methods: names(false).sort(), properties: names(true).sort() }
}

test('require, import and declarations export the same names', () => {
  const declaredNames = [...DECLARATIONS.matchAll(/^export (?:class|const|function) (\w+)/gm)].map(([, name]) => name)
  assert.ok(declaredNames.length > 15)
  assert.deepEqual(Object.keys(cjs).sort(), declaredNames.sort())
  assert.deepEqual(Object.keys(esm).sort(), declaredNames.sort())
  for (const name of declaredNames)
    assert.equal(/** @type {any} */ (esm)[/** @type {string} */ (name)], cjs[name ?? ''])
})

test('all that has methods has what the spec lists', () => {
  for (const name of ['Client', 'Limiter', 'Reservation', 'Lock', 'Stock', 'Once', 'Cache']) {
    const spec = specOf(name)
    const expected = {
      methods: Object.keys(spec.methods).map(camel).sort(),
      properties: spec.properties.map((/** @type {string} */ property) => casedIn(name, property)).sort(),
    }
    assert.deepEqual(reflected(cjs[name]), expected, name)
    assert.deepEqual(members(name), expected, name)
    for (const [method, given] of Object.entries(spec.methods)) {
      const wanted = given.map((/** @type {string} */ parameter) => casedIn(name, parameter)).sort()
      assert.deepEqual(parameters(declared(name), camel(method)), wanted, `${name}.${method}`)
    }
  }
  assert.deepEqual(parameters(declared('Client'), 'constructor'), specOf('Client').construct.map(cased).sort())
})

test('decisions, inspections and Rule have what the spec lists', async () => {
  const { CombinedDecision, Decision, Holder, Inspection, RuleDecision, Rule } = api().types
  const own = client('memory://')
  const limiter = own.limiter('n', '2/s')
  const decision = await limiter.consume('k')
  const [rule] = decision.rules
  const combined = await own.consumeAll([[limiter, 'k']])
  const inspection = await (await own.lock('n')).inspect()
  for (const [object, spec, name] of [
    [inspection, Inspection, 'Inspection'],
    [inspection.holders[0], Holder, 'Holder'],
    [decision, Decision, 'Decision'],
    [combined, CombinedDecision, 'CombinedDecision'],
    [combined.decisions[0], Decision, 'Decision'],
    [rule, RuleDecision, 'RuleDecision'],
  ]) {
    const expected = spec.properties.map(cased).sort()
    assert.deepEqual(Object.keys(/** @type {object} */ (object)).sort(), expected)
    assert.deepEqual(members(name).properties, expected)
    assert.equal(/** @type {object} */ (object).constructor, /** @type {any} */ (esm)[name])
  }
  assert.deepEqual(members('Rule').properties, Rule.properties.map(cased).sort())
})

test('the answers of stocks, once and caches have what the spec lists', async () => {
  const { types } = api()
  const own = client('memory://')
  const stock = own.stock('sale')
  await stock.open(3)
  const taken = await stock.take('buyer')
  const page = await stock.reservations()
  const cache = own.cache('home')
  await cache.put('k', 'v')
  for (const [name, object] of Object.entries({
    Taken: taken,
    StockReservation: taken.reservation,
    TakenAll: await own.takeAll([[stock, 1]], 'buyer'),
    StockPage: page,
    StockStatus: await stock.status(),
    LedgerEntry: (await stock.ledger())[0],
    Claimed: await own.once('o').claim('id'),
    Seen: await cache.peek('k'),
  })) {
    const expected = types[name].properties.map((/** @type {string} */ property) => casedIn(name, property)).sort()
    assert.deepEqual(Object.keys(/** @type {object} */ (object)).sort(), expected, name)
    assert.deepEqual(members(name).properties, expected, name)
    assert.equal(/** @type {object} */ (object).constructor, /** @type {any} */ (esm)[name])
  }
  const classes = Object.keys(cjs).filter((name) => /^[A-Z]/.test(name) && !name.endsWith('Error'))
  assert.deepEqual(
    classes.sort(),
    Object.keys(types)
      .filter((name) => name !== 'Rule')
      .sort(),
  )
})

test('the functions and testing have what the spec lists', () => {
  const { functions, only, testing } = api()
  const declaredFunctions = [...DECLARATIONS.matchAll(/^export function (\w+)/gm)].map(([, name]) => name)
  assert.deepEqual(declaredFunctions.sort(), Object.keys(functions).map(camel).sort())
  for (const [name, given] of Object.entries(functions)) {
    const own = given.includes('renew') ? only.node.parameters : []
    assert.deepEqual(parameters(DECLARATIONS, camel(name)), [...given, ...own].map(cased).sort(), name)
  }
  const own = only.node.testing
  assert.deepEqual(Object.keys(esm.testing).sort(), [...Object.keys(testing), ...own].map(camel).sort())
  for (const [name, given] of Object.entries(testing)) {
    assert.deepEqual(parameters(declared('testing'), camel(name)), given.map(cased).sort(), name)
  }
})

test('there is one class for each kind of error', () => {
  const { errors } = api()
  for (const [code, name] of Object.entries(/** @type {Record<string, string>} */ (errors))) {
    const type = /** @type {any} */ (esm)[`${name}Error`]
    const error = new type('why')
    assert.ok(error instanceof esm.QuotalockError && error instanceof Error)
    assert.deepEqual([error.code, error.name, error.message], [code, `${name}Error`, 'why'])
    assert.match(`${error.stack}`, new RegExp(`^${name}Error: why\n`))
    assert.ok(DECLARATIONS.includes(`class ${name}Error extends QuotalockError`), name)
    assert.ok(DECLARATIONS.includes(`  | '${code}'`), code)
  }
})

test('the words of the declarations are those of the spec', () => {
  const union = (/** @type {string} */ name) => {
    const found = new RegExp(`type ${name} = (.*)`).exec(DECLARATIONS)
    return [...(found?.[1] ?? '').matchAll(/'([^']*)'/g)].map(([, word]) => word)
  }
  assert.deepEqual(union('Algorithm'), api().algorithms)
  assert.deepEqual(union('Source'), api().sources)
  assert.equal(union('Unsettled')[0], api().defaults.unsettled)
  assert.deepEqual(union('LockState'), api().lock_states)
})

test('defaults are those of the spec', async () => {
  const { defaults } = api()
  const plain = new esm.Client('memory://')
  assert.equal(plain.prefix, defaults.prefix)
  const limiter = plain.limiter('n', { limit: 10, periodMs: 60_000 })
  assert.equal(limiter.policy, '10/minute')
  assert.equal((await limiter.consume('k')).cost, defaults.cost)
  assert.equal((await plain.consumeAll([[limiter, 'k']])).decisions[0]?.cost, defaults.cost)
  assert.deepEqual([limiter.enforce, limiter.scope], [defaults.enforce, null])
  const hourly = plain.limiter('hourly', '10/hour')
  const at = (/** @type {number} */ ms) => esm.testing.setTime(plain, (1_700_000_000_000 + ms) * 1000)
  const ask = async () => (await hourly.consume('k', { requestId: 'r' })).remaining
  at(0)
  const left = [await ask()]
  for (const ms of [defaults.request_memory_ms - 1, defaults.request_memory_ms]) {
    at(ms)
    left.push(await ask())
  }
  assert.deepEqual(left, [9, 9, 8])
  await hourly.reserve('k', 3, { ttlMs: 1 })
  at(defaults.request_memory_ms + 2)
  assert.deepEqual([defaults.unsettled, (await hourly.peek('k')).remaining], ['spent', 5])
})

test('the defaults of locks are those of the spec', async () => {
  const { defaults } = api()
  const own = client('memory://')
  const at = (/** @type {number} */ micros) => esm.testing.setTime(own, 1_700_000_000_000_000 + micros)
  at(0)
  const lock = await own.lock('n')
  assert.equal(lock.ttlMs, defaults.ttl_ms)
  const [holder] = (await lock.inspect()).holders
  assert.deepEqual([holder?.label, holder?.untilMs], [defaults.label, 1_700_000_000_000 + defaults.ttl_ms])
  // Neither does it wait, nor is the token above anything but the time.
  assert.equal(await (await own.lock('n', { acquire: false })).acquire(), defaults.wait_ms > 0)
  assert.equal(lock.token, 1_700_000_000_000_000 + defaults.token_above)
  const [semaphore] = (await (await own.semaphore('s', 2)).inspect()).holders
  assert.equal(semaphore?.permits, defaults.weight)
})

test('the defaults of caches and onces are those of the spec', async () => {
  const { cache, once } = api().defaults
  const own = client('memory://')
  const [pages, coupons] = [own.cache('pages'), own.once('coupons')]
  const at = (/** @type {number} */ ms) => esm.testing.setTime(own, (1_700_000_000_000 + ms) * 1000)
  const now = { waitMs: 0 }
  const codeOf = async (/** @type {Promise<any>} */ call) => (await call.catch((error) => error))?.code
  const fails = () => Promise.reject(new Error('down'))
  /** @type {(ms: number, has: () => Promise<boolean>) => Promise<void>} */
  const ends = async (ms, has) => {
    for (const [time, wanted] of /** @type {const} */ ([
      [ms - 1, true],
      [ms, false],
    ])) {
      at(time)
      assert.equal(await has(), wanted, `${ms}`)
    }
  }
  const seen = (/** @type {string} */ key) => async () => (await pages.peek(key)) !== null
  at(0)
  await Promise.all([pages.put('value', 'x'), pages.put('none', null), coupons.claim('claim')])
  await codeOf(pages.get('error', fails))
  await codeOf(coupons.run('error', fails))
  assert.deepEqual([once.error_ttl_ms, String(await coupons.run('error', () => 'x'))], [0, 'x'])
  await ends(cache.error_ttl_ms, async () => (await codeOf(pages.get('error', () => 'x', now))) === 'load_failed')
  await ends(cache.fresh_ms + cache.stale_ms, seen('value'))
  await ends(cache.negative_ms ?? cache.fresh_ms, seen('none'))
  await ends(once.ttl_ms, async () => !(await own.once('coupons', { ttlMs: 1 }).claim('claim')).first)
  at(0)
  await pages.get('lease', async () => {
    await ends(cache.lease_ms, async () => (await codeOf(pages.get('lease', () => 'x', now))) === 'timeout')
    return 'y'
  })
  at(0)
  await coupons.run('lease', async () => {
    await ends(once.lease_ms, async () => (await codeOf(coupons.run('lease', () => 'x', now))) === 'timeout')
    return 'y'
  })
  const { waitOf } = createRequire(import.meta.url)('../../bindings-node/lib/flight.js')
  assert.deepEqual([cache.wait_ms, once.wait_ms], [waitOf() ?? null, waitOf() ?? null])
  const away = new esm.Client('redis://127.0.0.1:1').cache('pages')
  assert.deepEqual([cache.when_away, await codeOf(away.get('x', () => 'x'))], ['raise', 'unavailable'])
})

test('the defaults of stocks are those of the spec', async () => {
  const { quantity, hold_ms, count, retention_ms } = api().defaults.stock
  const own = client('memory://')
  const at = (/** @type {number} */ ms) => esm.testing.setTime(own, (1_700_000_000_000 + ms) * 1000)
  at(0)
  const [stock, other] = [own.stock('n'), own.stock('m')]
  assert.equal(stock.scope, null)
  await Promise.all([stock.open(1000), other.open(1000)])
  // TTLs run in real time.
  const ttl = (await esm.testing.get(own, stock.redisKeys[0] ?? ''))?.ttlMs ?? 0
  assert.ok(ttl > retention_ms - 60_000 && ttl <= retention_ms, `${ttl}`)
  const { reservation: held } = await stock.take('buyer')
  assert.deepEqual([held?.quantity, held?.untilMs], [quantity, 1_700_000_000_000 + hold_ms])
  const [both] = (await own.takeAll([[other, 1]], 'buyer')).reservations
  assert.equal(both?.untilMs, 1_700_000_000_000 + hold_ms)
  at(1)
  await stock.extend(held?.id ?? '')
  await own.extendAll([[other, both?.id ?? '']])
  for (const { reservations } of [await stock.reservations(), await other.reservations()]) {
    assert.equal(reservations[0]?.untilMs, 1_700_000_000_001 + hold_ms)
  }
  for (let n = 0; n < count; n++) await stock.take('buyer')
  const [page, entries] = [await stock.reservations(), await stock.ledger()]
  assert.deepEqual([page.reservations.length, entries.length, page.next === null], [count, count, false])
})

test('a lock is made by a client only, and shows what it is', async () => {
  assert.throws(() => Reflect.construct(esm.Lock, [{}, ['n'], 0]), esm.InvalidArgumentError)
  const lock = await client('memory://').lock('sku:42', { acquire: false })
  assert.equal(inspect(lock), "Lock { names: [ 'sku:42' ], state: 'released', token: null }")
})

test('a rule has a capacity', () => {
  const policyOf = (/** @type {number | null | undefined} */ capacity) =>
    new esm.Client('memory://').limiter('n', { limit: 10, periodMs: 1000, algorithm: 'token-bucket', capacity }).policy
  assert.equal(policyOf(50), 'token-bucket 10/second capacity 50')
  for (const capacity of [10, null, undefined]) assert.equal(policyOf(capacity), 'token-bucket 10/second')
})

test('a client and a limiter show who they are, and no password', () => {
  const secret = new esm.Client('redis://user:hunter2@127.0.0.1:6380/3', { prefix: 'shop' })
  const limiter = secret.limiter('checkout', [
    { limit: 5, periodMs: 1000 },
    { limit: 9, periodMs: 60_000, algorithm: 'calendar-window' },
  ])
  assert.deepEqual([secret.server, secret.prefix], [secret.server, 'shop'])
  assert.match(secret.server, /127\.0\.0\.1:6380/)
  assert.deepEqual([limiter.name, limiter.policy], ['checkout', '5/second;calendar-window 9/minute'])
  const shown = [secret, limiter].map(
    (object) => inspect(object, { showHidden: true, depth: 9 }) + JSON.stringify(object),
  )
  assert.ok(!shown.join().includes('hunter2'), shown.join())
  assert.match(shown[0] ?? '', /^Client .*6380.*shop/)
  assert.match(shown[1] ?? '', /^Limiter .*checkout.*5\/second/)
})

test('a limiter is made by a client only', () => {
  assert.throws(() => Reflect.construct(esm.Limiter, [{}, 'n']), esm.InvalidArgumentError)
})
