// Classes whose objects only the package makes, and those that anybody may make, given what they do not expect.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { run } from './support.mjs'

/** What a caller may pass by mistake, or to see what happens. */
const NONSENSE = `
  const zeros = new Float64Array(64)
  const endless = new Proxy(() => {}, { get: (_, name) => (name === Symbol.toPrimitive ? () => 1 : endless), apply: () => endless })
  const packed = { text: () => '', number: () => 0, bytes: () => zeros, list: () => [], maybeNumber: () => 0, maybeText: () => '' }
  const nonsense = [
    [], [undefined], [null], [0], [NaN], ['x'], [10n], [true], [Symbol('s')], [{}], [[]], [() => {}], [new Date()], [/x/],
    [zeros], [zeros, 0], [zeros, 0, 64], [zeros, 0, Infinity], [zeros, -Infinity, Infinity], [zeros, NaN, Infinity],
    [new Float64Array(64).fill(-1), 0, 64], [new Float64Array(64).fill(-1), 0, Infinity], [[], 0, Infinity], [{}, 0, Infinity],
    [{ length: Infinity }, 0, Infinity, () => ''], [new Uint8Array(8)], [Buffer.alloc(64)], [packed], [endless],
    [endless, endless, endless, endless], [Object.create(null)], [new Map()], [Promise.resolve()],
  ]`

test('whatever a class is constructed with, it is made or refused at once', async () => {
  const text = `${NONSENSE}
    import * as quotalock from 'quotalock'
    const { Client, InvalidArgumentError, QuotalockError } = quotalock
    const wrong = []
    let classes = 0
    for (const [name, type] of Object.entries(quotalock)) {
      if (typeof type !== 'function' || type.prototype === undefined || !/^class/.test(type)) continue
      classes++
      for (const [i, given] of nonsense.entries()) {
        try {
          const made = new type(...given)
          if (type !== Client && !(made instanceof QuotalockError)) wrong.push(name + ' was made of ' + i)
        } catch (error) {
          // A message is made text by the language itself, as that of any error.
          const byLanguage = type.prototype instanceof Error && error instanceof TypeError
          if (!byLanguage && !(error instanceof InvalidArgumentError)) wrong.push(name + ' of ' + i + ': ' + error)
        }
      }
    }
    console.log(classes > 30 && wrong.length === 0 ? 'fine' : [classes, wrong])`
  assert.deepEqual(await run(text), { code: 0, signal: null, output: 'fine\n' })
})

test('what a class is not made by, its error says', async () => {
  const text = `
    import * as quotalock from 'quotalock'
    const only = Object.entries(quotalock).filter(([name, type]) => /^class/.test(type) && name !== 'Client' && !(type.prototype instanceof Error))
    for (const [name, type] of only) {
      try {
        new type({}, 0, Infinity)
      } catch ({ message }) {
        if (!message.includes('new')) console.log(name, message)
      }
    }
    console.log(only.length)`
  assert.deepEqual(await run(text), { code: 0, signal: null, output: '19\n' })
})

test('objects of these classes that no constructor made are refused', async () => {
  const text = `
    import * as quotalock from 'quotalock'
    const client = new quotalock.Client('memory://')
    const limiter = client.limiter('n', '1/s')
    const made = (type) => Object.create(type.prototype)
    const calls = [
      () => client.consumeAll([[made(quotalock.Limiter), 'k']]),
      () => client.takeAll([[made(quotalock.Stock), 1]], 'buyer'),
      () => quotalock.quorumLock([made(quotalock.Client)], 'n'),
      () => quotalock.testing.get(made(quotalock.Client), 'k'),
      () => made(quotalock.Limiter).consume('k'),
      () => made(quotalock.Cache).get('k', () => 'v'),
      () => made(quotalock.Once).claim('k'),
      () => made(quotalock.Lock).acquire(),
      () => made(quotalock.Stock).take('buyer'),
      () => made(quotalock.Reservation).settle(1),
      () => limiter.consume.call(client, 'k'),
    ]
    for (const call of calls) {
      try {
        await call()
        console.log('answered', String(call))
      } catch (error) {
        if (!(error instanceof TypeError || error instanceof quotalock.QuotalockError)) console.log(error)
      }
    }
    console.log((await limiter.consume('k')).allowed)`
  assert.deepEqual(await run(text), { code: 0, signal: null, output: 'true\n' })
})
