// Sales: what is held, sold and returned, and what cannot be. The vectors have the rules.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { InvalidArgumentError, Stock } from 'quotalock'
import { rejected } from './failures.mjs'
import { client, freshPrefix, ownRedis, stores } from './support.mjs'

const BAD = 'InvalidArgumentError'

/** The reservation of a take that is held. */
function held(/** @type {import('quotalock').Taken} */ taken) {
  assert.equal(taken.outcome, 'held')
  assert.ok(taken.reservation)
  return taken.reservation
}

for (const [store, url] of Object.entries(stores())) {
  test(`a sale, from its opening to its end, on ${store}`, async () => {
    const own = client(url)
    const stock = own.stock('sale:42')
    assert.equal((await stock.take('ann')).outcome, 'not_open')
    assert.equal(await stock.open(5, { perBuyer: 3 }), true)
    assert.equal(await stock.open(5, { perBuyer: 3 }), false)
    await rejected(stock.open(6, { perBuyer: 3 }), BAD, 'quantity 5, per_buyer 3, ends none')

    const before = Date.now()
    const ann = held(await stock.take('ann', { quantity: 2 }))
    assert.deepEqual([ann.quantity, ann.buyer, ann.prizes], [2, Buffer.from('ann'), []])
    // Ten minutes by the server's clock, which is this machine's.
    assert.ok(Math.abs(ann.untilMs - before - 600_000) < 60_000)
    assert.equal((await stock.take('ann', { quantity: 2 })).outcome, 'buyer_limit')
    const bob = held(await stock.take(Buffer.of(0, 255), { quantity: 3, holdMs: 60_000 }))
    assert.deepEqual(bob.buyer, Buffer.of(0, 255))
    const refused = await stock.take('eve')
    assert.deepEqual([refused.outcome, refused.reservation, refused.available], ['sold_out', null, 0])

    const first = await stock.reservations({ count: 1 })
    assert.deepEqual(first.reservations, [bob])
    const second = await stock.reservations({ cursor: first.next, count: 1 })
    assert.deepEqual([second.reservations, (await stock.reservations()).next], [[ann], null])

    // Another process knows it by its id.
    const elsewhere = (store === 'memory' ? own : client(url, { prefix: own.prefix })).stock('sale:42')
    assert.equal(await elsewhere.extend(ann.id), true)
    assert.equal(await elsewhere.confirm(ann.id), true)
    assert.equal(await stock.confirm(ann.id), true)
    assert.equal(await stock.cancel(ann.id), false)
    assert.equal(await stock.cancel(bob.id), true)
    assert.equal(await stock.confirm(bob.id), false)
    assert.equal(await stock.restock(5), 10)
    const { phase, ...numbers } = await stock.status()
    assert.deepEqual(
      [phase, numbers],
      ['open', { quantity: 10, available: 8, held: 0, sold: 2, buyers: 1, perBuyer: 3, endsMs: null }],
    )
    const entries = await stock.ledger()
    const kinds = ['opened', 'held', 'held', 'extended', 'confirmed', 'cancelled', 'restocked']
    assert.deepEqual(
      entries.map(({ kind }) => kind),
      kinds,
    )
    assert.deepEqual([entries[1]?.reservation, entries[1]?.buyer], [ann.id, Buffer.from('ann')])
    const rest = await stock.ledger({ after: entries[4]?.id, count: 2 })
    assert.deepEqual(rest, entries.slice(5))
  })

  test(`what is over returns to stock on ${store}`, async () => {
    const stock = client(url).stock('short')
    await stock.open(1)
    const first = held(await stock.take('ann'))
    assert.equal((await stock.take('bob')).outcome, 'sold_out')
    assert.equal(await stock.cancel(first.id), true)
    const { id } = held(await stock.take('ann', { holdMs: 50 }))
    await sleep(80)
    held(await stock.take('bob'))
    assert.deepEqual([await stock.confirm(id), await stock.extend(id, 1000)], [false, false])
  })

  test(`a crowd gets as many units as there are on ${store}`, async () => {
    const prefix = freshPrefix()
    const stocks = [1, 2, 3].map(() => client(url, { prefix }).stock('crowd'))
    // In memory each client is a process of its own.
    const shops = store === 'memory' ? stocks.slice(0, 1) : stocks
    await shops[0]?.open(50)
    const takes = Array.from({ length: 300 }, (_, i) =>
      /** @type {Stock} */ (shops[i % shops.length]).take(`buyer ${i}`),
    )
    const outcomes = (await Promise.all(takes)).map(({ outcome }) => outcome)
    assert.equal(outcomes.filter((outcome) => outcome === 'held').length, 50)
    assert.equal(outcomes.filter((outcome) => outcome === 'sold_out').length, 250)
    const { available, held, sold } = await /** @type {Stock} */ (shops[0]).status()
    assert.deepEqual([available, held, sold], [0, 50, 0])
  })

  test(`several stocks are taken together, or none, on ${store}`, async () => {
    const own = client(url)
    const [shirt, cap] = [own.stock('shirt', { scope: 'shop' }), own.stock('cap', { scope: 'shop' })]
    await Promise.all([shirt.open(2), cap.open(1)])
    const basket = await own.takeAll(
      [
        [shirt, 2],
        [cap, 1],
      ],
      'ann',
      { holdMs: 60_000 },
    )
    assert.deepEqual([basket.outcome, basket.refused, basket.available], ['held', null, [0, 0]])
    assert.deepEqual(
      basket.reservations.map(({ quantity }) => quantity),
      [2, 1],
    )
    const [a, b] = /** @type {[any, any]} */ (basket.reservations)
    /** @type {import('quotalock').Held[]} */
    const both = [
      [shirt, a.id],
      [cap, b.id],
    ]
    assert.equal(await own.extendAll(both), true)
    assert.equal(await own.extendAll(both, 120_000), true)
    assert.equal(await own.confirmAll(both), true)
    assert.equal(await own.cancelAll(both), false)
    await shirt.restock(1)
    const refused = await own.takeAll(
      [
        [shirt, 1],
        [cap, 1],
      ],
      'bob',
    )
    assert.deepEqual([refused.outcome, refused.refused, refused.reservations], ['sold_out', 1, []])
    assert.deepEqual(refused.available, [1, 0])
    assert.equal((await shirt.status()).held, 0)
  })

  test(`a request is served once on ${store}`, async () => {
    const own = client(url)
    const stock = own.stock('once')
    await stock.open(10)
    const takes = Array.from({ length: 20 }, () => stock.take('ann', { quantity: 2, requestId: 'click' }))
    const ids = new Set((await Promise.all(takes)).map((taken) => held(taken).id))
    assert.equal(ids.size, 1)
    const all = () => own.takeAll([[stock, 1]], 'ann', { requestId: Buffer.from('click') })
    assert.deepEqual((await all()).reservations, (await all()).reservations)
    const restocks = [stock.restock(5, { requestId: 'lorry' }), stock.restock(5, { requestId: 'lorry' })]
    assert.deepEqual(await Promise.all(restocks), [15, 15])
    const { available, held: waiting } = await stock.status()
    assert.deepEqual([available, waiting], [12, 3])
  })

  test(`prizes are given out, thousands of them, on ${store}`, async () => {
    const stock = client(url).stock('tombola')
    const codes = Array.from({ length: 10_000 }, (_, i) => `code ${i}`)
    await stock.open(10_000, { prizes: codes })
    const mine = held(await stock.take('ann', { quantity: 1000 }))
    assert.deepEqual(mine.prizes.map(String), codes.slice(0, 1000))
    const theirs = held(await stock.take('bob', { quantity: 2 }))
    assert.deepEqual(theirs.prizes.map(String), ['code 1000', 'code 1001'])
    assert.deepEqual((await stock.reservations()).reservations, [mine, theirs])
    const [opened, taken] = await stock.ledger()
    assert.deepEqual([opened?.prizes, taken?.prizes], [[], mine.prizes])
    await rejected(stock.restock(2, { prizes: ['one'] }), BAD, '1 prizes', '2 units')
    assert.equal(await stock.restock(1, { prizes: [Buffer.of(255)] }), 10_001)
  })
}

