// A Nest application with limits. Start it with `node app.mjs`, and ask for /search more than three times. In TypeScript the
// calls at the end of each class are decorators: @Controller(), @Get('search') and @UseGuards(limited).

import 'reflect-metadata'
import { Controller, Get, Module, UseGuards } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler'
import { Client } from 'quotalock'
import { QuotalockThrottlerStorage, rateLimitGuard } from 'quotalock/nest'

const client = new Client(process.env.QUOTALOCK_URL, { onError: process.env.ON_ERROR ?? 'closed' })
const limited = rateLimitGuard('search', '3/2 seconds', { client, legacy: true })

class Pages {
  search() {
    return 'found\n'
  }

  // What you have of @nestjs/throttler stays; only its storage is another.
  old() {
    return 'as before\n'
  }

  health() {
    return 'well\n'
  }
}
for (const [name, ...guards] of [['search', limited], ['old', ThrottlerGuard], ['health']]) {
  const method = [Pages.prototype, name, Object.getOwnPropertyDescriptor(Pages.prototype, name)]
  Get(name)(...method)
  if (guards.length > 0) UseGuards(...guards)(...method)
}
Controller()(Pages)

class App {}
const throttler = ThrottlerModule.forRoot({
  throttlers: [{ ttl: 2000, limit: 3 }],
  storage: new QuotalockThrottlerStorage({ client }),
})
Module({ imports: [throttler], controllers: [Pages] })(App)

// On Express, unless you ask for Fastify.
async function adapter() {
  if (process.env.PLATFORM !== 'fastify') return []
  const { FastifyAdapter } = await import('@nestjs/platform-fastify')
  return [new FastifyAdapter()]
}

const app = await NestFactory.create(App, ...(await adapter()), { logger: ['error'] })
await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
