// Consumes in Node: `worker.mjs URL PREFETCH SECONDS IN_FLIGHT`; tells how many decisions it got, and the
// time. BENCH_POLICY is the policy, unless it is one that admits all.

import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Client } from '../../bindings-node/index.mjs'

const CALLS = 100
const [url, prefetch, seconds, inFlight] = process.argv.slice(2)
const client = new Client(url, { timeoutMs: 5000 })
const limiter = client.limiter('bench', process.env.BENCH_POLICY ?? '1000000000/h', {
  prefetch: Number(prefetch) || undefined,
})
for (let n = 0; n < 1_000; n++) await limiter.consume('k')
const input = createInterface({ input: process.stdin })
console.log('ready')
await once(input, 'line')
const begin = performance.now()
let calls = 0
const caller = async () => {
  while (performance.now() - begin < 1_000 * Number(seconds)) {
    for (let n = 0; n < CALLS; n++) await limiter.consume('k')
    calls += CALLS
  }
}
await Promise.all(Array.from({ length: Number(inFlight) }, caller))
console.log(JSON.stringify([calls, (performance.now() - begin) / 1_000]))
await client.close()
input.close()
