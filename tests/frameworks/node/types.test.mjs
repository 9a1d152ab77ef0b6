// What a compiler says of the packages' types beside those of the frameworks.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { INSTALLED } from './support.mjs'

test('an application in TypeScript compiles', () => {
  cpSync(fileURLToPath(new URL('types.mts', import.meta.url)), join(INSTALLED, 'types.mts'))
  const compiler = fileURLToPath(new URL('../../../bindings-node/node_modules/.bin/tsc', import.meta.url))
  const strict = [
    '--strict',
    '--exactOptionalPropertyTypes',
    '--noEmit',
    '--ignoreConfig',
    '--module',
    'nodenext',
    '--target',
    'es2022',
  ]
  const how = ['--skipLibCheck', '--lib', 'es2023,esnext.disposable,dom', '--types', '', ...strict]
  const { stdout, status } = spawnSync(compiler, [...how, 'types.mts'], { cwd: INSTALLED, encoding: 'utf8' })
  assert.equal(status, 0, stdout)
})
