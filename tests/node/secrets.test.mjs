// What errors and inspections show of what was given: never a password.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Redis } from 'ioredis'
import * as quotalock from 'quotalock'
import { client, freshPrefix, redis } from './support.mjs'

const SECRET = 'hunter2'
const ADDRESS = `redis://app:${SECRET}@db`

/**
 * What holds a password and stands where something else should. Text that the core judges is its own test's.
 * @type {Record<string, any>}
 */
const HOLDERS = {
  url: new URL(ADDRESS),
  half: `${ADDRESS}\ud800`,
  config: { host: 'db', password: SECRET },
  array: [ADDRESS],
  nested: { a: { password: SECRET } },
  function: Object.assign(() => {}, { password: SECRET }),
  map: new Map([['password', SECRET]]),
  class: new (class Config {
    password = SECRET
  })(),
  boxed: new String(ADDRESS),
  shown: { [inspect.custom]: () => SECRET },
  texted: { toString: () => SECRET, toJSON: () => SECRET },
  tagged: { [Symbol.toStringTag]: SECRET },
  keyed: { [ADDRESS]: 1 },
  symbol: Symbol('x'),
}

/**
 * Everything about an error that may end in a log.
 * @param {any} error
 */
function shownOf(error) {
  return `${error.message} ${error.stack} ${inspect(error, { showHidden: true, depth: 9 })} ${JSON.stringify(error)}`
}

test('no error shows what it was given, wherever it was given', async () => {
  const own = /** @type {any} */ (client('memory://'))
  const limiter = own.limiter('n', '1/s')
  const [cache, once, stock] = [own.cache('n', { freshMs: 1 }), own.once('n'), own.stock('n')]
  const { Client, limit, quorumLock, testing } = /** @type {any} */ (quotalock)
  /** @type {((given: any) => unknown)[]} */
  const places = [
    (given) => new Client(given),
    (given) => new Client('memory://', given),
    (given) => new Client('memory://', { prefix: given }),
    (given) => new Client('memory://', { timeoutMs: given }),
    (given) => new Client('memory://', { onError: given }),
    (given) => own.limiter(given, '1/s'),
    (given) => own.limiter('n', given),
    (given) => own.limiter('n', [given]),
    (given) => own.limiter('n', { limit: given, periodMs: 1 }),
    (given) => own.limiter('n', { limit: 1, periodMs: 1, algorithm: given }),
    (given) => own.limiter('n', '1/s', given),
    (given) => own.limiter('n', '1/s', { scope: given }),
    (given) => own.limiter('n', '1/s', { enforce: given }),
    (given) => limiter.consume(given),
    (given) => limiter.consume('k', given),
    (given) => limiter.consume('k', { cost: given }),
    (given) => limiter.consume('k', { requestId: given }),
    (given) => limiter.consume('k', { signal: given }),
    (given) => limiter.consumeUpTo('k', given),
    (given) => limiter.block('k', given),
    (given) => limiter.reserve(given, 1, { ttlMs: 1 }),
    (given) => limiter.reserve('k', 1, { ttlMs: 1, unsettled: given }),
    (given) => limiter.reservation('k', given),
    (given) => own.consumeAll(given),
    (given) => own.consumeAll([given]),
    (given) => own.consumeAll([[given, 'k']]),
    (given) => own.consumeAll([[limiter, given]]),
    (given) => own.consumeAll([[limiter, 'k', 1, given]]),
    (given) => own.lock(given, { waitMs: 'x' }),
    (given) => own.lock('n', given),
    (given) => own.lock('n', { label: given, ttlMs: -1 }),
    (given) => own.lockAll(given),
    (given) => own.lockAll([given], { waitMs: 'x' }),
    (given) => own.semaphore('n', given),
    (given) => own.stock(given, { ledgerCap: 'x' }),
    (given) => own.stock('n', given),
    (given) => stock.open(1, { prizes: given }),
    (given) => stock.take(given, { quantity: 'x' }),
    (given) => stock.confirm(given),
    (given) => stock.reservations({ cursor: given }),
    (given) => own.takeAll(given, 'buyer'),
    (given) => own.takeAll([given], 'buyer'),
    (given) => own.takeAll([[given, 1]], 'buyer'),
    (given) => own.cache(given, { freshMs: 'x' }),
    (given) => own.cache('n', { freshMs: 1, whenAway: given }),
    (given) => cache.get('k', given),
    (given) => cache.get(`${Math.random()}`, () => given),
    (given) => cache.getMany(given, () => ({})),
    (given) => cache.getMany([`${Math.random()}`], () => given),
    (given) => cache.put('k', given),
    (given) => own.once(given, { ttlMs: 'x' }),
    (given) => once.run('k', given),
    (given) => once.claim('k', given),
    (given) => quorumLock(given, 'n'),
    (given) => quorumLock([given], 'n'),
    (given) => limit('n', 'k', given),
    (given) => testing.setTime(given, 1),
    (given) => testing.setTime(own, given),
  ]
  let refused = 0
  for (const [holder, given] of Object.entries(HOLDERS)) {
    for (const place of places) {
      try {
        await place(given)
      } catch (error) {
        refused++
        assert.ok(error instanceof quotalock.QuotalockError, `${holder} in ${place}: ${error}`)
        assert.ok(!shownOf(error).includes(SECRET), `${holder} in ${place}: ${error.message}`)
      }
    }
  }
  assert.ok(refused > places.length * 10, `${refused} were refused`)
})

