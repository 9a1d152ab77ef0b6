// @fastify/rate-limit on ioredis: requests to an application, without its socket.

import { ioredis, library, serve, versionOf } from './kit.mjs'

const redis = ioredis()
/** @type {Map<string, Promise<any>>} */
const apps = new Map()

/** An application with this limit. */
async function started(/** @type {number} */ max, /** @type {number} */ timeWindow) {
  const app = library('fastify')()
  const keyGenerator = (/** @type {any} */ request) => request.headers['x-key']
  await app.register(library('@fastify/rate-limit'), { max, timeWindow, redis, keyGenerator })
  app.get('/', async () => 'found')
  await app.ready()
  return app
}

await serve({
  name: '@fastify/rate-limit',
  version: versionOf('@fastify/rate-limit'),

  async consume(key, limit, seconds) {
    const name = `${limit}/${seconds}`
    if (!apps.has(name)) apps.set(name, started(limit, seconds * 1000))
    const { statusCode, body } = await (await apps.get(name)).inject({ url: '/', headers: { 'x-key': key } })
    if (statusCode !== 200 && statusCode !== 429) throw new Error(`${statusCode} ${body}`)
    return statusCode === 200
  },
})
