// The Node service of act 3: `service.mjs REDIS_URL POLICY`. Speaks the protocol described in replay.py.
import { createInterface } from 'node:readline/promises'
import { setTimeout } from 'node:timers/promises'
import { Client } from 'quotalock'

const [url, policy] = process.argv.slice(2)
const limiter = new Client(url).limiter('clients', policy ?? '')
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const { clients, batch, tick } = JSON.parse((await input.next()).value)

console.log('ready')
await input.next()
const start = performance.now()
for (let index = 0; index < clients.length; index += batch) {
  await setTimeout(Math.max(0, start + (index / batch) * tick * 1000 - performance.now()))
  const now = clients.slice(index, index + batch)
  const decisions = await Promise.all(now.map((/** @type {string} */ client) => limiter.consume(client)))
  const lines = decisions.map((decision, place) => `${now[place]} ${Number(decision.allowed)}\n`)
  process.stdout.write(lines.join(''))
}
process.stdin.destroy()
