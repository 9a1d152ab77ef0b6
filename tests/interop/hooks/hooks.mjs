// Makes the calls that it is given, and writes what its client told: `hooks.mjs URL PREFIX CALLS`.

import { Client } from 'quotalock'

const [url = '', prefix = '', calls = ''] = process.argv.slice(2)
/** @type {unknown[]} */
const told = []
const client = new Client(url, {
  prefix,
  timeoutMs: 10_000,
  // Which denials come from memory must not hang on the time between two calls.
  denyCacheMaxMs: 60_000,
  onDecision: ({ name, allowed, wouldDeny, source, limit, remaining, cost }, key) =>
    void told.push([name, allowed, wouldDeny, source, limit, remaining, cost, key]),
  onLost: ({ names }) => void told.push(['lost', ...names]),
})
/** @type {Record<string, any>} */
const limiters = {
  checkout: client.limiter('checkout', '4/hour', { scope: 's' }),
  trial: client.limiter('trial', '1/hour', { scope: 's', enforce: false }),
}

/** @type {Record<string, (limiter: any, key: any, ...amounts: any[]) => Promise<unknown>>} */
const verbs = {
  consume: (limiter, key, cost) => limiter.consume(key, cost === undefined ? undefined : { cost }),
  require: (limiter, key) => limiter.require(key),
  peek: (limiter, key) => limiter.peek(key),
  consume_up_to: (limiter, key, most) => limiter.consumeUpTo(key, most),
  reserve: (limiter, key, estimate) => limiter.reserve(key, estimate, { ttlMs: 60_000 }),
  refund: (limiter, key, amount) => limiter.refund(key, amount),
  wait: (limiter, key, seconds) => limiter.wait(key, { timeoutMs: 1000 * seconds }),
  block: (limiter, key, seconds) => limiter.block(key, 1000 * seconds),
}

for (const [verb, limiter, key, ...amounts] of JSON.parse(calls)) {
  told.push(verb)
  if (verb === 'lose') {
    const lock = await client.lock(key)
    await lock.forceRelease()
    await lock.release()
  } else if (verb === 'consume_all') {
    await client.consumeAll(key.map((/** @type {string[]} */ [name = '', each = '']) => [limiters[name], each]))
  } else {
    await verbs[verb]?.(limiters[limiter], key, ...amounts).catch((error) => told.push(error.code))
  }
}
await client.close()
console.log(JSON.stringify(told))
