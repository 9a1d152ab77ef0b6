// What the native half declares is what was committed, and what the JavaScript above it is checked against.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ROOT } from './support.mjs'

test('the declarations of the native half are those that its build generates', () => {
  const [generated, committed] = ['target/native.d.ts', 'bindings-node/lib/native.d.ts'].map((path) =>
    readFileSync(new URL(path, ROOT), 'utf8'),
  )
  const renew =
    'bindings-node/lib/native.d.ts differs: run `make build PART=node && cp target/native.d.ts bindings-node/lib`'
  assert.equal(committed, generated, renew)
})