test('a page of a thousand', async () => {
  const stock = client('memory://').stock('many')
  await stock.open(5000)
  await Promise.all(Array.from({ length: 2500 }, (_, i) => stock.take(`${i}`)))
  /** @type {Set<string>} */
  const seen = new Set()
  let pages = 0
  for (let cursor = /** @type {string | null} */ (''); cursor !== null; pages++) {
    /** @type {import('quotalock').StockPage} */
    const page = await stock.reservations({ cursor: cursor || null, count: 1000 })
    for (const { id } of page.reservations) seen.add(id)
    cursor = page.next
  }
  assert.deepEqual([seen.size, pages], [2500, 3])
  assert.equal((await stock.ledger({ count: 1000 })).length, 1000)
})

test('numbers that cannot be', async () => {
  const stock = client('memory://').stock('n')
  await stock.open(5)
  for (const quantity of [0, -1, 1.5, Number.NaN, 2 ** 52 + 1, Number.POSITIVE_INFINITY]) {
    await rejected(stock.open(quantity), BAD, 'quantity')
    await rejected(stock.restock(quantity), BAD, 'quantity')
    await rejected(stock.take('b', { quantity }), BAD, 'quantity')
    await rejected(stock.open(5, { perBuyer: quantity }), BAD, 'per_buyer')
  }
  for (const holdMs of [0, -1, 0.5, Number.NaN, 30 * 86_400_000 + 1]) {
    await rejected(stock.take('b', { holdMs }), BAD, 'hold')
    await rejected(stock.extend('x', holdMs), BAD)
  }
  for (const endsMs of [0, -1, 2 ** 52, Number.NaN]) await rejected(stock.open(5, { endsMs }), BAD, 'ends')
  await rejected(stock.open(5, { endsMs: 1_700_000_000_000 }), BAD)
  for (const count of [0, 1001, 1.5]) {
    await rejected(stock.reservations({ count }), BAD, 'count')
    await rejected(stock.ledger({ count }), BAD, 'count')
  }
})

