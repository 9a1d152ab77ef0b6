// Readers of bench/cache.py in Node: `worker.mjs KIND PORT READERS ROUNDS PAUSE`. See worker.py.

import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Client } from 'quotalock'

const [port, readers, rounds, pause] = process.argv.slice(3).map(Number)
const client = new Client(`redis://127.0.0.1:${port}`, { timeoutMs: 5000 })
const cache = client.cache('bench', { freshMs: 50, staleMs: 3_600_000, beta: 0 })
const peer = new Redis(Number(port), '127.0.0.1')

const never = () => {
  throw new Error('a reader was asked to load, although another does')
}
/** @type {[string, () => Promise<unknown>][]} */
const steps = [
  ['peer', () => peer.get('bench:plain')],
  ['trip', () => cache.peek('nothing')],
  ['get', () => cache.get('key', never)],
]
/** @type {Record<string, number[]>} */
const took = { peer: [], trip: [], get: [] }

async function read() {
  for (let turn = 0; turn < Number(rounds); turn++) {
    await sleep(2000 * Number(pause) * Math.random())
    for (const [name, step] of [...steps.slice(turn % 3), ...steps.slice(0, turn % 3)]) {
      const begun = process.hrtime.bigint()
      const got = await step()
      took[name]?.push(Number(process.hrtime.bigint() - begun))
      if (name === 'get' && String(got) !== 'old') throw new Error(`${got} is not the stale value`)
    }
  }
}

const every = Array.from({ length: Number(readers) })
await Promise.all(every.flatMap(() => [peer.get('bench:plain'), cache.peek('nothing')]))
console.log('ready')
await once(createInterface({ input: process.stdin }), 'line')
await Promise.all(every.map(read))
console.log(JSON.stringify(took))
process.exit(0)
