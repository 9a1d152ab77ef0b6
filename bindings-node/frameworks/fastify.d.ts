import type { Policy } from '../index.js'
import type { LimitOptions, PlacedLimit, RequestOptions, StoreOptions } from './options.js'

/**
 * The plugin: limits requests, with `RateLimit-Policy`, `RateLimit` and `Retry-After`.
 *
 * ```js
 * await fastify.register(quotalock, { name: 'api', policy: '10/minute;100/hour' })
 * fastify.get('/search', { config: { quotalock: { policy: '3/second' } } }, search)
 * fastify.get('/health', { config: { quotalock: false } }, health)
 * ```
 *
 * Register it before the routes. It throws for a policy or an option that cannot be.
 */
export declare function quotalock(fastify: any, options: PluginOptions): Promise<void>

/** What a function of yours is given. */
export type Asked = [request: any, reply: any]

/** The limits of a route; they take the place of the plugin's. */
export interface RouteOptions extends LimitOptions<Asked>, RequestOptions<Asked> {
  /**
   * The name of the limit: limits of one name count together. If left out it counts for its route, methods, key and policy alone;
   * that of the plugin, for all routes below its prefix.
   */
  readonly name?: string
  /** What it decides by. */
  readonly policy?: Policy
  /** Several limits in its place, of which one atomic call decides. */
  readonly limits?: readonly PlacedLimit<Asked>[]
}

/** How requests are limited; without a policy or limits, only where a route says so. */
export interface PluginOptions extends RouteOptions {
  /** The limits of requests that no route answers: those of the plugin if left out, others, or none if false. */
  readonly notFound?: RouteOptions | false
  /** When it is decided: `onRequest` if left out, or a later hook, so that a key may be read from a session or body. */
  readonly hook?: 'onRequest' | 'preParsing' | 'preValidation' | 'preHandler'
}

/** What @fastify/rate-limit asks. */
export interface Store {
  incr(
    key: string,
    done: (error: Error | null, found?: { current: number; ttl: number }) => void,
    timeWindow: number,
    max: number,
  ): void
  read(
    key: string,
    done: (error: Error | null, found?: { current: number; ttl: number }) => void,
    timeWindow: number,
    max: number,
  ): void
  child(params: any): Store
}

/**
 * The `store` of @fastify/rate-limit.
 *
 * ```js
 * await fastify.register(rateLimit, { max: 100, timeWindow: '1 minute', store: rateLimitStore('api') })
 * ```
 *
 * Stores of one name count together. `exponentialBackoff` is refused, and so is a `ban` above 0 beside `continueExceeding`.
 */
export function rateLimitStore(name: string, options?: StoreOptions): new (params: any) => Store
