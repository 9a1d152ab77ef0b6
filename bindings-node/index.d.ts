/**
 * Rate limits and locks that cannot get stuck, on Redis.
 *
 * ```js
 * const client = new Client('redis://127.0.0.1:6379')
 * const checkout = client.limiter('checkout', '10/minute;100/hour')
 * const { allowed, retryAfterMs } = await checkout.consume('user:42')
 * await using lock = await client.lock('sku:42', { waitMs: 5000 })
 * ```
 *
 * Durations are whole milliseconds. Whatever is wrong with a call rejects its promise, never throws; what does no I/O (making
 * a client, a limiter or a reservation, `assertHeld`, `raiseFloor`) throws.
 */

/** How a rule counts. */
export type Algorithm = 'fixed-window' | 'calendar-window' | 'sliding-window' | 'token-bucket' | 'sliding-log'

/** One rule of a policy: at most `limit` per `periodMs`. */
export interface Rule {
  /** The amount per period, 1 to 2^52. */
  readonly limit: number
  /** The period in milliseconds, 1 ms to 36,500 days. */
  readonly periodMs: number
  /** How the rule counts; `fixed-window` if left out. */
  readonly algorithm?: Algorithm
  /** For a token bucket only: the most that may be consumed at once, 1 to 2^52; the limit if left out or null. */
  readonly capacity?: number | null
}

/** What a limiter decides by: text such as `10/minute;100/hour`, a rule, or several that must all admit a call. */
export type Policy = string | Rule | readonly Rule[]

/** A key: text, taken as UTF-8, or bytes, taken as they are; 1 to 1,024 bytes. */
export type Key = string | Uint8Array

/** What is answered when Redis cannot: an error, yes, no, or what this process' own memory says. */
export type OnError = 'raise' | 'open' | 'closed' | 'local'

/** Who answered: Redis, the store of `memory://`, or, while Redis could not, what `onError` says. */
export type Source = 'redis' | 'memory' | 'local' | 'open' | 'closed'

/** How a client is made. */
export interface ClientOptions {
  /** What every Redis key starts with; no braces. `ql` if left out. */
  readonly prefix?: string
  /** The time in milliseconds that a call may take, connecting included: 1 ms to 1 hour. 500 if left out. */
  readonly timeoutMs?: number
  /** What is answered when Redis cannot. `raise` if left out. */
  readonly onError?: OnError
  /** How long in milliseconds a call with a request id is remembered: 1 ms to 1 day. 60,000 if left out. */
  readonly requestMemoryMs?: number
}

/** How a limiter is made, besides its name and policy. */
export interface LimiterOptions {
  /**
   * What all keys of the limiter share as their hash tag, 1 to 1,024 bytes, so that they lie in one slot of a cluster and
   * can be charged together with those of other limiters of that scope. If left out, each key is its own.
   */
  readonly scope?: Key
  /**
   * Whether the policy is enforced; true if left out. If not, every call passes, and {@link Decision.wouldDeny} tells what
   * would have been denied, and was charged nothing: for trying a policy out on real traffic.
   */
  readonly enforce?: boolean
}

/**
 * The id of a request, such as a UUID: 1 to 256 bytes. A call with one is charged once: the same id for the same key gets
 * the first answer again while it is remembered ({@link ClientOptions.requestMemoryMs}), also when the first reply was
 * lost. A denied call charged nothing, so it is decided anew.
 */
export type RequestId = string | Uint8Array

/** What one key is charged by {@link Client.consumeAll}: a cost of 1 to 2^52, 1 if left out. */
export type Charge = readonly [limiter: Limiter, key: Key, cost?: number]

/** What becomes of a reservation that nobody settles: it counts as spent, or is given back. */
export type Unsettled = 'spent' | 'returned'

/** How a call is made. */
export interface CallOptions {
  /** How much is asked for, 0 to 2^52. 1 if left out; 0 only looks. */
  readonly cost?: number
  /** Rejects the call with the signal's reason when it fires. A call that is on its way may still be counted. */
  readonly signal?: AbortSignal
}

/** How a consume is made. */
export interface ConsumeOptions extends CallOptions {
  /** Charges once for this id. */
  readonly requestId?: RequestId
}

/** How several keys are charged. */
export interface ConsumeAllOptions {
  /** Charges once for this id, which is remembered under the first key. */
  readonly requestId?: RequestId
  /** Rejects the call with the signal's reason when it fires. A call that is on its way may still be counted. */
  readonly signal?: AbortSignal
}

