// Calls on JavaScript's own loop: which go there, in what order they arrive, and how the loop's handles end.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { BUN, client, clusters, DENO, freshPrefix, listener, redis, run, servers } from './support.mjs'

/** The beginning of a program with a client of its own. */
const program = (/** @type {string} */ url = redis()) => `
  import { readdirSync, readFileSync } from 'node:fs'
  import { Client } from 'quotalock'
  const url = ${JSON.stringify(url)}
  const client = new Client(url, { prefix: ${JSON.stringify(freshPrefix())}, timeoutMs: 10_000 })
  const limiter = client.limiter('n', '1000000/hour')
  const thread = () => readdirSync('/proc/self/task').some((id) => readFileSync('/proc/self/task/' + id + '/comm', 'utf8') === 'quotalock\\n')
`

/** What makes a runtime look like one whose loop is another's. */
const elsewhere = (/** @type {string} */ name) => [
  '--import',
  `data:text/javascript,Object.defineProperty(process.versions, '${name}', { value: '1.0.0' })`,
]

/** What collects the garbage at once. @returns {() => void} */
function collector() {
  if (BUN) return () => /** @type {any} */ (globalThis).Bun.gc(true)
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}

test('calls at once need no other thread, however many, but in Bun and Deno', async () => {
  const text = `${program()}
    for (let i = 0; i < 20; i++) await limiter.consume('k')
    await Promise.all(Array.from({ length: 30 }, () => limiter.consume('k')))
    const lock = await client.lock('sku:42', { renew: false })
    console.log((await limiter.peek('k')).remaining, lock.held, await client.cache('pages', {}).get('k', () => 'v') + '')
    const alone = thread()
    await Promise.all(Array.from({ length: 200 }, () => limiter.consume('k')))
    console.log(alone, thread(), await lock.release())`
  const output = `999950 true v\n${BUN || DENO} ${BUN || DENO} true\n`
  assert.deepEqual(await run(text), { code: 0, signal: null, output })
})

for (const name of ['bun', 'deno', 'electron']) {
  test(`where the loop is another's than Node's (${name}), a thread carries every call`, async () => {
    const text = `${program()}
      console.log((await limiter.consume('k')).remaining, thread())
      const lock = await client.lock('sku:42')
      const value = await client.cache('pages', {}).get('k', () => 'v')
      const left = await Promise.all(Array.from({ length: 100 }, () => limiter.consume('k')))
      const stop = limiter.wait('k', { cost: 999_999, timeoutMs: 7_200_000, signal: AbortSignal.timeout(20) }).catch(({ name }) => name)
      console.log(lock.held, await lock.release(), value + '', left.at(-1).remaining, await stop)
      const under = limiter.consume('k')
      client.close()
      console.log((await under.catch(({ code }) => ({ allowed: code }))).allowed)`
    const { code, output } = await run(text, elsewhere(name))
    assert.match(output, /^999999 true\ntrue true v 999899 TimeoutError\n(true|closed)\n$/)
    assert.equal(code, 0)
  })
}

