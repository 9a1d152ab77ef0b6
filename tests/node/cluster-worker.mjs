// One process of a cluster: spends what it gets of a limit, tells how much that was, and ends when it is let go.

import { Client } from 'quotalock'

const [url, prefix] = process.argv.slice(2)
const limiter = new Client(url, { prefix, timeoutMs: 10_000 }).limiter('n', '150/hour')
const decisions = await Promise.all(Array.from({ length: 50 }, () => limiter.consume('k')))
// In Bun the connection to the other process does not keep this one by itself.
process.on('message', () => {})
process.send?.(decisions.filter(({ allowed }) => allowed).length)
