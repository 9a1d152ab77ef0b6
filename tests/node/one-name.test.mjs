// One name of limiters with two policies that charge one key within a period: the process warns once, with both places.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { BUN, freshPrefix, redis } from './support.mjs'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const folder = mkdtempSync(join(HERE, 'one-name-'))
after(() => rmSync(folder, { recursive: true }))

const BEGINNING = `import { Client, limit } from 'quotalock'
const found = []
process.on('warning', ({ name, code, message }) => found.push({ name, code, message }))
const client = new Client(process.env.QUOTALOCK_URL, { prefix: process.env.PREFIX, timeoutMs: 10_000 })
const loose = () => client.limiter('search', '100/minute')
const strict = () => client.limiter('search', '5/hour')
`
const END = `
await new Promise(setImmediate)
client.close()
console.log(JSON.stringify(found))
`
/** The lines of `loose` and `strict`. A function of strict code that ends with a call has left Bun's stack: its caller is there. */
const LINES = BUN ? [7, 7] : [5, 6]
let count = 0

/**
 * What a program warns of.
 * @param {string} url
 * @param {string} script
 * @returns {{ file: string, found: any[] }}
 */
function run(url, script) {
  const file = join(folder, `program-${count++}.mjs`)
  writeFileSync(file, BEGINNING + script + END)
  const env = { ...process.env, QUOTALOCK_URL: url, PREFIX: freshPrefix() }
  const { stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', file], { env, encoding: 'utf8' })
  assert.equal(stderr, '')
  return { file, found: JSON.parse(stdout) }
}

const WAYS = [
  ['consume', `for (const limiter of [loose(), strict()]) await limiter.consume('alice')`],
  ['require', `for (const limiter of [loose(), strict()]) await limiter.require('alice')`],
  ['one tick', `await Promise.all([loose(), strict()].map((limiter) => limiter.consume('alice')))`],
  [
    'a limiter for each call',
    `for (let i = 0; i < 3; i++) { await loose().consume('alice'); await strict().consume('alice') }`,
  ],
  ['consumeAll', `for (const limiter of [loose(), strict()]) await client.consumeAll([[limiter, 'alice']])`],
  [
    'reserve',
    `for (const limiter of [loose(), strict()]) await (await limiter.reserve('alice', 1, { ttlMs: 60_000 })).settle(1)`,
  ],
]

for (const url of ['memory://', redis()]) {
  for (const [way, script] of WAYS) {
    test(`two policies on one key are warned of once: ${way}, ${new URL(url).protocol}`, () => {
      const again = `\nfor (const limiter of [loose(), strict(), loose()]) for (const key of ['alice', 'bob']) await limiter.consume(key)`
      const atOnce = `\nawait new Promise(setImmediate)
if (found.length === 0) throw new Error('no warning came with the calls themselves')`
      const { file, found } = run(url, script + atOnce + again)
      assert.equal(found.length, 1, JSON.stringify(found))
      assert.deepEqual([found[0].name, found[0].code], ['QuotalockWarning', 'QUOTALOCK_NAME'])
      const { message } = found[0]
      assert.match(message, /^two limiters have the name "search" and charged the key "alice" within a period: /)
      const [first, second] = [message.match(/100\/minute \((.*?)\)/)?.[1], message.match(/5\/hour \((.*?)\)/)?.[1]]
      assert.ok(first?.includes(`${file}:${LINES[0]}:`) && second?.includes(`${file}:${LINES[1]}:`), message)
      assert.notEqual(first, second)
    })
  }
}

test('the one line warns too', () => {
  const { file, found } = run(
    'memory://',
    `for (const policy of ['3/hour', '2/hour', '3/hour']) await limit('login', 'alice', policy)`,
  )
  assert.equal(found.length, 1)
  assert.ok(found[0].message.includes('3/hour (') && found[0].message.includes(`${file}:7:`), found[0].message)
})

test('plans of users are not warned of', () => {
  const script = `for (let user = 0; user < 300; user++) {
    for (let call = 0; call < 2; call++) {
      await client.limiter('api', \`\${10 * (user % 3 + 1)}/minute\`).consume(\`user:\${user}\`)
      await client.limiter('api', \`\${10 * (user % 3 + 1)}/minute\`).peek('user:0')
    }
  }`
  assert.deepEqual(run('memory://', script).found, [])
})

test('a package that has warned is enough', () => {
  const script = `
    const { rateLimit } = await import('quotalock/express')
    const made = ['9/hour', '8/hour'].map((policy) => rateLimit('api', policy, { client, key: () => 'alice' }))
    const response = { setHeader() {}, getHeader() {}, appendHeader() {}, headersSent: false }
    for (const middleware of made) await middleware({ method: 'GET', headers: {}, socket: {} }, response, () => {})
    for (const policy of ['9/hour', '8/hour']) await client.limiter('api', policy).consume('alice')`
  const { found } = run('memory://', script)
  assert.equal(found.length, 1, JSON.stringify(found))
  assert.match(found[0].message, /^the limit "api" has the policy 9\/hour/)
})
