// A route handler of Next's App Router with a limit: app/search/route.js in your application, which a proxy stands before.

import { Client } from 'quotalock'
import { rateLimit } from 'quotalock/next'

const client = new Client(process.env.QUOTALOCK_URL, { onError: 'closed' })
const limited = rateLimit('search', '3/2 seconds', { client, trusted: ['loopback'], legacy: true })

export const runtime = 'nodejs'
export const GET = limited(async () => new Response('found\n'))
