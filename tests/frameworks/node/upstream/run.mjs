// Runs the tests of @fastify/rate-limit against Quotalock's store: `node run.mjs`, inside the servers.
//
// They come with its npm package, which setup.sh installs; nothing of theirs is committed. A test that is left out is named
// here with the reason, and must exist. Its stores are replaced, and where they sleep the
// clock of clock.cjs is moved; nothing else of it is changed.

import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const INSTALLED = join(ROOT, 'target/frameworks/node')
const FOLDER = join(INSTALLED, 'upstream/fastify-rate-limit')
/** At least so many pass; fewer would mean that most were not found. */
const LEAST = 100
const BACKOFF = 'exponentialBackoff is refused: use ban, or continueExceeding'
const MESSAGE = "checks the message of ioredis; that an error is a 500 and 'closed' a 503 is tried in examples.test.mjs"
/** @type {Record<string, string>} */
const OUT = {
  'Exponential Backoff': BACKOFF,
  'Global Exponential Backoff': BACKOFF,
  'MAx safe Exponential Backoff': BACKOFF,
  'Route-specific exponential backoff with redis store': BACKOFF,
  'With redis store and exponential backoff': BACKOFF,
  'With { increment: false } and exponentialBackoff the peek reports the base window without escalating it': BACKOFF,
  'Throw on redis error': MESSAGE,
  'With { increment: false } it throws on redis error': MESSAGE,
}

const { version } = JSON.parse(readFileSync(join(INSTALLED, 'node_modules/@fastify/rate-limit/package.json'), 'utf8'))
rmSync(FOLDER, { recursive: true, force: true })
cpSync(join(INSTALLED, 'node_modules/@fastify/rate-limit'), FOLDER, { recursive: true })
for (const [ours, name] of [
  ['local-store', 'LocalStore'],
  ['redis-store', 'RedisStore'],
  ['clocked', 'clocked'],
  ['clock', 'clock'],
]) {
  cpSync(join(HERE, `${ours}.cjs`), join(FOLDER, `store/${name}.js`))
}
mkdirSync(join(FOLDER, 'node_modules/ioredis'), { recursive: true })
cpSync(join(HERE, 'ioredis.cjs'), join(FOLDER, 'node_modules/ioredis/index.js'))

const files = readdirSync(join(FOLDER, 'test'), { recursive: true })
  .map(String)
  .filter((name) => name.endsWith('.test.js'))
  .map((name) => join(FOLDER, 'test', name))
const text = files.map((file) => readFileSync(file, 'utf8')).join('\n')
const clock = JSON.stringify(join(FOLDER, 'store/clock.js'))
for (const file of files) {
  let changed = readFileSync(file, 'utf8')
  changed = changed.replaceAll('setTimeout(resolve, ms)', `require(${clock}).sleep(resolve, ms)`)
  for (const name of Object.keys(OUT)) changed = changed.replaceAll(`test('${name}'`, `test.skip('${name}'`)
  writeFileSync(file, changed)
}
const servers = JSON.parse(process.env.QUOTALOCK_TEST_SERVERS ?? '{}')
const { status, stdout } = spawnSync(process.execPath, ['--test', '--test-reporter=tap', ...files], {
  encoding: 'utf8',
  maxBuffer: 1 << 28,
  env: { ...process.env, QUOTALOCK_URL: servers['redis-7.0'] },
})
const count = (/** @type {string} */ what) => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(stdout)?.[1] ?? 0)
let failed = status !== 0 || count('pass') < LEAST
if (failed) process.stdout.write(stdout)
process.stdout.write(
  `@fastify/rate-limit ${version}: ${count('pass')} passed, ${count('fail')} failed, ${count('skipped')} left out, of ${files.length} files\n`,
)
for (const [name, reason] of Object.entries(OUT)) {
  process.stdout.write(`  not "${name}": ${reason}\n`)
  if (text.includes(`test('${name}'`)) continue
  process.stdout.write(`  "${name}" is not there any more\n`)
  failed = true
}
process.exitCode = failed ? 1 : 0
