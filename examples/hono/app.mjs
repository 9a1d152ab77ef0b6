// A Hono application with limits, on Node. Start it with `node app.mjs`, and ask for /search more than three times.

import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { rateLimiter } from 'hono-rate-limiter'
import { Client } from 'quotalock'
import { QuotalockStore, rateLimit } from 'quotalock/hono'

const client = new Client(process.env.QUOTALOCK_URL, { onError: process.env.ON_ERROR ?? 'closed' })
const app = new Hono()

app.use('/search', rateLimit('search', '3/2 seconds', { client, legacy: true }))
app.get('/search', () => new Response('found\n'))

// What you have of hono-rate-limiter stays; only its store is another.
const store = new QuotalockStore('old', { client })
app.use('/old', rateLimiter({ windowMs: 2000, limit: 3, keyGenerator: () => 'everybody', store }))
app.get('/old', (context) => context.text('as before\n'))

app.get('/health', (context) => context.text('well\n'))

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' })
