import type { Client, CombinedDecision, Decision, Key, Policy } from '../index.js'

/**
 * Functions of yours are given these. `any` by default, so that a function may use what your framework and other middleware put
 * there.
 */
export type Given = readonly any[]

/** What a limit is besides its name and policy. */
export interface LimitOptions<Request extends Given> {
  /**
   * Whom a request counts for; the client's address if left out. A request for which it returns nothing, an empty text, more than
   * 1 KiB, anything else that is not a key, or throws a TypeError, SyntaxError or URIError, is answered 400.
   */
  readonly key?: (...request: Request) => Key | number | bigint | PromiseLike<Key | number | bigint>
  /** What a request costs, or a function that tells; 1 if left out. */
  readonly cost?: number | ((...request: Request) => number | PromiseLike<number>)
  /** What all keys share as their hash tag: in a cluster, several limits need a common one. */
  readonly scope?: Key
  /** Whether the policy is enforced; true if left out. */
  readonly enforce?: boolean
  /** How many permits are taken at once, and spent without a call: see `prefetch` of `client.limiter`. None if left out. */
  readonly prefetch?: number
}

/** A limit of several. */
export interface Limit<Request extends Given> extends LimitOptions<Request> {
  /** Its name: limits of one name count together. It must not begin with `~`, as generated names do. */
  readonly name: string
  /** What it decides by. */
  readonly policy: Policy
}

/** A limit of several, where the package knows the place of the limit and needs no name. */
export interface PlacedLimit<Request extends Given> extends Omit<Limit<Request>, 'name'> {
  /** Its name: limits of one name count together. If left out it counts for its place, methods, key and policy alone. */
  readonly name?: string
}

/** How requests are limited. */
export interface RequestOptions<Request extends Given, Denied extends Given = Request> {
  /** The client; one for `QUOTALOCK_URL` if left out. Its `onError` says what is answered while Redis is away. */
  readonly client?: Client
  /** Which requests are not limited. */
  readonly skip?: (...request: Request) => boolean | PromiseLike<boolean>
  /**
   * Answers a denied request. The header fields are set, and the status is 429 or 503 unless it sets another one. A problem
   * (RFC 9457) if left out.
   */
  readonly onDenied?: (decision: Decision | CombinedDecision, ...request: Denied) => any
  /** The header fields: `draft-11`, or none. */
  readonly syntax?: 'draft-11' | 'none'
  /** Whether `X-RateLimit-Limit`, `-Remaining` and `-Reset` are sent too. */
  readonly legacy?: boolean
  /** Whether `Access-Control-Expose-Headers` lists the header fields, so that pages of other origins can read them; false if left out. */
  readonly exposeHeaders?: boolean
  /** The proxies whose word about a client's address counts: addresses, networks, `loopback`, `private`. None if left out. */
  readonly trusted?: readonly string[]
  /** The header in which they tell it: `X-Forwarded-For` if left out, or `Forwarded`. */
  readonly header?: string
  /** How many leading bits of an IPv6 address stand for a client, 32 to 128: 64 if left out. */
  readonly ipv6Prefix?: number
}

/** How one limit is made. */
export type OneLimitOptions<Request extends Given, Denied extends Given = Request> = LimitOptions<Request> &
  RequestOptions<Request, Denied>

/** How a store is made. */
export interface StoreOptions {
  /** The client; one for `QUOTALOCK_URL` if left out. Its `onError` says what a store answers while Redis is away. */
  readonly client?: Client
}

/** How often a client hit, as express-rate-limit and hono-rate-limiter ask for it. */
export interface Hits {
  totalHits: number
  resetTime: Date
}

/**
 * A store for express-rate-limit and hono-rate-limiter. Give each of their limiters one with a name of its own: stores of one
 * name count together.
 */
export class QuotalockStore {
  /** @throws for an empty name, and options that cannot be. */
  constructor(name: string, options?: StoreOptions)
  readonly localKeys: boolean
  readonly prefix: string
  /** Takes the window of the limiter. */
  init(options: { windowMs: number }): void
  /** Counts a hit. */
  increment(key: string): Promise<Hits>
  /** The hits so far; undefined if there are none. Counts nothing. */
  get(key: string): Promise<Hits | undefined>
  /** Takes a hit back. */
  decrement(key: string): Promise<void>
  /** Forgets a key. */
  resetKey(key: string): Promise<void>
  /** Is refused: forget one key at a time. */
  resetAll(): Promise<never>
}
