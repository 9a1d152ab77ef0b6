// What an installation says that lacks the native part, or has another one: npm leaves out optional packages now and then.

import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ROOT } from './support.mjs'

const require = createRequire(import.meta.url)
const { platform, nativePackage } = require('../../bindings-node/lib/platform.js')

/**
 * Lays out the root package as npm does, with these optional packages in its package.json, and returns its loader.
 * @param {string[]} published
 */
function installed(published) {
  const modules = join(mkdtempSync(join(tmpdir(), 'installed-')), 'node_modules')
  const lib = join(modules, 'quotalock', 'lib')
  mkdirSync(lib, { recursive: true })
  for (const file of ['native.js', 'platform.js']) {
    copyFileSync(fileURLToPath(new URL(`bindings-node/lib/${file}`, ROOT)), join(lib, file))
  }
  const optionalDependencies = Object.fromEntries(published.map((name) => [name, '0.1.0']))
  writeFileSync(join(lib, '../package.json'), JSON.stringify({ version: '0.1.0', optionalDependencies }))
  return { modules, loader: join(lib, 'native.js') }
}

/** Puts a package of this platform next to it. */
function addNative(/** @type {string} */ modules, /** @type {string} */ version, /** @type {string} */ main) {
  const folder = join(modules, nativePackage())
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: nativePackage(), version, main: 'main.js' }))
  writeFileSync(join(folder, 'main.js'), main)
}

test('the package of this platform is loaded', () => {
  const { modules, loader } = installed([nativePackage()])
  addNative(modules, '0.1.0', 'module.exports = { loaded: true }')
  assert.deepEqual(require(loader), { loaded: true })
})

test('a missing package is named, with what npm should be asked', () => {
  const { loader } = installed([nativePackage()])
  const [os, cpu] = platform().split('-')
  const cure = `${nativePackage()} is missing .* delete node_modules and the lock file .*--include=optional.*--os=${os} --cpu=${cpu} --libc=`
  assert.throws(() => require(loader), new RegExp(`no native part for ${platform()}: the package ${cure}`))
})

test('a platform without a package is told which ones have one', () => {
  const { loader } = installed(['@quotalock/native-plan9-mips'])
  assert.throws(
    () => require(loader),
    new RegExp(`no native part for ${platform()}: it is published for plan9-mips alone`),
  )
})

test('a package of another version is refused', () => {
  const { modules, loader } = installed([nativePackage()])
  addNative(modules, '0.2.0', 'module.exports = {}')
  assert.throws(
    () => require(loader),
    /quotalock 0\.1\.0 found @quotalock\/native-.* 0\.2\.0, which must have the same version/,
  )
})

test('a file of another system is told apart from one that is missing', () => {
  const { modules, loader } = installed([nativePackage()])
  addNative(
    modules,
    '0.1.0',
    "throw Object.assign(new Error('libc.musl-x86_64.so.1: no such file\\nmore'), { code: 'ERR_DLOPEN_FAILED' })",
  )
  assert.throws(
    () => require(loader),
    /no native part for \S+ \(libc\.musl-x86_64\.so\.1: no such file\): .*made for another system/,
  )
})
