// The types of the packages beside those of the frameworks, as an application in TypeScript sees them. types.test.mjs has it
// compiled where the frameworks are.

import fastifyRateLimit from '@fastify/rate-limit'
import type { CanActivate } from '@nestjs/common'
import { ThrottlerModule, type ThrottlerStorage } from '@nestjs/throttler'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { rateLimiter } from 'hono-rate-limiter'
import { Client } from 'quotalock'
import * as express from 'quotalock/express'
import { quotalock, rateLimitStore } from 'quotalock/fastify'
import * as hono from 'quotalock/hono'
import * as koa from 'quotalock/koa'
import { QuotalockThrottlerStorage, rateLimitGuard } from 'quotalock/nest'
import * as next from 'quotalock/next'
import { RateLimiterQuotalock, RateLimiterRes } from 'quotalock/rate-limiter-flexible'
import type { RateLimiterCompatibleAbstract } from 'rate-limiter-flexible'

const client = new Client()

const app = Fastify()
await app.register(quotalock, { client, name: 'api', policy: '10/minute', hook: 'preHandler', trusted: ['loopback'] })
await app.register(fastifyRateLimit, { max: 1, store: rateLimitStore('api', { client }) })

const routes = new Hono()
routes.use('/a', hono.rateLimit('a', '1/minute', { key: (context) => context.req.header('x') ?? 'nobody' }))
routes.use(rateLimiter({ keyGenerator: () => 'a', store: new hono.QuotalockStore('b') }))

export const guard: CanActivate = rateLimitGuard([{ name: 'a', policy: '1/minute', key: (request) => request.user }])
const storage: ThrottlerStorage = new QuotalockThrottlerStorage({ client })
ThrottlerModule.forRoot({ throttlers: [{ ttl: 1, limit: 1 }], storage })

express.rateLimit('a', { limit: 1, periodMs: 5 }, { cost: 2, skip: () => false, legacy: true, enforce: false })
express.rateLimit([{ name: 'a', policy: '1/minute' }], {
  onDenied: (decision, _request, response, go) => (decision.allowed ? go() : response.end()),
})
koa.rateLimit('a', '1/minute', { key: (context) => context.state.user })

export const GET = next.rateLimit('a', '1/minute', { trusted: ['loopback'] })(
  (request: Request) => new Response(request.url),
)
export const reply: Promise<Response> = GET(new Request('http://h/'))

const flexible = new RateLimiterQuotalock({ points: 1, duration: 1 })
export const points: Pick<
  RateLimiterCompatibleAbstract,
  'consume' | 'penalty' | 'reward' | 'block' | 'get' | 'delete'
> = flexible
export const left: number = await flexible.consume('a').then(
  (found) => found.remainingPoints,
  (rejected) => (rejected instanceof RateLimiterRes ? rejected.msBeforeNext : 0),
)

// @ts-expect-error: a policy is missing
express.rateLimit('a')
// @ts-expect-error: it needs trusted or a key
next.rateLimit('a', '1/minute')
// @ts-expect-error: not an option
koa.rateLimit('a', '1/minute', { keys: 1 })
// @ts-expect-error: points are missing
new RateLimiterQuotalock({ duration: 1 })
