// A Fastify application with limits. Start it with `node app.mjs`, and ask for /search more than three times.

import rateLimit from '@fastify/rate-limit'
import Fastify from 'fastify'
import { Client } from 'quotalock'
import { quotalock, rateLimitStore } from 'quotalock/fastify'

const client = new Client(process.env.QUOTALOCK_URL, { onError: process.env.ON_ERROR ?? 'closed' })
const app = Fastify()

await app.register(quotalock, { client, name: 'api', policy: '1000/hour', legacy: true })
// What you have of @fastify/rate-limit stays; only its store is another.
await app.register(rateLimit, { global: false, store: rateLimitStore('old', { client }) })

app.get('/search', { config: { quotalock: { name: 'search', policy: '3/2 seconds' } } }, async () => 'found\n')
app.get('/old', { config: { quotalock: false, rateLimit: { max: 3, timeWindow: 2000 } } }, async () => 'as before\n')
app.get('/health', { config: { quotalock: false } }, async () => 'well\n')

await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })
