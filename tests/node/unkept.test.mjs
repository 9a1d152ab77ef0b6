// A lock or a reservation that nobody keeps is told of when it is collected, and none that somebody keeps or has ended.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshPrefix, redis, run } from './support.mjs'

/**
 * What a program is warned of, after everything was collected that can be.
 * @param {string} body
 * @param {string} url
 */
async function warned(body, url = redis()) {
  const text = `
    import { setTimeout as sleep } from 'node:timers/promises'
    import { Client } from 'quotalock'
    const told = []
    process.on('warning', (warning) => told.push([warning.name, warning.code, warning.message].join(' | ')))
    const client = new Client('${url}', { prefix: '${freshPrefix()}', timeoutMs: 10_000 })
    const llm = client.limiter('llm', '100/minute')
    globalThis.kept = []
    await (async () => { ${body} })()
    // A class of its own tells when the collector has been: what goes before it was collected before it.
    const gone = new Set()
    const registry = new FinalizationRegistry((what) => gone.add(what))
    for (const round of [1, 2, 3]) {
      ;(() => registry.register({}, round))()
      for (let i = 0; !gone.has(round); i++) {
        if (i > 2000) throw new Error('nothing is collected')
        gc()
        await sleep(5)
      }
    }
    const lock = await client.lock('sku:42', { acquire: false })
    const left = async () => (await lock.inspect()).holders.length
    // A thread of its own releases: the warning may come first.
    const isReleased = told.some((warning) => warning.includes('was released'))
    for (let i = 0; isReleased && i < 2000 && (await left()) > 0; i++) await sleep(5)
    console.log(JSON.stringify({ told, left: await left() }))
    process.exit()`
  const { code, output } = await run(text, ['--expose-gc', '--no-warnings'])
  assert.equal(code, 0, output)
  return JSON.parse(output)
}

const UNKEPT =
  'QuotalockWarning | QUOTALOCK_UNKEPT | lock "sku:42" was released because nothing keeps its handle: ' +
  'keep it in a variable until you release it'
const DROPPED =
  'QuotalockWarning | QUOTALOCK_UNKEPT | a reservation of limiter "llm" was dropped: settle or cancel it, or keep its id'

test('a lock that nobody keeps is released and told of', async () => {
  assert.deepEqual(await warned("await client.lock('sku:42')"), { told: [UNKEPT], left: 0 })
  const adopted = "await client.adopt((await client.lock('sku:42')).handover())"
  assert.deepEqual(await warned(adopted), { told: [UNKEPT], left: 0 })
})

const SILENT = {
  released: "const lock = await client.lock('sku:42'); await lock.release()",
  'ended by a function': "await (await client.lock('sku:42')).run(() => 1)",
  'never acquired': "await client.lock('sku:42', { acquire: false })",
  'handed over': "globalThis.text = (await client.lock('other')).handover()",
  lost: "const lock = await client.lock('sku:42'); await lock.forceRelease(); await lock.extend()",
  'of a closed client': `const other = new Client('memory://closed'); await other.lock('sku:42'); await other.close()`,
}

for (const [how, body] of Object.entries(SILENT)) {
  test(`a lock that is ${how} is not told of`, async () => {
    assert.deepEqual(await warned(body), { told: [], left: 0 })
  })
}

test('a lock that somebody keeps, or its signal, is not told of and stays held', async () => {
  assert.deepEqual(await warned("kept.push(await client.lock('sku:42'))"), { told: [], left: 1 })
  assert.deepEqual(await warned("kept.push((await client.lock('sku:42')).signal)"), { told: [], left: 1 })
})

test('a lock that is not renewed is meant to end by itself', async () => {
  assert.deepEqual(await warned("await client.lock('sku:42', { renew: false })"), { told: [], left: 1 })
})

test('a reservation that nobody can settle is told of, once for each limiter', async () => {
  const twice = "for (const key of ['a', 'b']) await llm.reserve(key, 1, { ttlMs: 60_000 })"
  assert.deepEqual((await warned(twice)).told, [DROPPED])
})

test('a reservation that is known or over is not told of', async () => {
  const body = `
    const how = { ttlMs: 60_000 }
    await (await llm.reserve('ada', 10, how)).settle(5)
    await (await llm.reserve('ada', 10, how)).cancel()
    llm.reservation('ada', (await llm.reserve('ada', 10, how)).id)
    await llm.reserve('ada', 99, how)
    kept.push(await llm.reserve('ada', 1, how))`
  assert.deepEqual((await warned(body)).told, [])
})

test('nothing is told when a process or a worker ends', async () => {
  const text = `
    import { Worker } from 'node:worker_threads'
    import { Client } from 'quotalock'
    const client = new Client('${redis()}', { prefix: '${freshPrefix()}', timeoutMs: 10_000 })
    await client.lock('of the process')
    await client.limiter('n', '9/minute').reserve('k', 1, { ttlMs: 60_000 })
    const worker = new Worker(\`
      import { Client } from 'quotalock'
      await new Client('${redis()}', { prefix: '${freshPrefix()}', timeoutMs: 10_000 }).lock('sku:42')
      process.exit()
    \`, { eval: true })
    await new Promise((resolve) => worker.on('exit', resolve))
    process.exit()`
  assert.deepEqual(await run(text), { code: 0, signal: null, output: '' })
})
