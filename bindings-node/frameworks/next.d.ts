import type { Policy } from '../index.js'
import type { Limit, OneLimitOptions, RequestOptions } from './options.js'

export type { Limit, OneLimitOptions, RequestOptions } from './options.js'

/** What a function of yours is given. */
export type Asked = [request: any, context: any]
/** A route handler of the App Router. */
export type Handler = (request: any, context: any) => any

/** A route handler that is limited. */
export type Limited = (request: any, context?: any) => Promise<Response>

/**
 * Limits a route handler, with `RateLimit-Policy`, `RateLimit` and `Retry-After`.
 *
 * ```js
 * const limited = rateLimit('search', '10/minute;100/hour', { trusted: ['loopback'] })
 * export const GET = limited(async (request) => Response.json(await search(request)))
 * ```
 *
 * Next tells a handler no socket, so the address is only known from a proxy before it: name your proxies in `trusted`, the
 * nearest too, or give a `key`.
 * @throws for a policy or an option that cannot be, and without both `trusted` and `key`.
 */
export function rateLimit(name: string, policy: Policy, options: OneLimitOptions<Asked>): (handler: Handler) => Limited
/** The same with several limits, such as one of the address and one of the user, of which one atomic call decides. */
export function rateLimit(
  limits: readonly Limit<Asked>[],
  options?: RequestOptions<Asked>,
): (handler: Handler) => Limited
