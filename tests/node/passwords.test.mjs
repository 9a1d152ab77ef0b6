// Functions that tell the password: what JavaScript makes of them.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, test } from 'node:test'
import { inspect } from 'node:util'
import { Worker } from 'node:worker_threads'
import { Redis } from 'ioredis'
import { Client, InvalidArgumentError, TimeoutError } from 'quotalock'
import { freshPrefix, redis } from './support.mjs'

const SECRET = 'sw0rdfish'
const USER = freshPrefix()
const APP = redis().replace('://', `://${USER}@`)
const admin = new Redis(redis())

before(() => admin.call('ACL', 'SETUSER', USER, 'on', `>${SECRET}`, '~*', '&*', '+@all'))
after(async () => {
  await admin.call('ACL', 'DELUSER', USER)
  admin.disconnect()
})

/** A client whose password such a function tells. */
const told = (/** @type {any} */ password, timeoutMs = 5000) =>
  new Client(APP, { prefix: freshPrefix(), timeoutMs, password })

test('it may be a function or an async one, and is asked once for all calls', async () => {
  for (const password of [() => SECRET, async () => SECRET]) {
    let asked = 0
    const client = told(() => {
      asked++
      return password()
    })
    const limiter = client.limiter('n', '100/h')
    assert.equal(asked, 0)
    const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.consume('k')))
    assert.ok(decisions.every((decision) => decision.allowed))
    assert.equal(asked, 1)
    await client.close()
  }
})

test('what it throws all callers get as it is', async () => {
  for (const thrown of [new RangeError('no token'), 'text', undefined, null]) {
    for (const password of [
      () => {
        throw thrown
      },
      () => Promise.reject(thrown),
    ]) {
      const client = told(password)
      const calls = [
        client.limiter('n', '1/s').consume('k'),
        client.cache('n').get('k', () => 'v'),
        client.lock('n', { waitMs: 100 }),
        client.consumeAll([[client.limiter('n', '1/s'), 'k']]),
      ]
      for (const { status, ...rest } of await Promise.allSettled(calls)) {
        assert.deepEqual([status, /** @type {any} */ (rest).reason], ['rejected', thrown])
      }
    }
  }
})

test('what is no string is refused, and not shown', async () => {
  for (const wrong of [undefined, null, 7, Buffer.from(SECRET), { SECRET }, [SECRET], '\ud800']) {
    await assert.rejects(
      told(() => wrong)
        .limiter('n', '1/s')
        .consume('k'),
      (/** @type {any} */ error) => {
        assert.ok(error instanceof InvalidArgumentError)
        assert.match(error.message, /^(what the password function returned is|the password has no UTF-8 form)/)
        return !inspect(error).includes(SECRET)
      },
    )
  }
  for (const wrong of [SECRET, null, {}, 7]) {
    assert.throws(
      () => told(wrong),
      (/** @type {any} */ error) => {
        assert.match(error.message, /^password is .*: give a function that returns it$/)
        return error instanceof InvalidArgumentError && !inspect(error).includes(SECRET)
      },
    )
  }
  assert.throws(() => new Client('memory://', { password: () => SECRET }), /has no password/)
})

test('one that never ends costs the timeout', async () => {
  const limiter = told(() => new Promise(() => {}), 200).limiter('n', '1/s')
  const begin = performance.now()
  await assert.rejects(limiter.consume('k'), TimeoutError)
  assert.ok(performance.now() - begin < 5000)
})

test('no object shows it', async () => {
  const client = told(() => SECRET)
  const limiter = client.limiter('n', '100/h')
  assert.ok((await limiter.consume('k')).allowed)
  for (const object of [client, limiter, client.cache('n'), client.stock('n')]) {
    assert.ok(!inspect(object, { showHidden: true, depth: 9, customInspect: false }).includes(SECRET))
    assert.ok(!JSON.stringify(object)?.includes(SECRET))
    assert.ok(!Object.getOwnPropertyNames(object).includes('password'))
  }
})

test('a process ends that has asked, and a worker that is ended while it is asked', async () => {
  const script = `
    import { Client } from 'quotalock'
    const client = new Client(process.argv[1], { password: async () => '${SECRET}', timeoutMs: 5000 })
    console.log((await client.limiter('n', '100/h').consume('k')).allowed)`
  const ran = spawnSync(process.execPath, ['--input-type=module', '-e', script, APP], {
    encoding: 'utf8',
    timeout: 20_000,
  })
  assert.deepEqual([ran.status, ran.stdout, ran.stderr], [0, 'true\n', ''])
  const worker = new Worker(
    `const { Client } = require('quotalock')
     const { parentPort, workerData } = require('node:worker_threads')
     const password = () => { parentPort.postMessage('asked'); return new Promise(() => {}) }
     void new Client(workerData, { password, timeoutMs: 5000 }).limiter('n', '100/h').consume('k').catch(() => {})`,
    { eval: true, workerData: APP },
  )
  await new Promise((asked) => worker.once('message', asked))
  assert.equal(await worker.terminate(), 1)
})

test('the function goes with its client', async () => {
  const script = `
    import { Client } from 'quotalock'
    import { setTimeout as sleep } from 'node:timers/promises'
    let gone = false
    const registry = new FinalizationRegistry(() => { gone = true })
    async function use() {
      const password = () => '${SECRET}'
      registry.register(password, 0)
      const client = new Client(process.argv[1], { password, timeoutMs: 5000 })
      await client.limiter('n', '100/h').consume('k')
      await client.close()
    }
    await use()
    for (let tries = 0; tries < 200 && !gone; tries++) {
      gc()
      await sleep(10)
    }
    console.log(gone)`
  const words = ['--expose-gc', '--input-type=module', '-e', script, APP]
  const ran = spawnSync(process.execPath, words, { encoding: 'utf8', timeout: 20_000 })
  assert.deepEqual([ran.status, ran.stdout, ran.stderr], [0, 'true\n', ''])
})
