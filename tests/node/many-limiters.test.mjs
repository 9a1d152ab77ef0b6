// Limiters that are made of what users send: not too many are kept, and that is warned of once.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const PROGRAM = `
import { limit } from 'quotalock'
const found = []
process.on('warning', (warning) => found.push([warning.name, warning.code, warning.message]))
for (let number = 0; number < 4_000; number++) await limit('/users/' + number, 'k', '5/hour')
const { remaining } = await limit('/users/0', 'k', '5/hour')
await new Promise(setImmediate)
console.log(JSON.stringify({ found, remaining }))
`

test('limit() keeps 1,024 limiters and warns once', () => {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--no-warnings', '-e', PROGRAM], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    env: { ...process.env, QUOTALOCK_URL: 'memory://' },
    encoding: 'utf8',
  })
  assert.equal(stderr, '')
  const { found, remaining } = JSON.parse(stdout)
  assert.equal(remaining, 3, 'what was counted is not forgotten')
  assert.equal(found.length, 1)
  assert.deepEqual(found[0].slice(0, 2), ['QuotalockWarning', 'QUOTALOCK_LIMITERS'])
  assert.match(found[0][2], /more than 1024 limiters.*\/users\/1024/)
})
