// The last reference to an object goes while something that was thrown is on its way, or with the process or its thread.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { redis } from './support.mjs'

const PROGRAM = fileURLToPath(new URL('unwinding.mjs', import.meta.url))

/**
 * How the program ended, and what it said.
 * @param {string} ending
 */
async function unwound(ending) {
  const child = spawn(process.execPath, ['--expose-gc', PROGRAM, redis(), ending, '5'])
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const [code, signal] = await once(child, 'close')
  return { code, signal, output }
}

for (const ending of ['thrown', 'rejected', 'generator', 'loading', 'called', 'exit', 'terminated']) {
  test(`every class lives through it that its last object goes: ${ending}`, async () => {
    const { code, signal, output } = await unwound(ending)
    assert.deepEqual([code, signal, output.replaceAll('done\n', '')], [0, null, ''], output)
  })
}

test('an error that nobody catches is told, whatever goes with it', async () => {
  const { code, signal, output } = await unwound('uncaught')
  assert.deepEqual([code, signal], [1, null], output)
  assert.match(output, /RangeError: the end/)
})
