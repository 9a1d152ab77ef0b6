// Several keys at once, request ids, scopes and what is not enforced: arguments that cannot be.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidArgumentError } from 'quotalock'
import { client } from './support.mjs'

test('arguments of a wrong type are rejected, and named', async () => {
  const own = client('memory://')
  const limiter = own.limiter('n', '9/hour')
  const other = client('memory://').limiter('n', '9/hour')
  const any = /** @type {any} */ (own)
  for (const [charges, ...parts] of [
    [undefined, 'charges undefined is missing', 'array'],
    ['k', "charges 'k' is a string", 'array'],
    [{ limiter, key: 'k' }, 'charges', 'an object'],
    [new Map([[limiter, 'k']]), 'charges', 'an object'],
    [[], 'no charge', 'at least one'],
    [[limiter, 'k'], 'charge', 'is an object', '[limiter, key]'],
    [['k'], "charge 'k' is a string", '[limiter, key, cost]'],
    [[[]], 'charge has 0 elements'],
    [[[limiter]], '1 elements'],
    [[[limiter, 'k', 1, 2]], '4 elements'],
    [[['n', 'k']], "limiter 'n' is a string", 'a Limiter'],
    [[[null, 'k']], 'limiter null is missing'],
    [[[{}, 'k']], 'limiter'],
    [[[limiter, 42]], 'key 42 is a number'],
    [[[limiter, '']], 'key', 'empty'],
    [[[limiter, 'half \ud83d']], 'UTF-8'],
    [[[limiter, 'k', '1']], "cost '1' is a string"],
    [[[limiter, 'k', null]], 'cost null'],
    [[[limiter, 'k', 1.5]], 'cost 1.5', 'whole'],
    [[[limiter, 'k', 0]], 'amount 0'],
    [[[limiter, 'k', -1]], 'cost -1'],
    [[[other, 'k']], 'limiter "n" belongs to another client'],
    [
      [
        [limiter, 'k'],
        [limiter, Buffer.from('k')],
      ],
      '"k" is given twice',
    ],
  ]) {
    await refused(any.consumeAll(charges), .../** @type {string[]} */ (parts))
  }
  await refused(any.consumeAll([[limiter, 'k']], { request_id: 'r' }), "'request_id'", 'requestId, signal')
  await refused(any.consumeAll([[limiter, 'k']], 'r'), "options 'r'", 'requestId, signal')
  await refused(any.consumeAll([[limiter, 'k']], { signal: 1 }), 'signal 1')
  const ids = [
    [42, 'requestId 42 is a number'],
    [null, 'requestId null'],
    ['', 'request_id'],
    ['r'.repeat(257), '257', '256'],
    [new Uint8Array(), 'request_id'],
    ['half \ud83d', 'UTF-8'],
  ]
  for (const [requestId, ...parts] of ids) {
    const given = /** @type {any} */ ({ requestId })
    for (const call of [
      own.consumeAll([[limiter, 'k']], given),
      limiter.consume('k', given),
      limiter.refund('k', 1, given),
    ]) {
      await refused(call, .../** @type {string[]} */ (parts))
    }
  }
  await refused(limiter.peek('k', /** @type {any} */ ({ requestId: 'r' })), "'requestId'", 'cost, signal')
  await refused(limiter.refund('k', 1, /** @type {any} */ ({ id: 'r' })), "'id'", 'requestId')
  for (const most of [0, 1.5, -1, NaN]) await refused(limiter.consumeUpTo('k', most), `${most}`)
  await refused(/** @type {any} */ (limiter).consumeUpTo('k'), 'most undefined is missing')
  assert.equal((await limiter.peek('k')).remaining, 9, 'something was charged')
})

test('how a client and a limiter are made is refused where it cannot be', () => {
  const any = /** @type {any} */ (client)
  for (const requestMemoryMs of [0, -1, 1.5, NaN, '5', null, 86_400_001]) {
    assert.throws(() => any('memory://', { requestMemoryMs }), InvalidArgumentError)
  }
  const own = any('memory://')
  for (const scope of ['', 5, null, {}, 's'.repeat(1025)]) {
    assert.throws(() => own.limiter('n', '1/s', { scope }), { name: 'InvalidArgumentError', message: /scope/ })
  }
  for (const enforce of [0, 'no', null]) {
    assert.throws(() => own.limiter('n', '1/s', { enforce }), { name: 'InvalidArgumentError', message: /enforce/ })
  }
  assert.throws(() => own.limiter('n', '1/s', { shadow: true }), /option 'shadow' is unknown: use scope, enforce/)
})

/**
 * Expects a rejection with `invalid_argument` whose message holds all of `parts`.
 * @param {Promise<unknown>} call
 * @param {...string} parts
 */
async function refused(call, ...parts) {
  const error = await call.then(
    () => assert.fail(`it was not rejected: ${parts}`),
    (/** @type {any} */ reason) => reason,
  )
  assert.ok(error instanceof InvalidArgumentError, `${error.stack}`)
  for (const part of parts) assert.ok(error.message.includes(part), `no ${part} in ${error.message}`)
}