test('what is no address is refused, and not shown', () => {
  const make = /** @type {any} */ (quotalock.Client)
  for (const [given, message] of /** @type {[any, string][]} */ ([
    [{ host: 'db', password: SECRET }, 'url is an object: give a string or a URL, and options behind it'],
    [[ADDRESS], 'url is an array: give a string or a URL, and options behind it'],
    [12345, 'url is a number: give a string or a URL'],
    [null, 'url is missing: give a string or a URL'],
    [`${ADDRESS}\ud800`, 'url has no UTF-8 form: change it'],
  ])) {
    assert.throws(() => new make(given), { name: 'InvalidArgumentError', message })
  }
  assert.throws(() => new make('memory://', ADDRESS), { message: /^options is a string: give an object/ })
})

test('a URL is an address', async () => {
  const url = new URL(ADDRESS)
  assert.equal(new quotalock.Client(url).server, new quotalock.Client(ADDRESS).server)
  assert.equal(new quotalock.Client(new URL('memory://')).server, 'memory://')
  assert.ok((await client(new URL(redis())).limiter('n', '1/s').consume('k')).allowed)
})

test('a URL says what is in it, whatever it is', async () => {
  const admin = new Redis(redis())
  const [user, password] = [freshPrefix(), 'p@ss:w/rd ?#€']
  await admin.acl('SETUSER', user, 'on', `>${password}`, '~*', '&*', '+@all')
  const url = new URL(redis())
  Object.assign(url, { username: user, password })
  try {
    assert.ok((await client(url).limiter('n', '1/s').consume('k')).allowed)
    url.password = 'other'
    const wrong = client(url).limiter('n', '1/s')
    await assert.rejects(wrong.consume('k'), (error) => !shownOf(error).includes('other'))
  } finally {
    await admin.acl('DELUSER', user)
    admin.disconnect()
  }
})

test('no object shows the address of its client', async () => {
  const own = new quotalock.Client(ADDRESS.replace('@db', '@127.0.0.1:1'), { onError: 'open' })
  const limiter = own.limiter('n', '1/s')
  const objects = [own, limiter, own.cache('n'), own.once('n'), own.stock('n'), await own.lock('n', { acquire: false })]
  const reservation = limiter.reservation('k', '0'.repeat(32))
  for (const object of [...objects, reservation, await limiter.consume('k')]) {
    for (const options of [
      {},
      { showHidden: true, depth: 9 },
      { customInspect: false, showHidden: true, getters: true },
    ]) {
      assert.ok(!inspect(object, options).includes(SECRET), inspect(object, options))
    }
    assert.ok(!`${JSON.stringify(object)}${Object.entries(object)}${object}`.includes(SECRET))
  }
})
