// What the server says and what the page knows of it are one list: api.rs and api.d.ts.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const SERVE = new URL('../../cli/src/serve/', import.meta.url)

/** The fields of each type. @param {string} file @param {RegExp} type @param {RegExp} field */
function fields(file, type, field) {
  const text = readFileSync(new URL(file, SERVE), 'utf8')
  const types = [...text.matchAll(type)].map(([, name, body]) => [
    name,
    [...`${body}`.matchAll(field)].map((found) => found[1]),
  ])
  return Object.fromEntries(types)
}

test('the page knows each field that the server tells, and no other', () => {
  const told = fields('api.rs', /^pub struct (\w+) \{\n(.*?)^\}/gms, /^ {4}pub (\w+):/gm)
  const known = fields('page/api.d.ts', /^interface (\w+) \{\n(.*?)^\}/gms, /^ {2}(\w+):/gm)
  const rows = Object.keys(known).filter((name) => name !== 'Moment')
  assert.ok(rows.length > 8)
  for (const name of rows) assert.deepEqual(known[name], told[name], name)
})
