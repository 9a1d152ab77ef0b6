// What is counted: exactly what happened, by name, in all threads of a process, and never a key.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshPrefix, redis, run } from './support.mjs'

/**
 * What is counted in a process of its own that runs a script, which has `url` and `prefix`: by name and labels.
 * @param {string} script @param {string} url @param {Record<string, string>} [environment]
 * @returns {Promise<Record<string, number>>}
 */
async function counted(script, url, environment = {}) {
  const text = `
    const { Client, metrics, prometheus } = await import('quotalock')
    const [url, prefix] = ${JSON.stringify([url, freshPrefix()])}
    const { default: assert } = await import('node:assert/strict')
    ${script}
    const shown = metrics().map((metric) => ({ ...metric, samples: metric.samples.map((sample) => ({ ...sample,
      buckets: sample.buckets?.map(([bound, count]) => [String(bound), count]) })) }))
    console.log(JSON.stringify({ metrics: shown, text: prometheus() }))`
  const { code, output } = await run(text, [], environment)
  assert.equal(code, 0, output)
  const told = JSON.parse(/** @type {string} */ (output.trim().split('\n').pop()))
  /** @type {Record<string, number>} */
  const counts = {}
  for (const { name, kind, help, samples } of told.metrics) {
    assert.ok(help.endsWith('.'))
    if (samples.length > 0) assert.ok(told.text.includes(`# TYPE ${name} ${kind}\n`))
    for (const { labels, value, count } of samples) {
      const named = Object.keys(labels).map((label) => `${label}="${labels[label]}"`)
      const short = name.replace('quotalock_', '')
      counts[`${short}{${named.sort().join()}}`] = value ?? count
    }
  }
  return counts
}

/** Those of one metric. @param {Record<string, number>} counts @param {string} name */
const only = (counts, name) =>
  Object.fromEntries(
    Object.entries(counts)
      .filter(([each]) => each.startsWith(`${name}{`))
      .map(([each, count]) => [each.slice(name.length), count]),
  )

test('decisions are counted by limiter, result and source', async () => {
  const counts = await counted(
    `const client = new Client(url, { prefix, timeoutMs: 10_000, denyCacheMaxMs: 60_000 })
     const n = client.limiter('n', '3/hour')
     const tried = client.limiter('tried', '1/hour', { enforce: false })
     for (let call = 0; call < 5; call++) await n.consume('secret:42')
     await assert.rejects(n.require('secret:42'))
     await Promise.all(Array.from({ length: 200 }, () => client.limiter('many', '150/hour').consume('k')))
     for (let call = 0; call < 3; call++) await tried.consume('k')
     await n.peek('k'), await n.refund('k', 1), await n.reset('k')
     await client.close()`,
    redis(),
  )
  const decisions = only(counts, 'decisions_total')
  // Of those that were asked at once some are answered for all.
  const denied = ['deny-cache', 'redis'].map((source) => `{limiter="many",result="denied",source="${source}"}`)
  assert.equal(
    denied.reduce((sum, name) => sum + (decisions[name] ?? 0), 0),
    50,
  )
  for (const name of denied) delete decisions[name]
  assert.deepEqual(decisions, {
    '{limiter="many",result="allowed",source="redis"}': 150,
    '{limiter="n",result="allowed",source="redis"}': 3,
    '{limiter="n",result="denied",source="redis"}': 1,
    '{limiter="n",result="denied",source="deny-cache"}': 2,
    '{limiter="tried",result="allowed",source="redis"}': 1,
    '{limiter="tried",result="would_deny",source="redis"}': 2,
  })
  assert.ok(!JSON.stringify(counts).includes('secret'))
  assert.ok(/** @type {number} */ (counts['call_duration_seconds{kind="limiter"}']) >= 150)
})

test('what is decided in memory has its own source', async () => {
  const counts = await counted(
    `const n = new Client(url).limiter('n', '2/hour')
     for (let call = 0; call < 5; call++) await n.consume('k')`,
    'memory://',
  )
  assert.deepEqual(only(counts, 'decisions_total'), {
    '{limiter="n",result="allowed",source="memory"}': 2,
    '{limiter="n",result="denied",source="memory"}': 3,
  })
})

