// In TypeScript, with the types of the package: compiled, then `node typed.mjs URL`.

import { Client, type Decision, type Lock } from 'quotalock'

const client = new Client(process.argv[2] as string, { prefix: `smoke-ts-${process.pid}`, timeoutMs: 10_000 })
const decision: Decision = await client.limiter('logins', '3/minute').consume('ada')
const lock: Lock = await client.lock('report', { ttlMs: 5000 })
// @ts-expect-error a lock has no such option
client.lock('report', { timeToLive: 5000 }).catch(() => {})
if (!decision.allowed || !(await lock.release())) throw new Error('denied')
await client.close()
console.log('smoke passed in TypeScript')
