import type { Policy } from '../index.js'
import type { Limit, OneLimitOptions, RequestOptions } from './options.js'

export type { Hits, Limit, OneLimitOptions, RequestOptions, StoreOptions } from './options.js'
export { QuotalockStore } from './options.js'

/** What a function of yours is given. */
export type Asked = [request: any, response: any]
/** What `onDenied` is given after the decision. */
export type Denied = [request: any, response: any, next: (error?: any) => void]
/** Middleware for Express, and for whatever else takes the like. */
export type Middleware = (request: any, response: any, next: (error?: any) => void) => Promise<void>

/**
 * Middleware that limits requests, with `RateLimit-Policy`, `RateLimit` and `Retry-After`.
 *
 * ```js
 * app.use(rateLimit('api', '10/minute;100/hour'))
 * ```
 *
 * @throws for a policy or an option that cannot be.
 */
export function rateLimit(name: string, policy: Policy, options?: OneLimitOptions<Asked, Denied>): Middleware
/** The same with several limits, such as one of the address and one of the user, of which one atomic call decides. */
export function rateLimit(limits: readonly Limit<Asked>[], options?: RequestOptions<Asked, Denied>): Middleware