test('a server that is away shows in decisions and in its breaker', async () => {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => probe.once('listening', resolve))
  const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address())
  await new Promise((resolve) => probe.close(resolve))
  const counts = await counted(
    `const closed = new Client(url, { onError: 'closed' }).limiter('closed', '2/hour')
     assert.equal((await closed.consume('k')).source, 'closed')
     await assert.rejects(new Client(url).limiter('raise', '2/hour').consume('k'))`,
    `redis://app:s3cret@127.0.0.1:${port}`,
  )
  assert.deepEqual(only(counts, 'decisions_total'), {
    '{limiter="closed",result="denied",source="closed"}': 1,
    '{limiter="raise",result="error",source="redis"}': 1,
  })
  // Each client has a breaker of its own.
  assert.equal(counts[`breaker_opened_total{server="127.0.0.1:${port}",trouble="unreachable"}`], 2)
  assert.ok(!JSON.stringify(counts).includes('s3cret'))
})

test('locks, stocks, caches and once are counted', async () => {
  const counts = await counted(
    `const client = new Client(url, { prefix, timeoutMs: 10_000 })
     const handle = () => client.lock('sku:42', { acquire: false })
     const [one, other] = [await handle(), await handle()]
     assert.ok(await one.acquire())
     assert.ok(!(await other.acquire({ waitMs: 0 })) && !(await other.acquire({ waitMs: 30 })))
     const waits = other.acquire({ waitMs: 5_000 })
     assert.ok(await one.release())
     assert.ok(await waits)
     assert.equal(await (await handle()).forceRelease(), 1)
     assert.ok(!(await other.extend()))
     const sale = client.stock('sale')
     await sale.open(2)
     for (const buyer of ['a', 'b', 'c']) await sale.take(buyer)
     const home = client.cache('home')
     for (let call = 0; call < 2; call++) await home.get('secret:42', async () => Buffer.from('x'))
     const orders = client.once('orders')
     for (let call = 0; call < 2; call++) await orders.run('secret:1', async () => Buffer.from('x'))
     await client.close()`,
    redis(),
  )
  const acquisitions = only(counts, 'lock_acquisitions_total')
  assert.deepEqual(acquisitions, { '{result="acquired"}': 2, '{result="refused"}': 2, '{result="error"}': 0 })
  assert.deepEqual([counts['locks_lost_total{}'], counts['lock_releases_total{}']], [1, 1])
  assert.deepEqual([counts['lock_wait_seconds{}'], counts['lock_hold_seconds{}']], [4, 2])
  assert.deepEqual(only(counts, 'stock_takes_total'), {
    '{outcome="held",stock="sale"}': 2,
    '{outcome="sold_out",stock="sale"}': 1,
  })
  const cache = { '{cache="home",result="loaded"}': 1, '{cache="home",result="hit"}': 1 }
  assert.deepEqual(only(counts, 'cache_gets_total'), cache)
  const once = { '{once="orders",result="first"}': 1, '{once="orders",result="repeated"}': 1 }
  assert.deepEqual(only(counts, 'once_total'), once)
  assert.ok(!/secret|sku/.test(JSON.stringify(counts)))
})

test('threads count together, and processes that name one file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quotalock-metrics-'))
  const file = { QUOTALOCK_METRICS_FILE: join(folder, 'metrics') }
  const script = `
    const { Worker } = await import('node:worker_threads')
    const { once } = await import('node:events')
    const consume = "const { Client } = require('quotalock')\\nnew Client('memory://').limiter('n', '9/hour').consume('k')"
    for (let each = 0; each < 2; each++) await once(new Worker(consume, { eval: true, execArgv: [] }), 'exit')
    await new Client(url).limiter('n', '9/hour').consume('k')`
  const name = 'decisions_total{limiter="n",result="allowed",source="memory"}'
  assert.equal((await counted(script, 'memory://', file))[name], 3)
  assert.equal((await counted(script, 'memory://', file))[name], 6)
  assert.equal((await counted(script, 'memory://'))[name], 3)
  rmSync(folder, { recursive: true })
})

test('it can be switched off', async () => {
  const script = "await new Client(url).limiter('n', '9/hour').consume('k')\nassert.equal(prometheus(), '')"
  assert.deepEqual(await counted(script, 'memory://', { QUOTALOCK_METRICS: 'off' }), {})
})
