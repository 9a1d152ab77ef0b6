// redlock on one server by ioredis. It is asked once: `retryCount: 0`.

import { ioredis, library, serve, versionOf } from './kit.mjs'

const { default: Redlock, ExecutionError } = library('redlock5')
const redlock = new Redlock([ioredis()], { retryCount: 0 })

/** False, or null, for what redlock says of a quorum that was not reached; all else is an error. */
const refused = async (/** @type {any} */ error) => {
  const attempts = await Promise.all(error instanceof ExecutionError ? error.attempts : [])
  const reasons = attempts.flatMap((attempt) => [...attempt.votesAgainst.values()])
  if (reasons.length > 0 && reasons.every(({ name }) => name === 'ResourceLockedError')) return null
  throw reasons[0] ?? error
}

await serve({
  name: 'redlock',
  version: versionOf('redlock5'),
  acquire: (name, seconds) => redlock.acquire([name], seconds * 1000).catch(refused),
  held: (lock) => lock.expiration > Date.now(),
  release: async (lock) => {
    const done = await redlock.release(lock).catch(refused)
    return done !== null
  },
})
