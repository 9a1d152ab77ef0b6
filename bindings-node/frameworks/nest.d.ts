import type { Policy } from '../index.js'
import type { OneLimitOptions, PlacedLimit, RequestOptions, StoreOptions } from './options.js'

export { rateLimit } from './express.js'
export type { Limit, OneLimitOptions, PlacedLimit, RequestOptions, StoreOptions } from './options.js'

/** What a function of yours is given: the request, and Nest's context. */
export type Asked = [request: any, context: any]

/** What `@UseGuards` takes, for handlers of HTTP and of WebSockets. */
export interface Guard {
  canActivate(context: any): Promise<boolean>
}

/**
 * A guard that limits requests, with `RateLimit-Policy`, `RateLimit` and `Retry-After`.
 *
 * ```ts
 * @UseGuards(rateLimitGuard('login', '5/minute', { key: (request) => request.body.user }))
 * ```
 *
 * @throws for a policy or an option that cannot be, and without @nestjs/common.
 */
export function rateLimitGuard(name: string, policy: Policy, options?: OneLimitOptions<Asked>): Guard
/**
 * The same with several limits, such as one of the address and one of the user, of which one atomic call decides. One without a
 * name counts for the class, the handler, the key and the policy alone.
 */
export function rateLimitGuard(limits: readonly PlacedLimit<Asked>[], options?: RequestOptions<Asked>): Guard

/** How the storage is made. */
export interface ThrottlerOptions extends StoreOptions {
  /** What its keys have in common: `throttler` if left out. Its keys also have the throttler, its limit and its times. */
  readonly name?: string
}

/**
 * The `storage` of @nestjs/throttler.
 *
 * ```ts
 * ThrottlerModule.forRoot({ throttlers: [{ ttl: 60_000, limit: 10 }], storage: new QuotalockThrottlerStorage() })
 * ```
 */
export class QuotalockThrottlerStorage {
  constructor(options?: ThrottlerOptions)
  /** Counts a request. Times are in milliseconds, those of the answer in seconds. */
  increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<{ totalHits: number; timeToExpire: number; isBlocked: boolean; timeToBlockExpire: number }>
}
