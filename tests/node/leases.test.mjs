// Permits that a process takes ahead.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Client, InvalidArgumentError } from '../../bindings-node/index.mjs'
import { client, servers } from './support.mjs'

/** @typedef {import('../../bindings-node/index.mjs').Decision} Decision */

/**
 * How many were admitted, and how many of them here.
 * @returns {[number, number]}
 */
function counted(/** @type {Decision[]} */ decisions) {
  const admitted = decisions.filter(({ allowed }) => allowed)
  return [admitted.length, admitted.filter(({ source }) => source === 'lease').length]
}

test('a limiter shows its prefetch and refuses what cannot be', () => {
  const own = client('memory://')
  assert.equal(own.limiter('n', '100/s').prefetch, null)
  const leased = own.limiter('n', '100/s', { prefetch: 100 })
  assert.equal(leased.prefetch, 100)
  assert.match(inspect(leased), /, prefetch: 100 }$/)
  for (const [policy, prefetch] of /** @type {const} */ ([
    ['100/s', 101],
    ['100/s', 1],
    ['100/s', 1.5],
    ['sliding-log 100/s', 10],
    ['sliding-window 100/s', 10],
  ]))
    assert.throws(() => own.limiter('n', policy, { prefetch }), InvalidArgumentError)
})

for (const [name, url] of Object.entries(servers())) {
  test(`one after the other few calls ask ${name}`, async () => {
    const own = client(url)
    const limiter = own.limiter('n', '1000/h', { prefetch: 100 })
    const decisions = []
    for (let number = 1; number <= 1001; number++) decisions.push(await limiter.consume('k'))
    const [admitted, here] = counted(decisions)
    assert.equal(admitted, 1000)
    assert.ok(here > 950, `${here} were leased`)
    assert.equal(decisions[500]?.remaining, 499)
    await assert.rejects(limiter.require('k'))
    await own.close()
  })

  test(`100 in flight share what one has taken of ${name}`, async () => {
    const own = client(url)
    const limiter = own.limiter('n', '5000/h', { prefetch: 1000 })
    const caller = async () => {
      const decisions = []
      for (let number = 0; number < 100; number++) decisions.push(await limiter.consume('k'))
      return decisions
    }
    const decisions = (await Promise.all(Array.from({ length: 100 }, caller))).flat()
    // The last take may be answered when the others were denied and have ended: what it brought is for who comes then.
    while (decisions.push(await limiter.consume('k')) && decisions.at(-1)?.allowed);
    const [admitted, here] = counted(decisions)
    assert.equal(admitted, 5000)
    assert.ok(here > 1000, `${here} were leased`)
    await own.close()
  })

  test(`closing gives back to ${name}`, async () => {
    const [first, second] = [client(url), client(url)]
    const prefix = { prefix: `${first.prefix}-shared`, timeoutMs: 10_000 }
    const [one, other] = [new Client(url, prefix), new Client(url, prefix)]
    const limiter = one.limiter('n', '100/h', { prefetch: 100 })
    for (let number = 0; number < 20; number++) await limiter.consume('k')
    await one.close()
    assert.equal((await other.limiter('n', '100/h').peek('k')).remaining, 80)
    await Promise.all([other, first, second].map((each) => each.close()))
  })
}
