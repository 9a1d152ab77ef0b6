// Consumes one key in Node while Redis comes and goes: `worker.mjs URL POLICY SECONDS`; prints what was admitted, by source.

import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Client } from '../../bindings-node/index.mjs'

const [url, policy = '', seconds] = process.argv.slice(2)
// Several clients, which count as one process.
const clients = Array.from({ length: 3 }, () => new Client(url, { timeoutMs: 500, onError: 'local' }))
const limiters = clients.map((client) => client.limiter('flaps', policy))
const input = createInterface({ input: process.stdin })
console.log('ready')
await once(input, 'line')
/** @type {Record<string, number>} */
const admitted = {}
const end = performance.now() + 1_000 * Number(seconds)
while (performance.now() < end) {
  for (const decision of await Promise.all(limiters.map((limiter) => limiter.consume('k')))) {
    admitted[decision.source] = (admitted[decision.source] ?? 0) + Number(decision.allowed)
  }
}
console.log(JSON.stringify(admitted))
await Promise.all(clients.map((client) => client.close()))
input.close()