test('calls reach their server in the order in which they are made, however many there are', async () => {
  for (const [name, url] of Object.entries({ ...servers(), ...clusters() })) {
    const limiter = client(url).limiter('n', '1000000/hour')
    // From then on a cluster is known, and the server has the scripts: what is sent again comes after what was sent meanwhile.
    await limiter.consume('k')
    await Promise.all(Array.from({ length: 8 }, () => limiter.consume('k')))
    const made = []
    // Batches of every size, each while those before it are under way.
    for (let round = 0; round < 60; round++) {
      const size = round % 3 === 1 ? 70 : 1 + (round % 5)
      for (let i = 0; i < size; i++) made.push(limiter.consume('k'))
      for (let turn = 0; turn < round % 3; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
    const left = (await Promise.all(made)).map(({ remaining }) => remaining)
    assert.deepEqual(
      left,
      Array.from(left, (_, i) => 999_990 - i),
      name,
    )
  }
})

test('many calls do not overtake the few before them that are slow on their way', async (context) => {
  let delay = 0
  const { url, connections } = await listener(context, (socket) => {
    const upstream = connect(Number(new URL(redis()).port), '127.0.0.1')
    socket.on('data', (data) => setTimeout(() => upstream.write(data), delay))
    upstream.pipe(socket)
    socket.on('close', () => upstream.destroy())
  })
  const limiter = client(url).limiter('n', '1000000/hour')
  await limiter.consume('k')
  await Promise.all(Array.from({ length: 100 }, () => limiter.consume('k')))
  for (let i = 0; i < 40; i++) await limiter.consume('k')
  assert.equal(connections.size, 1)
  delay = 300
  const few = limiter.consume('k')
  await new Promise((resolve) => setTimeout(resolve, 20))
  const many = Array.from({ length: 100 }, () => limiter.consume('k'))
  const left = (await Promise.all([few, ...many])).map(({ remaining }) => remaining)
  assert.deepEqual(
    left,
    Array.from(left, (_, i) => 1_000_000 - 142 - i),
  )
})

test('ten thousand calls over two clients, in batches of all sizes, are each answered once', async () => {
  const limiters = [redis(), redis()].map((url) => client(url).limiter('n', '1000000/hour'))
  let calls = 0
  const lane = async (/** @type {number} */ number) => {
    for (; calls < 10_000; ) {
      calls++
      const limiter = /** @type {typeof limiters[0]} */ (limiters[calls % 2])
      await limiter.consume('k')
      // They all stop for a moment, and begin one after another.
      if (calls % 500 < 3) await new Promise((resolve) => setTimeout(resolve, number % 7))
    }
  }
  await Promise.all(Array.from({ length: 90 }, (_, number) => lane(number)))
  const used = await Promise.all(limiters.map(async (limiter) => 1_000_000 - (await limiter.peek('k')).remaining))
  assert.equal((used[0] ?? 0) + (used[1] ?? 0), calls)
})

test('a call that is taken back holds nothing, not even for its timeout', async (context) => {
  const { url } = await listener(context, () => {})
  const text = `import { Client } from 'quotalock'
    const client = new Client('${url}', { timeoutMs: 600_000 })
    const name = ({ name }) => console.log(name)
    const signal = () => AbortSignal.timeout(50)
    const lock = await client.lock('sku:42', { acquire: false })
    client.limiter('n', '5/hour').consume('k', { signal: signal() }).catch(name)
    lock.acquire({ signal: signal() }).catch(name)
    client.cache('pages', {}).get('k', () => 'v', { signal: signal() }).catch(name)`
  const began = Date.now()
  assert.deepEqual(await run(text), { code: 0, signal: null, output: 'TimeoutError\n'.repeat(3) })
  assert.ok(Date.now() - began < 60_000)
})

test('calls end with their client, and so does its connection', async (context) => {
  const { url, connections } = await listener(context, () => {})
  const own = client(url, { timeoutMs: 600_000 })
  const [limiter, cache, lock] = [
    own.limiter('n', '5/hour'),
    own.cache('pages', {}),
    await own.lock('l', { acquire: false }),
  ]
  const calls = [limiter.consume('k'), cache.get('k', () => 'v'), lock.acquire(), limiter.peek('k')]
  const ends = calls.map((call) => call.catch(({ code }) => code))
  while (connections.size === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  const [socket] = connections
  const closed = once(/** @type {import('node:net').Socket} */ (socket), 'close')
  socket?.resume()
  await own.close()
  assert.deepEqual(await Promise.all(ends), ['closed', 'closed', 'closed', 'closed'])
  await closed
})

test('a client that nobody has any more hangs up', async (context) => {
  let [made, closed] = [0, 0]
  const { url } = await listener(context, (socket) => {
    made++
    const upstream = connect(Number(new URL(redis()).port), '127.0.0.1')
    socket.pipe(upstream).pipe(socket)
    socket.on('close', () => closed++)
    upstream.on('error', () => {})
  })
  await (async () => {
    await client(url).limiter('n', '5/hour').consume('k')
  })()
  const gc = collector()
  while (closed === 0) {
    gc()
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  assert.deepEqual([made, closed], [1, 1])
})

for (const options of [[], elsewhere('bun')]) {
  test(`calls that are answered at once, one after another without end, keep nothing else back ${options.length}`, async () => {
    const text = `import { Client } from 'quotalock'
      const limiter = new Client('memory://').limiter('n', '5/hour')
      let calls = 0
      const more = () => limiter.peek('k').then(() => { calls++ }).then(more)
      more()
      setTimeout(() => { console.log(calls > 10); process.exit() }, 200)`
    assert.deepEqual(await run(text, options), { code: 0, signal: null, output: 'true\n' })
  })
}

test('a deadline needs no timer of JavaScript’s', async (context) => {
  const { url } = await listener(context, () => {})
  const text = `import { Client } from 'quotalock'
    globalThis.setTimeout = globalThis.setImmediate = () => {}
    const client = new Client('${url}', { timeoutMs: 100 })
    await client.limiter('n', '5/hour').consume('k').catch(({ code }) => console.log(code))`
  assert.deepEqual(await run(text), { code: 0, signal: null, output: 'timeout\n' })
})

test('what a caller does with an answer is done where the caller was', async () => {
  const limiter = client(redis()).limiter('n', '100/hour')
  const where = new AsyncLocalStorage()
  const each = (/** @type {number} */ at) =>
    where.run(at, async () => {
      await limiter.consume('k')
      const first = where.getStore()
      await limiter.consume('k')
      return [first, where.getStore()]
    })
  assert.deepEqual(
    await Promise.all([1, 2, 3].map(each)),
    [1, 2, 3].map((at) => [at, at]),
  )
})

for (const [what, then, code] of /** @type {const} */ ([
  ['an exit', 'process.exit(3)', 3],
  ['an error that nobody takes', 'throw new Error("gone")', 1],
  ['an error outside of promises', 'process.nextTick(() => { throw new Error("gone") })', 1],
])) {
  test(`${what} where an answer was awaited ends the process as ever`, async () => {
    // In a function: an error outside of promises does not end Bun while the module itself awaits something.
    const text = `${program()}
      void (async () => {
        for (let i = 0; i < 20; i++) limiter.consume('k')
        await limiter.consume('k')
        limiter.consume('k')
        ${then}
        await new Promise(() => setTimeout(() => {}, 60_000))
      })()`
    const ended = await run(text)
    assert.equal(ended.code, code, ended.output)
    assert.equal(ended.output.includes('gone'), code === 1)
  })
}

test('an error in what an answer lets go on keeps no other answer back', async () => {
  const text = `${program()}
    process.on('uncaughtException', ({ message }) => console.log(message))
    const calls = Array.from({ length: 5 }, () => limiter.consume('k'))
    calls.forEach((call, i) => call.then(() => process.nextTick(() => { throw new Error('gone ' + i) })))
    console.log((await Promise.all(calls)).length)
    console.log((await limiter.consume('k')).remaining)`
  const { code, output } = await run(text)
  assert.equal(code, 0, output)
  for (const part of ['gone 0', 'gone 4', '5\n', '999994\n']) assert.ok(output.includes(part), output)
})

/** Where a worker is ended: what it does at that moment. */
const STAGES = {
  'before a call': '',
  'as it is made': `limiter.consume('k')`,
  'while it is dialed': `limiter.consume('k'); await new Promise((resolve) => setImmediate(resolve))`,
  'under way': `await limiter.consume('k'); limiter.consume('k'); await new Promise((resolve) => setImmediate(resolve))`,
  'as it is answered': `await limiter.consume('k'); limiter.consume('k')`,
  'over two clients': `await Promise.all([limiter.consume('k'), other.consume('k')]); limiter.consume('k'); other.consume('k')`,
  'while both ways are used': `await limiter.consume('k'); for (let i = 0; i < 200; i++) limiter.consume('k')`,
  'with a lock': `const lock = await client.lock('l', { waitMs: 60_000 }); lock.release(); client.lock('l', { waitMs: 60_000 })`,
}

for (const [stage, text] of Object.entries(STAGES)) {
  for (const end of ['terminate', 'exit']) {
    test(`a worker that ends by ${end} ${stage} leaves nothing behind`, async () => {
      const worker = `
        const { parentPort, workerData } = require('node:worker_threads')
        const { Client } = require('quotalock')
        const [client, another] = [0, 1].map(() => new Client(workerData.url, { prefix: workerData.prefix, timeoutMs: 10_000 }))
        const limiter = client.limiter('n', '1000000/hour')
        const other = another.limiter('n', '1000000/hour')
        ;(async () => {
          ${text}
          parentPort.postMessage('here')
          ${end === 'exit' ? 'process.exit(7)' : ''}
        })()`
      const workerData = { url: redis(), prefix: freshPrefix() }
      for (let i = 0; i < 5; i++) {
        const one = new Worker(worker, { eval: true, workerData })
        const exited = once(one, 'exit')
        await Promise.race([once(one, 'message'), exited])
        if (end === 'terminate') await one.terminate()
        const [code] = await exited
        assert.ok(end === 'exit' ? code === 7 : code === 0 || code === 1, `${code}`)
      }
      // Whoever comes after them finds all as it should be.
      const lock = await client(redis(), { prefix: workerData.prefix }).lock('l', { waitMs: 20_000 })
      assert.equal(await lock.release(), true)
    })
  }
}
