// Runs the tests of @fastify/rate-limit against Quotalock's store: `node run.mjs`, inside the servers.
//
// They come with its npm package, which setup.sh installs; nothing of theirs is committed. A test that is left out is named
// here with the reason, and must exist. Its stores are replaced, and nothing else of it.

import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
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
  'when passing NaN to max variable then it should use the default max - 1000':
    'asks a thousand times and expects that to take less than ten seconds, whatever else the machine does',
}

const { version } = JSON.parse(readFileSync(join(INSTALLED, 'node_modules/@fastify/rate-limit/package.json'), 'utf8'))
rmSync(FOLDER, { recursive: true, force: true })
cpSync(join(INSTALLED, 'node_modules/@fastify/rate-limit'), FOLDER, { recursive: true })
cpSync(join(HERE, 'local-store.cjs'), join(FOLDER, 'store/LocalStore.js'))
cpSync(join(HERE, 'redis-store.cjs'), join(FOLDER, 'store/RedisStore.js'))
mkdirSync(join(FOLDER, 'node_modules/ioredis'), { recursive: true })
cpSync(join(HERE, 'ioredis.cjs'), join(FOLDER, 'node_modules/ioredis/index.js'))

const files = readdirSync(join(FOLDER, 'test'), { recursive: true })
  .map(String)
  .filter((name) => name.endsWith('.test.js'))
  .map((name) => join(FOLDER, 'test', name))
const servers = JSON.parse(process.env.QUOTALOCK_TEST_SERVERS ?? '{}')
const names = Object.keys(OUT).map((name) => name.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&'))
const pattern = names.length > 0 ? [`--test-name-pattern=/^(?!(${names.join('|')})$)/`] : []
const { status, stdout } = spawnSync(process.execPath, ['--test', '--test-reporter=tap', ...pattern, ...files], {
  encoding: 'utf8',
  maxBuffer: 1 << 28,
  env: { ...process.env, QUOTALOCK_URL: servers['redis-7.0'] },
})
const count = (/** @type {string} */ what) => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(stdout)?.[1] ?? 0)
let failed = status !== 0 || count('pass') < LEAST
if (failed) process.stdout.write(stdout)
process.stdout.write(`@fastify/rate-limit ${version}: ${count('pass')} passed, ${count('fail')} failed, of ${files.length} files\n`)
const text = files.map((file) => readFileSync(file, 'utf8')).join('\n')
for (const [name, reason] of Object.entries(OUT)) {
  process.stdout.write(`  not "${name}": ${reason}\n`)
  if (text.includes(`test('${name}'`)) continue
  process.stdout.write(`  "${name}" is not there any more\n`)
  failed = true
}
process.exitCode = failed ? 1 : 0