test('what is of another type', async () => {
  const own = client('memory://')
  const stock = own.stock('n')
  /** @type {any} */
  const any = stock
  for (const wrong of ['5', null, undefined, 5n, {}]) {
    await rejected(any.open(wrong), BAD, 'quantity')
    await rejected(any.restock(wrong), BAD, 'quantity')
    await rejected(any.confirm(wrong === '5' ? 5 : wrong), BAD, 'id')
  }
  for (const wrong of [42, null, undefined, {}]) await rejected(any.take(wrong), BAD, 'buyer')
  await rejected(any.take('b', 2), BAD, 'options')
  await rejected(any.take('b', { hold: 2 }), BAD, "'hold' is unknown")
  await rejected(any.take('b', { signal: AbortSignal.timeout(1) }), BAD, "'signal' is unknown")
  await rejected(any.open(1, { prizes: 'code' }), BAD, 'prizes', 'an array')
  await rejected(any.open(1, { prizes: [1] }), BAD, 'prize 1')
  await rejected(any.ledger({ after: 7 }), BAD, 'after')
  /** @type {any} */
  const client_ = own
  for (const wrong of [undefined, 'x', [stock], [[stock]], [['n', 1]], [[{}, 1]], [[stock, '1']], [[stock, 1, 1]]]) {
    await rejected(client_.takeAll(wrong, 'b'), BAD)
    await rejected(client_.confirmAll(wrong), BAD)
  }
  assert.throws(() => client_.stock(5), InvalidArgumentError)
  assert.throws(() => client_.stock('n', { ledger: 5 }), InvalidArgumentError)
  assert.throws(() => Reflect.construct(Stock, [{}, 'n', null]), InvalidArgumentError)
})

test('names, buyers and ids that cannot be', async () => {
  const own = client('memory://')
  for (const name of ['', 'x'.repeat(1025), Buffer.alloc(0)]) {
    assert.throws(() => own.stock(name), InvalidArgumentError)
    assert.throws(() => own.stock('n', { scope: name }), InvalidArgumentError)
  }
  const stock = own.stock('n')
  await rejected(stock.take(''), BAD, 'buyer')
  await rejected(stock.take('x'.repeat(2048)), BAD, 'buyer', '2048 bytes')
  for (const requestId of ['', 'x'.repeat(257)]) await rejected(stock.take('b', { requestId }), BAD, 'request_id')
  const other = own.stock('other')
  await other.open(1)
  const { id } = held(await other.take('b'))
  for (const call of [
    stock.confirm(id),
    stock.cancel(id),
    stock.extend(id),
    stock.confirm(`${id}x`),
    stock.confirm(''),
  ]) {
    await rejected(call, BAD, 'does not belong')
  }
  const stranger = client('memory://').stock('n')
  await rejected(own.takeAll([[stranger, 1]], 'b'), BAD, 'belongs to another client')
  await rejected(
    own.takeAll(
      [
        [stock, 1],
        [stock, 2],
      ],
      'b',
    ),
    BAD,
    'twice',
  )
  await rejected(own.takeAll([], 'b'), BAD, 'no stock')
  await rejected(own.confirmAll([]), BAD, 'no reservation')
})

test('what it shows', () => {
  const name = Buffer.from('sale')
  const stock = client('memory://', { prefix: 'ql' }).stock(name, {
    scope: 'shop',
    ledgerCap: 1000,
    retentionMs: 60_000,
  })
  name.fill(0)
  assert.deepEqual([String(stock.name), stock.scope], ['sale', 'shop'])
  assert.equal(stock.redisKeys.length, 3)
  assert.equal(inspect(client('memory://').stock('n')), "Stock { name: 'n', scope: null }")
  assert.ok(String(stock.redisKeys[2]).startsWith('ql:stock:{shop}:{sale}'))
})

test('a server that is not there, and a client that was closed', async (context) => {
  const { url, server } = await ownRedis(context)
  const own = client(url, { onError: 'open' })
  const stock = own.stock('n')
  await stock.open(1)
  server.kill('SIGKILL')
  await once(server, 'exit')
  const error = await stock.take('b').catch((error) => error)
  assert.ok(['unavailable', 'timeout'].includes(error.code), `${error.stack}`)
  await own.close()
  await rejected(stock.take('b'), 'ClosedError')
})
