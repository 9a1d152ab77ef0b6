// Node of `make bench ONLY=memory`: `in_process.mjs ours CALLS` prints CPU nanoseconds per awaited call on a hot key.

import { createRequire } from 'node:module'

const { Client } = createRequire(import.meta.url)('../../bindings-node')

const limiter = new Client('memory://').limiter('bench', '1000000000/hour')

/** @param {number} calls */
async function drive(calls) {
  const begun = process.cpuUsage()
  for (let call = 0; call < calls; call++) await limiter.consume('user:42')
  const { user, system } = process.cpuUsage(begun)
  return ((user + system) * 1000) / calls
}

const calls = Number(process.argv[3])
await drive(Math.max(calls / 10, 1))
console.log(await drive(calls))
