// Reports: with `report` this process tells Redis, in the background, what its limiters decided.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, InvalidArgumentError } from 'quotalock'
import { freshPrefix, redis } from './support.mjs'

const ENTRY = new URL('../../bindings-node/index.js', import.meta.url).href

/** What stands in the stream, as Redis sends it. @param {string} prefix @returns {Promise<string>} */
const stream = (prefix) =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(redis())
    let said = ''
    const socket = connect(Number(port), hostname, () => socket.write(`XRANGE ${prefix}:reports - +\r\nQUIT\r\n`))
    socket.on('data', (data) => {
      said += data.toString('latin1')
    })
    socket.on('end', () => resolve(said))
    socket.on('error', reject)
  })

/** How often this was decided. @param {string} said @param {string} result */
const counted = (said, result) =>
  [...said.matchAll(new RegExp(`\\b${result} [a-z-]+ (\\d+)`, 'g'))].reduce((sum, [, count]) => sum + Number(count), 0)

/** @param {string} prefix @param {(said: string) => boolean} enough */
const when = async (prefix, enough) => {
  const end = Date.now() + 30_000
  for (;;) {
    const said = await stream(prefix)
    if (enough(said)) return said
    assert.ok(Date.now() < end, said)
    await sleep(20)
  }
}

test('a burst is reported though silence follows, and a storm costs a call a second', async () => {
  const prefix = freshPrefix()
  const client = new Client(redis(), { prefix, timeoutMs: 10_000, denyCacheMaxMs: 60_000, report: true })
  const limiter = client.limiter('login', '5/hour')
  const began = Date.now()
  for (let call = 0; call < 6; call++) await limiter.consume('k')
  for (let round = 0; round < 100; round++) await Promise.all(Array.from({ length: 1_000 }, () => limiter.consume('k')))
  const said = await when(prefix, (said) => counted(said, 'denied') === 100_001)
  assert.equal(counted(said, 'allowed'), 5)
  assert.ok(said.match(/\r\nnode\/\d/g))
  assert.ok((said.match(/\r\nlost\r\n/g) ?? []).length <= (Date.now() - began) / 1_000 + 1)
  await client.close()
})

test('closing reports what is left; without the option nothing is reported', async () => {
  const prefix = freshPrefix()
  for (const [report, expected] of /** @type {const} */ ([
    [false, 0],
    [true, 1],
  ])) {
    const client = new Client(redis(), { prefix, timeoutMs: 10_000, report })
    assert.ok((await client.limiter('n', '5/hour').consume('k')).allowed)
    await client.close()
    assert.equal(counted(await stream(prefix), 'allowed'), expected)
  }
})

test('the end of the process reports what is left', async () => {
  const prefix = freshPrefix()
  const code = `
    const { Client } = await import(${JSON.stringify(ENTRY)})
    const client = new Client(${JSON.stringify(redis())}, { prefix: '${prefix}', timeoutMs: 10_000, report: true })
    await client.limiter('n', '5/hour').consume('k')
    process.exit(0)`
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
  assert.deepEqual([ended.status, ended.stderr], [0, ''])
  assert.equal(counted(await stream(prefix), 'allowed'), 1)
})

test('what is no yes or no is refused', () => {
  // @ts-expect-error: wrong on purpose
  assert.throws(() => new Client('memory://', { report: 1 }), InvalidArgumentError)
})
