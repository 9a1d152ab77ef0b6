// The first example of each page, and that of the recipe for a switch, runs as it stands, but for its port, and answers
// as the page says.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort, redis } from '../../node/support.mjs'
import { framework, INSTALLED, until } from './support.mjs'

/**
 * The controller of Nest's page as an application: TypeScript's decorators are made calls.
 * @param {string} code
 */
async function nestOf(code) {
  const tsconfigRaw = { compilerOptions: { experimentalDecorators: true } }
  const made = await framework('esbuild').transform(code, { loader: 'ts', tsconfigRaw })
  return `import 'reflect-metadata'
    import { Module } from '@nestjs/common'
    import { NestFactory } from '@nestjs/core'
    ${made.code}
    class Shop {}
    Module({ controllers: [Pages] })(Shop)
    await (await NestFactory.create(Shop, { logger: false })).listen(3000, '127.0.0.1')`
}

/**
 * Starts an application on a free port, and waits for its first answer; it ends with the test.
 * @param {import('node:test').TestContext} context
 * @param {string} name
 * @param {(port: string) => string} code
 * @param {string} url of Redis
 */
async function started(context, name, code, url) {
  const port = String(await freePort())
  const folder = join(INSTALLED, 'pages')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${name}.mjs`)
  writeFileSync(file, code(port))
  const env = { ...process.env, QUOTALOCK_URL: url }
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', process.execPath, file], { env, cwd: INSTALLED })
  context.after(() => child.kill('SIGKILL'))
  let log = ''
  child.stderr.on('data', (data) => (log += data))
  const get = () => fetch(`http://127.0.0.1:${port}/search`)
  /** @type {Response | undefined} */
  let first
  await until(async () => {
    assert.equal(child.exitCode, null, log)
    first = await get().catch(() => undefined)
    return first !== undefined
  })
  return { first, get }
}

for (const name of ['express', 'fastify', 'hono', 'koa', 'nest']) {
  test(`${name}: the first example of the page`, async (context) => {
    const page = readFileSync(new URL(`../../../docs/frameworks/${name}.md`, import.meta.url), 'utf8')
    const shown = /^```[jt]s\n(.*?)^```$/ms.exec(page)?.[1] ?? ''
    const code = name === 'nest' ? await nestOf(shown) : shown
    const onPort = (/** @type {string} */ port) =>
      code.replace('3000', port).replace('serve(app)', `serve({ fetch: app.fetch, port: ${port} })`)
    const { first } = await started(context, name, onPort, 'memory://')
    assert.equal(first?.status, 200)
    const fields = [...page.matchAll(/^(RateLimit[\w-]*): (.+)$/gm)]
    for (const [, field = '', value] of fields) assert.equal(first?.headers.get(field), value)
    assert.match(first?.headers.get('ratelimit') ?? '', /r=\d+;t=\d+/)
  })
}

test("next: the route of the page's first example", async () => {
  const page = readFileSync(new URL('../../../docs/frameworks/next.md', import.meta.url), 'utf8')
  const code = /^```js\n(\/\/ app\/search\/route\.js\n.*?)^```$/ms.exec(page)?.[1] ?? ''
  const folder = join(INSTALLED, 'pages')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'route.mjs'), `${code}\nasync function search() {\n  return ['found']\n}\n`)
  process.env.QUOTALOCK_URL = 'memory://'
  const { GET, runtime } = await import(join(folder, 'route.mjs'))
  assert.equal(runtime, 'nodejs')
  // As the proxy before Next sends it on.
  const ask = () => GET(new Request('http://shop.test/search', { headers: { 'x-forwarded-for': '203.0.113.7' } }), {})
  for (let i = 0; i < 3; i++) assert.deepEqual(await (await ask()).json(), ['found'])
  const denied = await ask()
  assert.equal(denied.status, 429)
  assert.match(denied.headers.get('retry-after') ?? '', /^[12]$/)
  assert.match(denied.headers.get('content-type') ?? '', /problem\+json/)
})

test('the recipe for a switch from express-rate-limit', async (context) => {
  const page = readFileSync(new URL('../../../docs/recipes/replace-a-limiter.md', import.meta.url), 'utf8')
  const blocks = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, block = '']) => block)
  // The Redis is that of other tests too.
  const shown = blocks.find((block) => /express/.test(block)) ?? ''
  const prefix = `switch-${process.pid}`
  const code = shown.replace("'search'", `'${prefix}'`).replace('sendCommand:', `prefix: '${prefix}:', sendCommand:`)
  const step1 = await started(context, 'step1', (port) => code.replace('3000', port), redis())
  const statuses = [step1.first?.status]
  while (statuses.length < 6) statuses.push((await step1.get()).status)
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429])
  // Both counted, so no limit begins from zero with step 2: without the old one, the first request is denied.
  const without = code.replace(/.*step 2: without this line\n/, '')
  assert.notEqual(without, code)
  const step2 = await started(context, 'step2', (port) => without.replace('3000', port), redis())
  assert.equal(step2.first?.status, 429)
  assert.match(step2.first?.headers.get('content-type') ?? '', /problem\+json/)
})
