// rate-limiter-flexible on ioredis.

import { ioredis, library, serve, versionOf } from './kit.mjs'

const { RateLimiterRedis } = library('rate-limiter-flexible')
const storeClient = ioredis()

await serve({
  name: 'rate-limiter-flexible',
  version: versionOf('rate-limiter-flexible'),

  async consume(key, points, duration) {
    const limiter = new RateLimiterRedis({ storeClient, points, duration })
    // A denial rejects with what is left, an error with an Error.
    return limiter.consume(key).then(
      () => true,
      (/** @type {unknown} */ denied) => {
        if (denied instanceof Error) throw denied
        return false
      },
    )
  },
})