/** How a refund is made. */
export interface RefundOptions {
  /** Gives back once for this id. */
  readonly requestId?: RequestId
}

/** How an estimate is reserved. */
export interface ReserveOptions {
  /** How long the estimate is held at most, in milliseconds: 1 ms to 36,500 days. */
  readonly ttlMs: number
  /** What becomes of it if nobody settles it by then. `spent` if left out. */
  readonly unsettled?: Unsettled
}

/** How a call waits. */
export interface WaitOptions extends CallOptions {
  /** How long to wait at most, in milliseconds. */
  readonly timeoutMs: number
}

/**
 * How sure a handle is of its lock: never acquired or released; held for certain until the deadline; held until then, but the
 * last renewal failed; or not held any more, and not by a release.
 */
export type LockState = 'released' | 'held' | 'uncertain' | 'lost'

/** How long an acquisition waits, and what ends it. */
export interface AcquireOptions {
  /** How long to wait at most, in milliseconds; if left out as the lock was made, 0 does not wait. */
  readonly waitMs?: number
  /**
   * Rejects the acquisition with the signal's reason when it fires. Nothing of it stays behind, also if the lock was granted in
   * that moment. It has no effect on a lock that is held already.
   */
  readonly signal?: AbortSignal
}

/** How a lock over several servers is made and, unless `acquire` is false, acquired. */
export interface QuorumOptions extends AcquireOptions {
  /** For how long a grant lasts unless it is renewed, in milliseconds: 10 ms to 7 days. 30,000 if left out. */
  readonly ttlMs?: number
  /**
   * Whether a grant is renewed at a third of its ttl, on a thread of Quotalock's, so also while this one is busy. True if left
   * out. If not, it ends at its deadline, and a handle that is forgotten leaves the lock to that.
   */
  readonly renew?: boolean
  /** For how long it is renewed at most, in milliseconds: a stuck holder does not block the others for ever. An hour if left out. */
  readonly maxHoldMs?: number
  /** Every fencing token is larger than this, 0 to 2^52. 0 if left out. */
  readonly floor?: number
  /** What {@link Lock.inspect} shows of the holder beside its host and process: up to 128 bytes. Empty if left out. */
  readonly label?: string
  /**
   * Whether to acquire at once, and reject if that fails; true if left out. With false the handle holds nothing yet: for
   * {@link Lock.acquire} as a try, {@link Lock.run}, {@link Lock.inspect} and {@link Lock.forceRelease}.
   */
  readonly acquire?: boolean
}

/** How a lock is made and, unless `acquire` is false, acquired. */
export interface LockOptions extends QuorumOptions {
  /** Whether those who wait are served in the order in which they came. False if left out. */
  readonly fair?: boolean
  /** How many replicas must have a grant before it counts. 0 if left out. */
  readonly replicasAck?: number
  /** How long an acquisition waits for them, in milliseconds: 1 ms to a minute. 100 if left out. */
  readonly ackTimeoutMs?: number
}

/** How permits of a semaphore are taken. */
export interface SemaphoreOptions extends LockOptions {
  /** How many permits to take, all or none: 1 to as many as there are. 1 if left out. */
  readonly weight?: number
}

/** What {@link Lock.run} calls while it holds the lock. */
export type Holding<T> = (lock: Lock) => T | PromiseLike<T>

