import type { Client } from '../index.js'

/** How a limiter is made. */
export interface FlexibleOptions {
  /** The client; one for `QUOTALOCK_URL` if left out. */
  readonly client?: Client
  /**
   * The name of its keys. If left out, limiters of the same points, duration and block count together, of which a warning tells:
   * give each limiter one of its own.
   */
  readonly keyPrefix?: string
  /** How many points may be consumed within the duration. */
  readonly points: number
  /** The duration in seconds, above 0. */
  readonly duration: number
  /** For how many seconds a key is blocked that consumes more; 0 if left out. */
  readonly blockDuration?: number
}

/** What a limiter answers, and what `consume` rejects with if the points are used up. */
export class RateLimiterRes {
  constructor(remainingPoints: number, msBeforeNext: number, consumedPoints: number, isFirstInDuration: boolean)
  /** The points left in this duration. */
  remainingPoints: number
  /** The milliseconds until the duration or the block ends. */
  msBeforeNext: number
  /** The points consumed in this duration. */
  consumedPoints: number
  /** Whether nothing was consumed before in this duration. */
  isFirstInDuration: boolean
  toJSON(): { remainingPoints: number; msBeforeNext: number; consumedPoints: number; isFirstInDuration: boolean }
  toString(): string
}

/**
 * A limiter with the calls and answers of rate-limiter-flexible. As there, `consume` rejects with a {@link RateLimiterRes} if it
 * denies, and with an `Error` if Redis cannot be asked.
 */
export class RateLimiterQuotalock {
  /** @throws for options that cannot be, and those of rate-limiter-flexible that are not supported. */
  constructor(options: FlexibleOptions)
  readonly keyPrefix: string
  readonly points: number
  readonly duration: number
  readonly blockDuration: number
  readonly msDuration: number
  readonly msBlockDuration: number
  /** Consumes points; a denied call counts too. */
  consume(key: string | number, points?: number, options?: Record<string, never>): Promise<RateLimiterRes>
  /** Consumes points, and never denies. */
  penalty(key: string | number, points?: number, options?: Record<string, never>): Promise<RateLimiterRes>
  /** Gives points back, at most as many as were consumed. */
  reward(key: string | number, points?: number, options?: Record<string, never>): Promise<RateLimiterRes>
  /** How a key stands; null if it consumed nothing. */
  get(key: string | number, options?: Record<string, never>): Promise<RateLimiterRes | null>
  /** Blocks a key for so many seconds. */
  block(key: string | number, secDuration: number, options?: Record<string, never>): Promise<RateLimiterRes>
  /** Forgets a key; whether there was one. */
  delete(key: string | number, options?: Record<string, never>): Promise<boolean>
  /** The key with its prefix. */
  getKey(key: string | number): string
}
