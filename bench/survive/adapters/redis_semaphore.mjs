// The mutex of redis-semaphore on ioredis. It renews its lease, as it does unless told otherwise.

import { ioredis, library, serve, versionOf } from './kit.mjs'

const { Mutex } = library('redis-semaphore')
const redis = ioredis()
/** @type {WeakSet<object>} */
const lost = new WeakSet()

await serve({
  name: 'redis-semaphore',
  version: versionOf('redis-semaphore'),

  async acquire(name, seconds) {
    const onLockLost = () => lost.add(mutex)
    const mutex = new Mutex(redis, name, { lockTimeout: seconds * 1000, acquireAttemptsLimit: 1, onLockLost })
    return (await mutex.tryAcquire()) ? mutex : null
  },
  held: (mutex) => mutex.isAcquired,
  told: (mutex) => (lost.has(mutex) ? '`onLockLost` is called' : null),
  async release(mutex) {
    const held = mutex.isAcquired
    await mutex.release()
    return held
  },
})
