// A text in which half of a surrogate pair stands alone has no UTF-8 form. Written all the same, it would be one text with
// others: it is refused wherever a text may be given.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as quotalock from 'quotalock'
import { Client, testing } from 'quotalock'

const LONE = '\ud800'
const POLICY = '5/hour'

const own = new Client('memory://')
const three = ['1', '2', '3'].map((port) => new Client(`redis://127.0.0.1:${port}`))
const api = own.limiter('api', POLICY)
const sale = own.stock('sale')
const orders = own.once('orders')
const pages = own.cache('pages')

/** @type {Record<string, () => unknown>} */
const REFUSED = {
  url: () => new Client(`memory://${LONE}`),
  prefix: () => new Client('memory://', { prefix: LONE }),
  onError: () => new Client('memory://', { onError: /** @type {any} */ (LONE) }),
  limiter: () => own.limiter(LONE, POLICY),
  scope: () => own.limiter('api', POLICY, { scope: LONE }),
  policy: () => own.limiter('api', LONE),
  algorithm: () => own.limiter('api', { limit: 1, periodMs: 1000, algorithm: /** @type {any} */ (LONE) }),
  headersOf: async () => Object.assign(await api.peek('k'), { name: LONE }).headers(),
  headers: async () => (await api.peek('k')).headers(/** @type {any} */ (LONE)),
  syntax: async () => (await api.peek('k')).headers({ syntax: /** @type {any} */ (LONE) }),
  problemOf: async () => Object.assign(await testing.decision({ used: 10 }), { name: LONE }).problem(),
  key: () => api.consume(LONE),
  requestId: () => api.consume('k', { requestId: LONE }),
  upTo: () => api.consumeUpTo(LONE, 1),
  peek: () => api.peek(LONE),
  require: () => api.require(LONE),
  wait: () => api.wait(LONE, { timeoutMs: 1000 }),
  refund: () => api.refund(LONE, 1),
  refundId: () => api.refund('k', 1, { requestId: LONE }),
  block: () => api.block(LONE, 1000),
  reset: () => api.reset(LONE),
  redisKey: () => api.redisKey(LONE),
  reserve: () => api.reserve(LONE, 1, { ttlMs: 1000 }),
  unsettled: () => api.reserve('k', 1, { ttlMs: 1000, unsettled: /** @type {any} */ (LONE) }),
  reservation: () => api.reservation(LONE, '0'.repeat(32)),
  reservationId: () => api.reservation('k', LONE),
  charge: () => own.consumeAll([[api, LONE]]),
  chargeId: () => own.consumeAll([[api, 'k']], { requestId: LONE }),
  lock: () => own.lock(LONE),
  lockAll: () => own.lockAll(['a', LONE]),
  semaphore: () => own.semaphore(LONE, 1),
  readLock: () => own.readLock(LONE),
  writeLock: () => own.writeLock(LONE),
  quorumLock: () => quotalock.quorumLock(three, LONE),
  quorumLabel: () => quotalock.quorumLock(three, 'q', { label: LONE }),
  label: () => own.lock('a', { label: LONE }),
  stock: () => own.stock(LONE),
  stockScope: () => own.stock('sale', { scope: LONE }),
  prize: () => sale.open(1, { prizes: [LONE] }),
  restock: () => sale.restock(1, { prizes: [LONE] }),
  restockId: () => sale.restock(1, { requestId: LONE }),
  buyer: () => sale.take(LONE),
  takeId: () => sale.take('b', { requestId: LONE }),
  confirm: () => sale.confirm(LONE),
  cancel: () => sale.cancel(LONE),
  extend: () => sale.extend(LONE),
  cursor: () => sale.reservations({ cursor: LONE }),
  after: () => sale.ledger({ after: LONE }),
  buyerOfAll: () => own.takeAll([[sale, 1]], LONE),
  takeAllId: () => own.takeAll([[sale, 1]], 'b', { requestId: LONE }),
  confirmAll: () => own.confirmAll([[sale, LONE]]),
  cancelAll: () => own.cancelAll([[sale, LONE]]),
  extendAll: () => own.extendAll([[sale, LONE]]),
  once: () => own.once(LONE),
  claim: () => orders.claim(LONE),
  claimValue: () => orders.claim('id', LONE),
  release: () => orders.release(LONE),
  run: () => orders.run(LONE, () => 'v'),
  result: () => orders.run('id', () => LONE),
  onceKey: () => orders.redisKey(LONE),
  cache: () => own.cache(LONE),
  whenAway: () => own.cache('pages', { whenAway: /** @type {any} */ (LONE) }),
  get: () => pages.get(LONE, () => 'v'),
  loaded: () => pages.get('k', () => LONE),
  getMany: () => pages.getMany([LONE], () => ({})),
  loadedMany: () => pages.getMany(['many'], () => ({ many: LONE })),
  getJson: () => pages.getJson(LONE, () => 1),
  loadedJson: () => pages.getJson('text', () => LONE),
  loadedJsonWithin: () => pages.getJson('within', () => ({ deep: [{ text: `half ${LONE}` }] })),
  loadedJsonKey: () => pages.getJson('key', () => ({ deep: { [LONE]: 1 } })),
  peekOfACache: () => pages.peek(LONE),
  put: () => pages.put(LONE, 'v'),
  putValue: () => pages.put('k', LONE),
  invalidate: () => pages.invalidate(LONE),
  cacheKey: () => pages.redisKey(LONE),
  limit: () => quotalock.limit(LONE, 'k', POLICY),
  limitKey: () => quotalock.limit('api', LONE, POLICY),
  limitPolicy: () => quotalock.limit('api', 'k', LONE),
  rawKey: () => testing.get(own, LONE),
  rawPut: () => testing.put(own, LONE, 'string', 'v'),
  rawKind: () => testing.put(own, 'k', /** @type {any} */ (LONE), 'v'),
  rawValue: () => testing.put(own, 'k', 'string', LONE),
}

for (const [what, call] of Object.entries(REFUSED)) {
  test(`a text without a UTF-8 form is refused: ${what}`, async () => {
    process.env.QUOTALOCK_URL = 'memory://'
    await assert.rejects(async () => await call(), { name: 'InvalidArgumentError', code: 'invalid_argument' })
  })
}

test('whole pairs go through, in JSON too', async () => {
  const value = { '\ud83d\ude00': ['\ud83d\ude00', 'é'] }
  assert.deepEqual(await pages.getJson('whole', () => value), value)
  assert.deepEqual(await pages.getJson('whole', () => assert.fail('it is there')), value)
})
