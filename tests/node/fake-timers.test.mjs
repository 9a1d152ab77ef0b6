// Under fake timers: a test of a caller's has replaced every clock and timer of JavaScript, and none of them ever fires.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUN, DENO, freshPrefix, listener, redis, run } from './support.mjs'

/** Replaces, by hand, all that tells the time or calls back later; gives back what puts it all back. */
const BY_HAND = `
  import { createRequire } from 'node:module'
  const require = createRequire(process.cwd() + '/tests/node/fake.mjs')
  const [timers, promises] = [require('node:timers'), require('node:timers/promises')]
  function fake() {
    const replaced = []
    const replace = (of, name, fake) => {
      replaced.push([of, name, Object.getOwnPropertyDescriptor(of, name)])
      Object.defineProperty(of, name, { value: fake, configurable: true, writable: true })
    }
    class Stopped extends Date { constructor() { super(0) } static now() { return 0 } }
    for (const of of [globalThis, timers]) {
      for (const name of ['setTimeout', 'setInterval', 'setImmediate']) replace(of, name, () => ({ unref() {}, ref() {} }))
      for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate']) replace(of, name, () => {})
    }
    for (const name of ['setTimeout', 'setImmediate']) replace(promises, name, () => new Promise(() => {}))
    replace(globalThis, 'queueMicrotask', () => {})
    replace(globalThis, 'Date', Stopped)
    replace(globalThis, 'performance', { now: () => 0, timeOrigin: 0 })
    replace(globalThis, 'MessageChannel', class {})
    replace(process, 'nextTick', () => {})
    replace(process, 'hrtime', Object.assign(() => [0, 0], { bigint: () => 0n }))
    return () => replaced.forEach(([of, name, was]) => Object.defineProperty(of, name, was))
  }`

/** As Jest and Vitest do: they use this package. */
const BY_SINON = `
  import { createRequire } from 'node:module'
  import FakeTimers from '@sinonjs/fake-timers'
  const require = createRequire(process.cwd() + '/tests/node/fake.mjs')
  function fake() {
    const clock = FakeTimers.install({ toFake: Object.keys(FakeTimers.timers) })
    return () => clock.uninstall()
  }`

/** Calls of every kind; says which of them was answered otherwise than it should be. */
const CALLS = (/** @type {string} */ silent) => `
  async function calls(quotalock, url) {
    const { Client, quorumLock, limit, testing } = quotalock
    const prefix = '${freshPrefix()}' + Math.random()
    const client = new Client(url, { prefix, timeoutMs: 10_000 })
    const limiter = client.limiter('n', '1000/hour')
    const tight = client.limiter('tight', '1/hour')
    const cache = client.cache('pages', { freshMs: 60_000 })
    const once = client.once('orders')
    // Its client has the default timeout, which is short for a busy machine.
    const unhurried = async (call) => { for (;;) try { return await call() } catch (error) { if (error.code !== 'timeout') throw error } }
    const code = (call) => call.then(() => 'none', (error) => error.code ?? error.name)
    const controller = new AbortController()
    const stock = client.stock('sale')
    await stock.open(5)
    const { reservation } = await stock.take('buyer')
    const lock = await client.lock('sku:42')
    const silent = new Client('${silent}', { timeoutMs: 100 })
    process.env.QUOTALOCK_URL = url
    const answers = {
      consume: (await limiter.consume('k')).allowed,
      ticks: (await Promise.all(Array.from({ length: 3000 }, () => limiter.peek('k')))).length === 3000,
      limit: (await unhurried(() => limit(prefix, 'k', '1000/hour'))).allowed,
      require: (await code(tight.require('k')) === 'none') && (await code(tight.require('k'))) === 'limited',
      wait: (await tight.wait('k', { timeoutMs: 50 })).allowed === false,
      aborted: (() => { const call = tight.wait('k', { timeoutMs: 60_000, signal: controller.signal }); controller.abort(new Error('gone')); return call })
        ().then(() => false, (error) => error.message === 'gone'),
      all: (await client.consumeAll([[limiter, 'a'], [limiter, 'b']])).allowed,
      settle: await (await limiter.reserve('k', 2, { ttlMs: 60_000 })).settle(1),
      get: \`\${await cache.get('k', () => 'v')}\` === 'v',
      many: (await cache.getMany(['k', 'l'], () => ({ l: 'w' }))).size === 2,
      run: \`\${await once.run('k', async () => 'done')}\` === 'done',
      claim: (await once.claim('l')).first,
      confirm: await stock.confirm(reservation.id),
      held: lock.held && (await code(client.lock('sku:42', { waitMs: 50 }))) === 'not_acquired',
      inspect: (await lock.inspect()).holders.length === 1,
      release: await lock.release(),
      quorum: await quorumLock([client], 'q').then(() => true, (error) => error.code === 'invalid_argument'),
      put: (await testing.put(client, prefix, 'string', 'x'), (await testing.get(client, prefix)).value + '' === 'x'),
      timeout: (await code(silent.limiter('n', '1/s').consume('k'))) === 'timeout',
      lockTimeout: ['timeout', 'not_acquired'].includes(await code(silent.lock('n'))),
      closed: (await client.close(), (await code(limiter.consume('k'))) === 'closed'),
    }
    const wrong = []
    for (const [name, answer] of Object.entries(answers)) if ((await answer) === false) wrong.push(name)
    return wrong.length === 0 ? 'all' : 'wrong: ' + wrong
  }`

