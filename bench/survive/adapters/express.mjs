// express-rate-limit with rate-limit-redis on node-redis, as its guide shows.

import { library, serve, timeoutMs, url, versionOf } from './kit.mjs'

const { rateLimit } = library('express-rate-limit')
const { RedisStore } = library('rate-limit-redis')
const client = library('redis').createClient({ url, commandOptions: { timeout: timeoutMs } })
client.on('error', () => {})
await client.connect()
/** @type {Map<string, any>} */
const limiters = new Map()

/** The middleware of a limit. */
function middleware(/** @type {number} */ limit, /** @type {number} */ windowMs) {
  const name = `${limit}/${windowMs}`
  const made =
    limiters.get(name) ??
    rateLimit({
      windowMs,
      limit,
      keyGenerator: (/** @type {any} */ request) => request.key,
      handler: (/** @type {any} */ request) => request.denied(),
      store: new RedisStore({ sendCommand: (/** @type {string[]} */ ...command) => client.sendCommand(command) }),
      // It checks what it finds in requests of Express.
      validate: false,
    })
  limiters.set(name, made)
  return made
}

await serve({
  name: 'express-rate-limit, rate-limit-redis',
  version: `${versionOf('express-rate-limit')}, ${versionOf('rate-limit-redis')}`,

  consume: (key, limit, seconds) =>
    new Promise((resolve, reject) => {
      const request = { key, denied: () => resolve(false) }
      const response = { setHeader() {}, on() {} }
      const next = (/** @type {unknown} */ error) => (error ? reject(error) : resolve(true))
      middleware(limit, seconds * 1000)(request, response, next).catch(reject)
    }),
})
