// An application that uses Quotalock, bundled by esbuild to both kinds of modules.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { framework, INSTALLED } from './support.mjs'

const { build } = framework('esbuild')
const PACKAGE = fileURLToPath(new URL('../../../bindings-node/', import.meta.url))
const APP = `import { Client } from 'quotalock'
import { rateLimit } from 'quotalock/express'
const client = new Client('memory://')
client.limiter('n', '1/s').consume('k').then(({ allowed }) => console.log(allowed, typeof rateLimit))
`
/** What a module of today lacks that a package of CommonJS needs. */
const BANNER = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

/**
 * A folder outside of this tree, where nothing is found that is not put there.
 * @param {import('node:test').TestContext} context
 */
function elsewhere(context) {
  const folder = mkdtempSync(join(tmpdir(), 'quotalock-bundle-'))
  context.after(() => rmSync(folder, { recursive: true }))
  return folder
}

/**
 * Bundles the application and returns the file.
 * @param {string} folder
 * @param {'cjs' | 'esm'} format
 * @param {object} how
 */
async function bundled(folder, format, how) {
  const [source, outfile] = [join(INSTALLED, 'bundle'), join(folder, format === 'cjs' ? 'app.cjs' : 'app.mjs')]
  mkdirSync(source, { recursive: true })
  writeFileSync(join(source, `${format}.mjs`), APP)
  const options = { bundle: true, platform: 'node', logLevel: 'silent', ...how }
  await build({ entryPoints: [join(source, `${format}.mjs`)], format, outfile, ...options })
  return outfile
}

function run(/** @type {string} */ file) {
  const { stdout, stderr, status } = spawnSync(process.execPath, [file], { encoding: 'utf8' })
  return { output: stdout, status, problem: stderr }
}

for (const format of /** @type {const} */ (['cjs', 'esm'])) {
  test(`a bundle finds the package beside it (${format})`, async (context) => {
    const folder = elsewhere(context)
    const file = await bundled(folder, format, { external: ['quotalock'] })
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(PACKAGE, join(folder, 'node_modules', 'quotalock'))
    assert.deepEqual(run(file), { output: 'true function\n', status: 0, problem: '' })
  })

  test(`a bundle that holds the package finds the native part beside it, and says so where it is missing (${format})`, async (context) => {
    const folder = elsewhere(context)
    const file = await bundled(folder, format, format === 'esm' ? { banner: { js: BANNER } } : {})
    const without = run(file)
    assert.equal(without.status, 1)
    assert.match(without.problem, /no native part .*--external:quotalock.* or copy quotalock\.[\w-]+\.node there/)
    for (const name of readdirSync(PACKAGE)) {
      if (name.endsWith('.node')) cpSync(join(PACKAGE, name), join(folder, name))
    }
    assert.deepEqual(run(file), { output: 'true function\n', status: 0, problem: '' })
  })
}

for (const condition of ['edge-light', 'workerd']) {
  test(`where there is no Node the package says so (${condition})`, async (context) => {
    const conditions = [condition, 'worker', 'browser', 'import']
    const file = await bundled(elsewhere(context), 'esm', { conditions, platform: 'browser' })
    assert.match(run(file).problem, /runs in Node alone, not in an Edge runtime .*export const runtime = 'nodejs'/)
  })
}
