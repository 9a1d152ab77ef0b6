// What people meet first: their own compiler's settings, and bundlers.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from 'quotalock'
import { ROOT } from './support.mjs'

const root = fileURLToPath(ROOT)

/** What TypeScript says of a program with these settings; empty if nothing. */
function compiled(/** @type {object} */ settings, /** @type {string} */ program) {
  // Where `quotalock` is found.
  const folder = join(root, 'target', 'first-use')
  mkdirSync(folder, { recursive: true })
  const strict = { strict: true, noEmit: true, module: 'NodeNext', target: 'ES2022' }
  writeFileSync(join(folder, 'program.mts'), program)
  const config = { compilerOptions: { ...strict, ...settings }, files: ['program.mts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(root, 'bindings-node', 'node_modules', '.bin', 'tsc')
  const { stdout, stderr } = spawnSync(tsc, ['--project', folder], { encoding: 'utf8' })
  return stdout + stderr
}

const PROGRAM = `import { Client } from 'quotalock'
const client = new Client()
const decision = await client.limiter('n', '1/s').consume('k')
const headers: Record<string, string> = decision.headers()
export default headers
`

test('the declarations need no setting for the types of Node', () => {
  assert.equal(compiled({ types: [], lib: ['ES2023', 'ESNext.Disposable'] }, PROGRAM), '')
})

test('an option may be given as undefined, whatever the compiler thinks of that', () => {
  const program = `import { Client, type CallOptions } from 'quotalock'
declare const signal: AbortSignal | undefined
declare const prefix: string | undefined
const options: CallOptions = { signal, cost: undefined }
const client = new Client(undefined, { prefix })
await client.limiter('n', '1/s').consume('k', options)
await client.lock('l', { signal, ttlMs: undefined })
`
  const settings = { exactOptionalPropertyTypes: true, types: ['node'], lib: ['ES2023', 'ESNext.Disposable'] }
  assert.equal(compiled(settings, program), '')
})

test('policies in an array of texts are told how', () => {
  const refused = /policy is an array: give one string for all rules, such as '10\/minute;100\/hour'/
  assert.throws(() => new Client('memory://').limiter('n', /** @type {any} */ (['10/minute', '100/hour'])), refused)
})

test('a bundle that lacks the native part says how to bundle', () => {
  const bundle = join(mkdtempSync(join(tmpdir(), 'bundle-')), 'bundle.cjs')
  copyFileSync(join(root, 'bindings-node', 'lib', 'native.js'), bundle)
  // A bundler would put it into the bundle.
  copyFileSync(join(root, 'bindings-node', 'lib', 'platform.js'), join(dirname(bundle), 'platform.js'))
  assert.throws(() => createRequire(import.meta.url)(bundle), /no native part .* --external:quotalock/)
})