/** A client of one Redis, or of this process' memory. Making one does no I/O: it connects at the first call. */
export class Client implements Disposable, AsyncDisposable {
  /**
   * Makes a client.
   * @param url `redis://`, `rediss://`, `unix://` or `memory://`; if left out the environment variable `QUOTALOCK_URL`, then
   * `redis://127.0.0.1:6379`.
   * @param options the prefix, the timeout, what is answered when Redis cannot, and how long requests are remembered.
   * @throws {InvalidArgumentError} for a URL or an option that cannot be.
   */
  constructor(url?: string, options?: ClientOptions)
  /** The host and port, socket path or `memory://` that this client talks to; never a password. */
  readonly server: string
  /** What every Redis key starts with. */
  readonly prefix: string
  /**
   * Makes a limiter.
   * @param name part of its Redis keys: limiters of one name and prefix share their state.
   * @param policy what it decides by.
   * @param options the scope of its keys, and whether the policy is enforced.
   * @throws {InvalidArgumentError} for an empty or too long name or scope.
   * @throws {InvalidPolicyError} for a policy that cannot be.
   */
  limiter(name: string, policy: Policy, options?: LimiterOptions): Limiter
  /**
   * Charges several keys, each by its own limiter and with its own cost, if all of them admit it, else none, in one atomic
   * call: 1 to 100 charges of limiters of this client, no key twice for one limiter. In a cluster the limiters need a
   * common {@link LimiterOptions.scope}; without one the call is rejected with {@link CrossSlotError}.
   */
  consumeAll(charges: readonly Charge[], options?: ConsumeAllOptions): Promise<CombinedDecision>
  /**
   * Acquires a mutex: one holder at a time, until it releases or its lease ends.
   *
   * ```js
   * await using lock = await client.lock('sku:42', { waitMs: 5000 })
   * ```
   *
   * Rejects with {@link NotAcquiredError} if it is not granted within `waitMs`, and as {@link Lock.acquire} does; with
   * {@link InvalidArgumentError} for an empty name, one over 1,024 bytes, or an option that cannot be.
   */
  lock(name: Key, options?: LockOptions): Promise<Lock>
  /**
   * Acquires several mutexes, all or none, in one call: 1 to 100 names, none twice, in any order. No two callers can wait for
   * each other. In a cluster the names must lie in one slot, else this is rejected with {@link CrossSlotError}.
   */
  lockAll(names: readonly Key[], options?: LockOptions): Promise<Lock>
  /**
   * Acquires `weight` of a semaphore's `permits` (1 to 2^31 - 1, and at most 1,024 holders at once). All who use it must give
   * the same number of permits.
   */
  semaphore(name: Key, permits: number, options?: SemaphoreOptions): Promise<Lock>
  /** Acquires a read-write lock for reading: beside other readers, up to 1,024, but not after a writer who waits. */
  readLock(name: Key, options?: LockOptions): Promise<Lock>
  /** Acquires a read-write lock for writing: alone. */
  writeLock(name: Key, options?: LockOptions): Promise<Lock>
  /** Closes the connections; calls under way and later ones are rejected with `closed`. Closing twice does nothing. */
  close(): Promise<void>
  [Symbol.dispose](): void
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Decides for keys by one policy. Made by {@link Client.limiter}.
 *
 * All calls can be rejected with `unavailable`, `timeout`, `not_permitted`, `wrong_type` and `closed`, and with
 * `invalid_argument` before anything is sent.
 */
export class Limiter {
  private constructor()
  /** The name given. */
  readonly name: string
  /** The policy in its canonical form. */
  readonly policy: string
  /** The scope given, bytes as a copy; null if there is none. */
  readonly scope: string | Buffer | null
  /** Whether the policy is enforced. */
  readonly enforce: boolean
  /** Charges `cost` to every rule if all admit it, else to none. A cost above a limit is denied for ever. */
  consume(key: Key, options?: ConsumeOptions): Promise<Decision>
  /**
   * Charges as much as is admitted now, up to `most` (1 to 2^52); {@link Decision.cost} tells how much. Denied if that is
   * nothing.
   */
  consumeUpTo(key: Key, most: number): Promise<Decision>
  /**
   * Charges `estimate` (1 to 2^52) as {@link consume} does, and holds it for `ttlMs`: until then {@link Reservation.settle}
   * puts the actual amount in its place. If it is denied nothing is held.
   */
  reserve(key: Key, estimate: number, options: ReserveOptions): Promise<Reservation>
  /**
   * The reservation of this key and id, made by {@link reserve} here or in another process. Does no I/O.
   * @throws {InvalidArgumentError} for a bad key, or an id that is not 32 hexadecimal digits.
   */
  reservation(key: Key, id: string): Reservation
  /** Tells what a consume of `cost` would answer, and never writes. */
  peek(key: Key, options?: CallOptions): Promise<Decision>
  /** As {@link consume}, but a denial is rejected with {@link RateLimitedError}. */
  require(key: Key, options?: CallOptions): Promise<Decision>
  /**
   * As {@link consume}, and after a denial sleeps as `retryAfterMs` says and tries again. Ends with a denial at once when
   * the next chance lies behind `timeoutMs`.
   */
  wait(key: Key, options: WaitOptions): Promise<Decision>
  /** Gives back `amount`, 1 to 2^52, of what was consumed. Answers what a peek right after it would. */
  refund(key: Key, amount: number, options?: RefundOptions): Promise<Decision>
  /**
   * Denies everything for `durationMs`, 1 ms to 36,500 days, in place of an earlier block. Answers what a peek right after
   * it would. Fails whatever `onError` says.
   */
  block(key: Key, durationMs: number): Promise<Decision>
  /** Forgets everything about `key`, a block included; true if there was anything. Fails whatever `onError` says. */
  reset(key: Key): Promise<boolean>
  /**
   * The Redis key that holds the state of `key`.
   * @throws {InvalidArgumentError} for an empty key or one over 1,024 bytes.
   */
  redisKey(key: Key): Buffer
}

/** An amount held by {@link Limiter.reserve}. Any process that knows its limiter, key and id can settle it. */
export class Reservation {
  private constructor()
  /** The key that the estimate was charged to, bytes as a copy. */
  readonly key: string | Buffer
  /** The id: 32 hexadecimal digits. */
  readonly id: string
  /** What the limiter answered; null if this was made by {@link Limiter.reservation}. */
  readonly decision: Decision | null
  /** Whether the estimate was admitted, as `decision` says; null if that is null. */
  readonly allowed: boolean | null
  /**
   * Puts the `actual` amount, 0 to 2^52, in the place of the estimate: what was too much is given back to the rules that
   * still count it, what was too little is charged whatever the limit. False, and nothing changed, if the reservation had
   * ended or was settled with another amount. Settling again with the same amount is true, so it may be repeated after an
   * error. Fails whatever `onError` says.
   */
  settle(actual: number): Promise<boolean>
  /** Gives the whole estimate back: {@link settle} with 0. */
  cancel(): Promise<boolean>
}

/**
 * A handle for a lock, made by {@link Client.lock} and its neighbours. It is acquired by one caller at a time, can be acquired
 * again after a release, and is not re-entrant.
 *
 * A lock is a lease: it ends by itself when nobody renews it. What the handle knows of it (`state`, `held`, `remainingMs`) is
 * from this process' clock, and errs on the safe side. What it protects is safe from a holder that was paused if it refuses
 * a fencing `token` smaller than the largest it has seen.
 *
 * A process ends by itself while it holds a lock but waits for none: the lock then ends with its ttl at the latest. A handle
 * that is garbage-collected while it holds is released in the background, if it renews; one whose `signal` was asked for is
 * not collected before it is released or lost.
 */
export class Lock implements AsyncDisposable {
  private constructor()
  /** The names given, bytes as copies. */
  readonly names: readonly (string | Buffer)[]
  /** The Redis keys, one for each name. */
  readonly redisKeys: Buffer[]
  /** For how long a grant lasts unless it is renewed, in milliseconds. */
  readonly ttlMs: number
  /**
   * The fencing token of the grant, larger than that of every grant of the name before; null if it was never acquired, or is
   * released. It stays after a loss.
   */
  readonly token: number | null
  /** What the handle knows, without asking anybody. */
  readonly state: LockState
  /** Whether it is held for certain now. */
  readonly held: boolean
  /** For how many milliseconds it is held for certain unless it is renewed, rounded down; 0 if it is not. */
  readonly remainingMs: number
  /**
   * Fires once when the lock is lost: taken away, or not renewed before its deadline. Its reason is a {@link LostError}. Each
   * grant has its own: before the first and after a release this is the signal of the grant to come, after a loss it is the
   * fired one until the next grant. It never fires for a release.
   */
  readonly signal: AbortSignal
  /**
   * Acquires: true if it is held now, false if it was not granted in time. Rejects with `invalid_argument` if this handle holds
   * it or another acquisition of it is under way, and with `unavailable`, `timeout`, `not_permitted`, `wrong_type`,
   * `cross_slot` or `closed`; then nothing is left behind.
   */
  acquire(options?: AcquireOptions): Promise<boolean>
  /**
   * Releases: true if it was held until now; false if it was lost, released already, or never held. Renewal stops at once. If it
   * is rejected (`unavailable`, `timeout`, `not_permitted`, `wrong_type`, `closed`) the lock ends with its ttl at the latest.
   */
  release(): Promise<boolean>
  /** Extends the lease to at least `ttlMs` (if left out, the lock's own) from now: false if it was lost. It never shortens. */
  extend(ttlMs?: number): Promise<boolean>
  /**
   * Does nothing if it is held for certain now, without asking anybody.
   * @throws {LostError} if it is not.
   */
  assertHeld(): void
  /**
   * Has every later token be larger than `floor`: for when the resource has seen a larger one than the lock gave.
   * @throws {InvalidArgumentError} for a floor that is not 0 to 2^52.
   */
  raiseFloor(floor: number): void
  /** Who holds it (of several, the first), and how many wait. */
  inspect(): Promise<Inspection>
  /**
   * Takes it away from whoever holds it, and answers from how many. For operators: the holders learn of it as a loss when they
   * next renew or extend.
   */
  forceRelease(): Promise<number>
  /**
   * Acquires it, unless it is held, calls `fn`, releases it whatever happens, and resolves with what `fn` returned. Rejects with
   * {@link NotAcquiredError} if it is not granted in time, with what `fn` threw, and with {@link LostError} if `fn` did not throw
   * but the lock was lost meanwhile.
   */
  run<T>(fn: Holding<T>, options?: AcquireOptions): Promise<T>
  /** Releases. */
  [Symbol.asyncDispose](): Promise<void>
}

/** One who holds a lock. */
export class Holder {
  private constructor()
  /** The host it runs on; empty if it did not say. */
  readonly host: string
  /** Its process there. */
  readonly pid: number
  /** What it calls itself. */
  readonly label: string
  /** Its fencing token. */
  readonly token: number
  /** How many permits it has. */
  readonly permits: number
  /** When it was granted, in milliseconds since the epoch by the server's clock. */
  readonly sinceMs: number
  /** When it ends unless it is renewed, likewise. */
  readonly untilMs: number
}

/** Who holds a lock, and who waits. */
export class Inspection {
  private constructor()
  /** The last fencing token given; 0 if none is remembered. */
  readonly token: number
  /** How many wait by the server's knowledge: one of each process. */
  readonly waiters: number
  /** Those who hold, the first first. */
  readonly holders: readonly Holder[]
  /** Whether a value stands at the key that is not ours: it counts as none. */
  readonly healed: boolean
}

/** What one rule of a policy says. */
export class RuleDecision {
  private constructor()
  /** Whether this rule admits by itself. */
  readonly allowed: boolean
  /** The rule's limit. */
  readonly limit: number
  /** What this rule would let be consumed now. */
  readonly remaining: number
  /** After how many milliseconds this rule would admit the same call: 0 now, null never. */
  readonly retryAfterMs: number | null
  /** After how many milliseconds this rule is as new. */
  readonly resetAfterMs: number
}

/**
 * The answer of a limiter for one key. For a policy of several rules its numbers are those of the rule that binds: of the
 * denied ones the one with the longest `retryAfterMs`, else the one with the least `remaining`.
 */
export class Decision {
  private constructor()
  /** Whether the call was admitted. A denied call was charged nothing. */
  readonly allowed: boolean
  /** Whether the policy denies, and only its `enforce: false` lets the call pass: it was charged nothing. */
  readonly wouldDeny: boolean
  /** The limit of the rule that binds. */
  readonly limit: number
  /** What could be consumed now; 0 while the key is blocked. */
  readonly remaining: number
  /** After how many milliseconds the same call would be admitted if nobody else called: 0 when admitted, null when never. */
  readonly retryAfterMs: number | null
  /** After how many milliseconds the rule that binds is as new, and a block over; `rules` has the others'. */
  readonly resetAfterMs: number
  /** The cost that was asked for; of {@link Limiter.consumeUpTo} what was taken. */
  readonly cost: number
  /** Who answered. */
  readonly source: Source
  /** Whether a value that was not ours stood at the key and was replaced. */
  readonly healed: boolean
  /** The answer of each rule, in the order of the policy. */
  readonly rules: readonly RuleDecision[]
}

/** The answer of {@link Client.consumeAll} about several keys, charged all or none. */
export class CombinedDecision {
  private constructor()
  /** Whether all were admitted, and charged. If not, none was. */
  readonly allowed: boolean
  /** Whether a limiter that is not enforced denies. */
  readonly wouldDeny: boolean
  /**
   * The place of the decision that binds: of the denied ones the one with the longest `retryAfterMs`, else the one with the
   * least `remaining`.
   */
  readonly binding: number
  /** After how many milliseconds the same call would be admitted if nobody else called: 0 when admitted, null when never. */
  readonly retryAfterMs: number | null
  /** Who answered. */
  readonly source: Source
  /** The decision about each key, in the order given. */
  readonly decisions: readonly Decision[]
}

/**
 * Limits in one line, with a client of the environment's (`QUOTALOCK_URL`) that is made at the first call. Charges `cost` to
 * `key` under the limiter `name` and `policy`, and answers as {@link Limiter.consume} does.
 */
export function limit(name: string, key: Key, policy: Policy, options?: CallOptions): Promise<Decision>

/**
 * Acquires a mutex over several independent servers, one for each of `clients` (3 to 15, better an odd number): held if most of
 * them granted it within its ttl, so it survives the loss of the others.
 *
 * Each server has a twentieth of the ttl to answer. Who waits asks again every 10 to 50 ms. A server that was started less than
 * a ttl ago and keeps no append-only file has no vote. Rejects as {@link Client.lock}, and with {@link InvalidArgumentError} for
 * too few or too many clients, or one that is there twice.
 */
export function quorumLock(clients: readonly Client[], name: Key, options?: QuorumOptions): Promise<Lock>

/** For tests of Quotalock and of what uses it. */
export const testing: {
  /**
   * Sets the time, in microseconds since the epoch (1 to 2^52), at which every later call of a client is decided, also on a
   * real server; null goes back to the server's clock.
   */
  setTime(client: Client, micros: number | null): void
  /** Replaces what stands at a Redis key: a raw string or a list, without a TTL; `persist` only takes away the TTL. */
  put(client: Client, redisKey: Key, kind: 'string' | 'list' | 'persist', value: Key): Promise<void>
  /** What stands at a Redis key, with the milliseconds until it goes (null: no TTL); null if there is nothing. */
  get(client: Client, redisKey: Key): Promise<{ value: Buffer; ttlMs: number | null } | null>
}

/** What can go wrong; stable, and the same in every language. */
export type Code =
  | 'invalid_argument'
  | 'invalid_policy'
  | 'unavailable'
  | 'timeout'
  | 'wrong_type'
  | 'cross_slot'
  | 'not_permitted'
  | 'limited'
  | 'not_acquired'
  | 'lost'
  | 'load_failed'
  | 'closed'
  | 'internal'

/** What all errors of this package are. The message names the value, key or host, and the cure. */
export class QuotalockError extends Error {
  constructor(message?: string)
  /** The kind of the error. */
  readonly code: Code
}

/** A value that can never be right: an empty key, a negative cost, a URL that cannot be. */
export class InvalidArgumentError extends QuotalockError {
  readonly code: 'invalid_argument'
}

/** A policy that does not parse or has an impossible amount, period or unit. */
export class InvalidPolicyError extends QuotalockError {
  readonly code: 'invalid_policy'
}

/** Redis could not be reached, went away, or refused to work for now. */
export class UnavailableError extends QuotalockError {
  readonly code: 'unavailable'
}

/** No answer came in time. */
export class TimeoutError extends QuotalockError {
  readonly code: 'timeout'
}

/** The key in Redis is of a type that is not ours. */
export class WrongTypeError extends QuotalockError {
  readonly code: 'wrong_type'
}

/** The keys of one call lie in different slots of a cluster. */
export class CrossSlotError extends QuotalockError {
  readonly code: 'cross_slot'
}

/** Redis refused the password, the user or a command. */
export class NotPermittedError extends QuotalockError {
  readonly code: 'not_permitted'
}

/** {@link Limiter.require} was denied. */
export class RateLimitedError extends QuotalockError {
  constructor(message: string, decision: Decision)
  readonly code: 'limited'
  /** The decision that denied. */
  readonly decision: Decision
}

/** A lock was not acquired in time. The message says who holds it. */
export class NotAcquiredError extends QuotalockError {
  readonly code: 'not_acquired'
}

/** A lock was lost, or is not held. */
export class LostError extends QuotalockError {
  readonly code: 'lost'
}

/** Whoever was loading the value of a cache has failed, a short time ago. */
export class LoadFailedError extends QuotalockError {
  readonly code: 'load_failed'
}

/** The client was closed. */
export class ClosedError extends QuotalockError {
  readonly code: 'closed'
}

/** A fault of Quotalock's own. */
export class InternalError extends QuotalockError {
  readonly code: 'internal'
}
