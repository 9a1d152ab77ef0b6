// An Express application with limits. Start it with `node app.mjs`, and ask for /search more than three times.

import express from 'express'
import { rateLimit as expressRateLimit } from 'express-rate-limit'
import { Client } from 'quotalock'
import { QuotalockStore, rateLimit } from 'quotalock/express'

const client = new Client(process.env.QUOTALOCK_URL, { onError: process.env.ON_ERROR ?? 'closed' })
const app = express()

app.get('/search', rateLimit('search', '3/2 seconds', { client, legacy: true }), (_request, response) => {
  response.send('found\n')
})

// One of the address and one for all, in one atomic call.
const both = rateLimit(
  [
    { name: 'report', policy: '3/2 seconds' },
    { name: 'reports', policy: '1000/hour', key: () => 'all' },
  ],
  { client },
)
app.get('/report', both, (_request, response) => {
  response.send('written\n')
})

// What you have of express-rate-limit stays; only its store is another.
const store = new QuotalockStore('old', { client })
app.get('/old', expressRateLimit({ windowMs: 2000, limit: 3, store }), (_request, response) => {
  response.send('as before\n')
})

app.get('/health', (_request, response) => {
  response.send('well\n')
})

app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
