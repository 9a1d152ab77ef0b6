// Signals of every make under calls of every kind.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshPrefix, redis, run } from './support.mjs'

/** A client, and calls under a signal that all last for longer than a test does. */
const BEGIN = () => `
  import { setTimeout as sleep } from 'node:timers/promises'
  import { Client } from 'quotalock'
  const client = new Client('${redis()}', { prefix: '${freshPrefix()}', timeoutMs: 10_000 })
  const [limiter, cache, once] = [client.limiter('n', '1/hour'), client.cache('pages'), client.once('orders')]
  await limiter.consume('k')
  globalThis.held = await client.lock('sku:42')
  const gate = new Promise(() => {})
  await new Promise((resolve) => cache.get('busy', () => (resolve(), gate)).catch(() => {}))
  await new Promise((resolve) => once.run('busy', () => (resolve(), gate)).catch(() => {}))
  const lasting = {
    wait: (signal) => limiter.wait('k', { timeoutMs: 7_200_000, signal }),
    lock: (signal) => client.lock('sku:42', { waitMs: 60_000, signal }),
    get: (signal) => cache.get('busy', () => 'w', { waitMs: 60_000, signal }),
    many: (signal) => cache.getMany(['busy'], () => ({}), { waitMs: 60_000, signal }),
    run: (signal) => once.run('busy', () => 'w', { waitMs: 60_000, signal }),
  }`

test('a signal made of others ends calls, though nobody else keeps it', async () => {
  const text = `${BEGIN()}
    const controller = new AbortController()
    const calls = []
    for (const [name, call] of Object.entries(lasting)) {
      calls.push(call(AbortSignal.any([controller.signal, new AbortController().signal])).catch((error) => error.message === 'gone' || console.log(name, error)))
      calls.push(call(AbortSignal.any([AbortSignal.any([controller.signal])])).catch((error) => error.message === 'gone' || console.log(name, error)))
      calls.push(call(AbortSignal.timeout(300)).catch((error) => error.name === 'TimeoutError' || console.log(name, error)))
    }
    for (let i = 0; i < 10; i++) { globalThis.gc(); await sleep(5) }
    controller.abort(new Error('gone'))
    console.log((await Promise.all(calls)).every((ended) => ended === true))
    await client.close()`
  assert.deepEqual(await run(text, ['--expose-gc']), { code: 0, signal: null, output: 'true\n' })
})

test('a signal that cannot be listened to is an error before anything is charged', async () => {
  const text = `${BEGIN()}
    const odd = { aborted: false, reason: undefined, addEventListener() { throw new Error('deaf') } }
    const plain = client.limiter('plain', '10/hour')
    const calls = { ...lasting, consume: (signal) => plain.consume('k', { signal }), peek: (signal) => plain.peek('k', { signal }), once: (signal) => plain.consume('k', { requestId: 'r', signal }), all: (signal) => client.consumeAll([[plain, 'k']], { signal }) }
    for (const [name, call] of Object.entries(calls)) {
      for (let i = 0; i < 3; i++) {
        const ended = await call(odd).then(() => 'answered', (error) => error.message)
        if (ended !== 'deaf') console.log(name, ended)
      }
    }
    console.log((await plain.peek('k')).remaining)
    await client.close()`
  assert.deepEqual(await run(text), { code: 0, signal: null, output: '10\n' })
})

test('a listener of the signal that throws, or makes calls, keeps no call from ending', async () => {
  const text = `${BEGIN()}
    process.on('uncaughtException', (error) => error.message === 'listener' || console.log(error))
    const controller = new AbortController()
    const { signal } = controller
    const late = []
    signal.addEventListener('abort', () => { throw new Error('listener') })
    signal.addEventListener('abort', () => { late.push(limiter.peek('k')) })
    const calls = Object.values(lasting).map((call) => call(signal).catch((error) => error))
    for (let i = 0; i < 2000; i++) calls.push(limiter.wait('k', { timeoutMs: 7_200_000, signal }).catch((error) => error))
    signal.addEventListener('abort', () => { throw new Error('listener') })
    signal.addEventListener('abort', () => { late.push(limiter.peek('k')) })
    await sleep(20)
    controller.abort(new Error('gone'))
    const errors = await Promise.all(calls)
    console.log(errors.every(({ message }) => message === 'gone'), (await Promise.all(late)).length)
    const after = await Promise.all(Object.values(lasting).map((call) => call(signal).catch(({ message }) => message)))
    console.log(after.join())
    await client.close()`
  const output = 'true 2\ngone,gone,gone,gone,gone\n'
  assert.deepEqual(await run(text), { code: 0, signal: null, output })
})
