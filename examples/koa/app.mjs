// A Koa application with limits. Start it with `node app.mjs`, and ask for /search more than three times.

import Koa from 'koa'
import { Client } from 'quotalock'
import { rateLimit } from 'quotalock/koa'

const client = new Client(process.env.QUOTALOCK_URL, { onError: process.env.ON_ERROR ?? 'closed' })
const app = new Koa()

const skip = (context) => context.path === '/health'
app.use(rateLimit('search', '3/2 seconds', { client, skip, legacy: true }))
app.use((context) => {
  context.body = context.path === '/health' ? 'well\n' : 'found\n'
})

app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