const FINE = { code: 0, signal: null, output: 'all\n' }

for (const [name, fakes] of Object.entries({ 'by hand': BY_HAND, 'by Sinon': BY_SINON })) {
  test(`every call is answered under timers that were replaced ${name} after the package was loaded`, async (context) => {
    const { url } = await listener(context, () => {})
    for (const at of [redis(), 'memory://']) {
      const text = `${fakes}${CALLS(url)}
        const quotalock = require('quotalock')
        fake()
        console.log(await calls(quotalock, '${at}'))`
      assert.deepEqual(await run(text), FINE)
    }
  })

  test(`every call is answered under timers that were replaced ${name} before the package was loaded`, async (context) => {
    const { url } = await listener(context, () => {})
    for (const at of [redis(), 'memory://']) {
      const text = `${fakes}${CALLS(url)}
        fake()
        console.log(await calls(require('quotalock'), '${at}'))`
      assert.deepEqual(await run(text), FINE)
    }
  })

  test(`calls under timers replaced ${name} hold up none that come when the real ones are back`, async (context) => {
    const { url } = await listener(context, () => {})
    for (const early of [true, false]) {
      const text = `${fakes}${CALLS(url)}
        if (${early}) require('quotalock')
        let back = fake()
        const quotalock = require('quotalock')
        const limiter = new quotalock.Client('${redis()}', { timeoutMs: 10_000 }).limiter('n', '1000000/hour')
        const first = limiter.consume('k')
        back()
        const second = limiter.consume('k')
        back = fake()
        const third = limiter.consume('k')
        back()
        const one = await calls(quotalock, '${redis()}')
        const answers = await Promise.all([first, second, third])
        console.log(answers.every(({ allowed }) => allowed) ? one : answers)`
      assert.deepEqual(await run(text), FINE)
    }
  })
}

test('fake timers are not told of anything', async () => {
  // Whoever counts the timers of his own code, or runs them all, finds none of ours.
  const text = `
    import { createRequire } from 'node:module'
    import FakeTimers from '@sinonjs/fake-timers'
    const clock = FakeTimers.install({ toFake: Object.keys(FakeTimers.timers) })
    const { Client } = createRequire(process.cwd() + '/tests/node/fake.mjs')('quotalock')
    const client = new Client('${redis()}', { timeoutMs: 10_000 })
    const calls = [client.limiter('n', '1/s').peek('k'), client.lock('${freshPrefix()}'), client.cache('n').peek('k')]
    const [, lock] = await Promise.all(calls)
    void lock.signal
    console.log(clock.countTimers())
    await lock.release()`
  assert.deepEqual(await run(text), { code: 0, signal: null, output: '0\n' })
})

test('every call is answered in a realm of its own that has no timers', async (context) => {
  const { url } = await listener(context, () => {})
  // As Jest loads a package for tests in a DOM: globals of that realm, and of Node's those that it hands on.
  const text = `${BY_HAND}${CALLS(url)}
    import { readFileSync } from 'node:fs'
    import { dirname, resolve } from 'node:path'
    import vm from 'node:vm'
    const realm = vm.createContext({ Buffer, process, AbortController, AbortSignal, URL })
    const loaded = new Map()
    function load(path) {
      if (loaded.has(path)) return loaded.get(path).exports
      const module = { exports: {} }
      loaded.set(path, module)
      const names = ['module', 'exports', 'require']
      const body = vm.compileFunction(readFileSync(path, 'utf8'), names, { parsingContext: realm, filename: path })
      body(module, module.exports, (name) => {
        if (!name.startsWith('.') || name.endsWith('.node')) return require(name.startsWith('.') ? resolve(dirname(path), name) : name)
        return load(resolve(dirname(path), name))
      })
      return module.exports
    }
    const quotalock = load(require.resolve('quotalock'))
    console.log(await calls(quotalock, '${redis()}'))`
  assert.deepEqual(await run(text), FINE)
})

test('calls that are answered at once leave others their turn', async () => {
  const text = `
    import { Client } from 'quotalock'
    const limiter = new Client('memory://').limiter('n', '1000000000/hour')
    let [on, calls, most] = [true, 0, 0]
    const loop = async () => { while (on) { await limiter.consume('k'); calls++ } }
    const turns = []
    const turn = () => {
      turns.push(calls)
      if (turns.length < 50) setImmediate(turn)
      else on = false
    }
    setImmediate(turn)
    await loop()
    for (let i = 1; i < turns.length; i++) most = Math.max(most, turns[i] - turns[i - 1])
    console.log(most < ${BUN || DENO ? 9000 : 1000} ? 'fine' : most)`
  assert.deepEqual(await run(text), { code: 0, signal: null, output: 'fine\n' })
})
