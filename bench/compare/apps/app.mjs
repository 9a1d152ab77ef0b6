// A Fastify application whose limiter the environment names: 100 a day for the query `k`.

import { createRequire } from 'node:module'

/** @type {(name: string) => any} */
const load = createRequire(new URL('../../../target/peers/node/', import.meta.url))
const [peer, url] = [process.env.COMPARE_PEER, `${process.env.COMPARE_REDIS}`]
const app = load('fastify')()
const key = (/** @type {any} */ request) => request.query.k

if (peer === 'quotalock') {
  const { Client } = await import('quotalock')
  const { quotalock } = await import('quotalock/fastify')
  await app.register(quotalock, { client: new Client(url), name: 'api', policy: '100/day', key })
} else if (peer === 'fastify-rate-limit') {
  const redis = new (load('ioredis').Redis)(url)
  await app.register(load('@fastify/rate-limit'), { max: 100, timeWindow: 86_400_000, keyGenerator: key, redis })
}
app.get('/', async () => 'found\n')
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })
