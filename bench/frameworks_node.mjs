// One of the applications that `frameworks_web.py` measures: `BENCH_APP` names it, such as `express theirs`. Each limits by the
// query, `BENCH_LIMIT` a minute, on the Redis of `BENCH_REDIS`, and answers with headers; those called `leased` are ours with
// prefetch, those called `bare` do not limit, and those called `trip` only get a key that is not there: a round trip to Redis, of
// which no decision with it can be cheaper.

import { createRequire } from 'node:module'

// Where setup.sh installed the frameworks.
const load = createRequire(`${process.env.BENCH_FRAMEWORKS}/`)
const framework = (/** @type {string} */ name) => load(name)
const [name, whose] = `${process.env.BENCH_APP}`.split(' ')
const [url, port, limit] = [`${process.env.BENCH_REDIS}`, Number(process.env.PORT), Number(process.env.BENCH_LIMIT)]
const prefetch = whose === 'leased' ? 50 : undefined

/** @type {Record<string, () => Promise<unknown>>} */
const apps = {
  async express() {
    const app = framework('express')()
    const key = (/** @type {any} */ request) => request.query.k
    if (whose === 'ours' || whose === 'leased') {
      const { Client } = await import('quotalock')
      const { rateLimit } = await import('quotalock/express')
      app.use(rateLimit('api', `${limit}/minute`, { client: new Client(url), key, prefetch }))
    } else if (whose === 'theirs') {
      const { rateLimit } = framework('express-rate-limit')
      const { RedisStore } = framework('rate-limit-redis')
      const client = framework('redis').createClient({ url })
      await client.connect()
      const store = new RedisStore({ sendCommand: (/** @type {string[]} */ ...command) => client.sendCommand(command) })
      const headers = { standardHeaders: 'draft-8', legacyHeaders: false }
      app.use(rateLimit({ windowMs: 60_000, limit, keyGenerator: key, store, ...headers }))
    } else if (whose === 'trip') {
      const client = framework('redis').createClient({ url })
      await client.connect()
      app.use((/** @type {any} */ request, /** @type {any} */ _response, /** @type {any} */ next) => {
        client.get(key(request)).then(() => next(), next)
      })
    }
    app.get('/', (/** @type {any} */ _request, /** @type {any} */ response) => response.send('found\n'))
    return app.listen(port, '127.0.0.1')
  },

  async fastify() {
    const app = framework('fastify')()
    const key = (/** @type {any} */ request) => request.query.k
    if (whose === 'ours' || whose === 'leased') {
      const { Client } = await import('quotalock')
      const { quotalock } = await import('quotalock/fastify')
      await app.register(quotalock, { client: new Client(url), name: 'api', policy: `${limit}/minute`, key, prefetch })
    } else if (whose === 'theirs') {
      const redis = new (framework('ioredis'))(url)
      await app.register(framework('@fastify/rate-limit'), {
        max: limit,
        timeWindow: '1 minute',
        keyGenerator: key,
        redis,
      })
    } else if (whose === 'trip') {
      const redis = new (framework('ioredis'))(url)
      app.addHook('onRequest', async (/** @type {any} */ request) => void (await redis.get(key(request))))
    }
    app.get('/', async () => 'found\n')
    return await app.listen({ port, host: '127.0.0.1' })
  },
}

await apps[`${name}`]?.()
