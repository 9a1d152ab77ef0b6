/// <reference types="node" />

/**
 * Rate limits that cannot get stuck, and locks that end, on Redis.
 *
 * ```js
 * const client = new Client('redis://127.0.0.1:6379')
 * const checkout = client.limiter('checkout', '10/minute;100/hour')
 * const { allowed, retryAfterMs } = await checkout.consume('user:42')
 * await using lock = await client.lock('sku:42', { waitMs: 5000 })
 * const taken = await client.stock('sale:42').take('user:42', { quantity: 2 })
 * const page = await client.cache('pages', { freshMs: 60_000 }).get('/', render)
 * ```
 *
 * Durations are whole milliseconds. A call that does I/O never throws: its promise is rejected. What does no I/O (making a
 * client, a limiter, a reservation, a stock, a once or a cache, `assertHeld`, `raiseFloor`, `redisKey`) throws.
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
  readonly algorithm?: Algorithm | undefined
  /** For a token bucket only: the most that may be consumed at once, 1 to 2^52; the limit if left out or null. */
  readonly capacity?: number | null | undefined
}

/** What a limiter decides by: text such as `10/minute;100/hour`, a rule, or several that must all admit a call. */
export type Policy = string | Rule | readonly Rule[]

/** A key: text, taken as UTF-8, or bytes, taken as they are; 1 to 1,024 bytes. */
export type Key = string | Uint8Array

/** What a limiter answers when Redis cannot: an error, yes, no, or what this process' own memory says. */
export type OnError = 'raise' | 'open' | 'closed' | 'local'

/**
 * Who answered: Redis; the store of `memory://`; this process, from permits of a lease, or since Redis denied the same a moment ago
 * (`deny-cache`); or, while Redis could not answer, what `onError` says.
 */
export type Source = 'redis' | 'memory' | 'lease' | 'local' | 'open' | 'closed' | 'deny-cache'

/** How a client is made. */
export interface ClientOptions {
  /** What every Redis key starts with; no braces. `ql` if left out. */
  readonly prefix?: string | undefined
  /** The time in milliseconds that a call may take, connecting included: 1 ms to 1 hour. 500 if left out. */
  readonly timeoutMs?: number | undefined
  /** What a limiter answers when Redis cannot. `raise` if left out. */
  readonly onError?: OnError | undefined
  /** How long in milliseconds a call with a request id is remembered: 1 ms to 1 day, and as long as the timeout at least. 60,000 if left out. */
  readonly requestMemoryMs?: number | undefined
  /**
   * Tells the password, where the URL gives none. It is called when a connection first logs in, and again when the server refuses
   * what it told; calls wait for it within their time. What it throws, they throw.
   */
  readonly password?: (() => string | PromiseLike<string>) | undefined
  /**
   * After Redis has denied a call, this process answers the same one itself until it can be admitted, for so many
   * milliseconds at most: up to 1 minute; 0 asks every time. 1,000 if left out.
   */
  readonly denyCacheMaxMs?: number | undefined
  /**
   * Is called after each decision of this client's limiters that charges or denies, right before the caller has it, with the key as
   * it was given. Not for what only looks, nor for a call that fails or is aborted. What it throws changes nothing: it is a warning
   * of the process (`QUOTALOCK_HOOK`). It is not awaited.
   */
  readonly onDecision?: ((decision: Decision, key: Key) => void) | undefined
  /** Is called when a lock of this client turns out to be lost, once for each grant; otherwise as `onDecision`. */
  readonly onLost?: ((lock: Lock) => void) | undefined
  /**
   * Whether this process tells Redis once a second, in the background, what the client's limiters decided, and which keys they
   * denied most often: for `quotalock top`. What has no room or cannot be sent is dropped and counted. False if left out.
   */
  readonly report?: boolean | undefined
}

/** How a limiter is made, besides its name and policy. */
export interface LimiterOptions {
  /**
   * What all keys of the limiter share as their hash tag, 1 to 1,024 bytes, so that they lie in one slot of a cluster and
   * can be charged together with those of other limiters of that scope. If left out, each key is its own.
   */
  readonly scope?: Key | undefined
  /**
   * Whether the policy is enforced; true if left out. If not, every call passes, and {@link Decision.wouldDeny} tells which
   * would have been denied; those were charged nothing. Use it to try a policy on real traffic.
   */
  readonly enforce?: boolean | undefined
  /**
   * How many permits are taken from Redis at once at most, to be spent in this process without a call: 2 to the smallest
   * capacity of the policy. If left out, each call asks. Sliding windows and logs refuse a lease.
   */
  readonly lease?: number | undefined
}

/**
 * The id of a request, such as a UUID: 1 to 256 bytes. A call with one is charged once: the same id for the same key gets the
 * first answer again while it is remembered ({@link ClientOptions.requestMemoryMs}), also when the first reply was lost. A
 * denied call charged nothing, so it is decided again.
 */
export type RequestId = string | Uint8Array

/** What one key is charged by {@link Client.consumeAll}: a cost of 1 to 2^52, 1 if left out. */
export type Charge = readonly [limiter: Limiter, key: Key, cost?: number]

/** What becomes of a reservation that nobody settles: it counts as spent, or is given back. */
export type Unsettled = 'spent' | 'returned'

/** How a call is made. */
export interface CallOptions {
  /** How much is asked for, 0 to 2^52. 1 if left out; 0 only looks. */
  readonly cost?: number | undefined
  /** Rejects the call with the signal's reason when it fires. A call that is on its way may still be counted. */
  readonly signal?: AbortSignal | undefined
}

/** How a consume is made. */
export interface ConsumeOptions extends CallOptions {
  /** Charges once for this id. */
  readonly requestId?: RequestId | undefined
}

/** How several keys are charged. */
export interface ConsumeAllOptions {
  /** Charges once for this id, which is remembered under the first key. */
  readonly requestId?: RequestId | undefined
  /** Rejects the call with the signal's reason when it fires. A call that is on its way may still be counted. */
  readonly signal?: AbortSignal | undefined
}

/** How a refund is made. */
export interface RefundOptions {
  /** Gives back once for this id. */
  readonly requestId?: RequestId | undefined
}

/** How an estimate is reserved. */
export interface ReserveOptions {
  /** How long the estimate is held at most, in milliseconds: 1 ms to 36,500 days. */
  readonly ttlMs: number
  /** What becomes of it if nobody settles it by then. `spent` if left out. */
  readonly unsettled?: Unsettled | undefined
}

/** How a call waits. */
export interface WaitOptions extends CallOptions {
  /** How long to wait at most, in milliseconds. */
  readonly timeoutMs: number
}

/**
 * How sure a handle is of its lock: never acquired or released; held for certain until the deadline; held until then, but the
 * last renewal failed; or no longer held, without a release.
 */
export type LockState = 'released' | 'held' | 'uncertain' | 'lost'

/** How long an acquisition waits, and what ends it. */
export interface AcquireOptions {
  /** How long to wait at most, in milliseconds; if left out as the lock was made, 0 does not wait. */
  readonly waitMs?: number | undefined
  /**
   * Rejects the acquisition with the signal's reason when it fires. It leaves nothing behind, even if the lock was granted at
   * that moment. It has no effect on a lock that is already held.
   */
  readonly signal?: AbortSignal | undefined
}

/** How a lock over several servers is made and, unless `acquire` is false, acquired. */
export interface QuorumOptions extends AcquireOptions {
  /** For how long a grant lasts unless it is renewed, in milliseconds: 10 ms to 7 days. 30,000 if left out. */
  readonly ttlMs?: number | undefined
  /**
   * Whether a grant is renewed at a third of its ttl, by a thread of Quotalock, even while this one is busy. True if left out.
   * If not, the lock ends at its deadline, also when you drop the handle.
   */
  readonly renew?: boolean | undefined
  /**
   * For how long it is renewed at most, in milliseconds, so that a stuck holder does not block the others forever. An hour if
   * left out.
   */
  readonly maxHoldMs?: number | undefined
  /** Every fencing token is larger than this, 0 to 2^52. 0 if left out. */
  readonly tokenAbove?: number | undefined
  /** What {@link Lock.inspect} shows of the holder beside its host and process: up to 128 bytes. Empty if left out. */
  readonly label?: string | undefined
  /**
   * Whether to acquire at once, and reject if that fails; true if left out. With false the handle holds nothing yet: for
   * {@link Lock.acquire} as a try, {@link Lock.run}, {@link Lock.inspect} and {@link Lock.forceRelease}.
   */
  readonly acquire?: boolean | undefined
}

/** How a lock is made and, unless `acquire` is false, acquired. */
export interface LockOptions extends QuorumOptions {
  /** Whether waiters are served in order of arrival. False if left out. */
  readonly fair?: boolean | undefined
  /** How many replicas must have a grant before it counts. 0 if left out. */
  readonly replicasAck?: number | undefined
  /** How long an acquisition waits for them, in milliseconds: 1 ms to a minute. 100 if left out. */
  readonly ackTimeoutMs?: number | undefined
}

/** How permits of a semaphore are taken. */
export interface SemaphoreOptions extends LockOptions {
  /** How many permits to take, all or none: 1 to as many as there are. 1 if left out. */
  readonly weight?: number | undefined
}

/** What {@link Lock.run} calls while it holds the lock. */
export type Holding<T> = (lock: Lock) => T | PromiseLike<T>

/** How a stock is made. */
export interface StockOptions {
  /**
   * What all keys of the stock share as their hash tag, so that several stocks lie in one slot of a cluster, and one call can
   * take from them. It is part of where the sale is kept: all handles of a sale have the same. If left out, each is its own.
   */
  readonly scope?: Key | undefined
  /** How many entries the ledger keeps, about: 1,000 to 100,000,000; 100,000 if left out. Counts when the sale is opened. */
  readonly ledgerCap?: number | undefined
  /**
   * For how many milliseconds after its end, its last hold and the last call that wrote the sale is kept: a minute to 36,500
   * days; 30 days if left out. Counts when the sale is opened.
   */
  readonly retentionMs?: number | undefined
}

/** How a sale is opened, besides its quantity. */
export interface OpenOptions {
  /** The most units that one buyer holds and has bought; as many as there are if left out or null. */
  readonly perBuyer?: number | null | undefined
  /**
   * When takes end, in milliseconds since the epoch by the server's clock; never if left out or null. Confirming stays
   * possible.
   */
  readonly endsMs?: number | null | undefined
  /**
   * Something for each unit (a coupon code, a seat), of which each reservation gets its own in this order: 1 to 1,024 bytes
   * each, 10,000 at once.
   */
  readonly prizes?: readonly (string | Uint8Array)[] | undefined
}

/** How units are added to a sale. */
export interface RestockOptions {
  /** One for each unit, if the sale has prizes. */
  readonly prizes?: readonly (string | Uint8Array)[] | undefined
  /** Adds once for this id. */
  readonly requestId?: RequestId | undefined
}

/** How units of several stocks are taken. */
export interface TakeAllOptions {
  /** For how many milliseconds they are held: 1 ms to 30 days; 600,000 if left out. */
  readonly holdMs?: number | undefined
  /** Takes once for this id. */
  readonly requestId?: RequestId | undefined
}

/** How units are taken. */
export interface TakeOptions extends TakeAllOptions {
  /** How many, all or none; 1 if left out. */
  readonly quantity?: number | undefined
}

/** Which page of reservations. */
export interface PageOptions {
  /** The {@link StockPage.next} of the page before; the first page if left out or null. */
  readonly cursor?: string | null | undefined
  /** How many at most, 1 to 1,000; 100 if left out. */
  readonly count?: number | undefined
}

/** Which entries of a ledger. */
export interface LedgerOptions {
  /** The id of the entry before; from the first that is kept if left out or null. */
  readonly after?: string | null | undefined
  /** How many at most, 1 to 1,000; 100 if left out. */
  readonly count?: number | undefined
}

/** So many units of a stock. */
export type Take = readonly [stock: Stock, quantity: number]

/** A reservation of a stock, by its id. */
export type Held = readonly [stock: Stock, id: string]

/** The outcome of a take: only `held` holds anything. */
export type TakeOutcome = 'held' | 'sold_out' | 'buyer_limit' | 'not_open' | 'ended'

/** Where a sale stands: never opened or forgotten, open, or closed or past its `endsMs`, when holds can still be confirmed. */
export type StockPhase = 'not_open' | 'open' | 'ended'

/** What an entry of a ledger is about. */
export type LedgerKind = 'opened' | 'restocked' | 'held' | 'confirmed' | 'cancelled' | 'expired' | 'extended' | 'closed'

/** How a `once` is made. */
export interface OnceOptions {
  /** For how many milliseconds a claim or a result is remembered: 1 ms to 3,650 days. A day if left out. */
  readonly ttlMs?: number | undefined
  /**
   * How long the others wait for a caller that dies, in milliseconds: 10 ms to an hour; 10,000 if left out. It is not renewed,
   * so make it longer than the function runs.
   */
  readonly leaseMs?: number | undefined
  /** For how many milliseconds the error of a run is remembered, up to an hour. 0 if left out: the next caller runs at once. */
  readonly errorTtlMs?: number | undefined
}

/** How a cache is made. */
export interface CacheOptions {
  /** For how many milliseconds a value is fresh: 1 ms to 3,650 days. 60,000 if left out. */
  readonly freshMs?: number | undefined
  /** For how long it is served after that while one caller loads a new one. 0 if left out. */
  readonly staleMs?: number | undefined
  /**
   * How long a loader keeps the others from loading, in milliseconds: 10 ms to an hour; 10,000 if left out. It is not renewed: a
   * loader that takes longer is joined by another, and what is newer wins.
   */
  readonly leaseMs?: number | undefined
  /** For how long the answer that there is no value is fresh; 0 does not store it. As `freshMs` if left out. */
  readonly negativeMs?: number | undefined
  /** For how long the error of a loader is remembered, and nobody else loads, up to an hour. 1,000 if left out. */
  readonly errorTtlMs?: number | undefined
  /** How eagerly values are refreshed before they are stale: 0 (never) to 100. 1 if left out, which is right for most. */
  readonly beta?: number | undefined
  /**
   * What a `get` does when Redis cannot answer: reject, or load as if there were no cache. If Redis goes away during a load,
   * `raise` rejects although there is a value, and `load` returns the value. `raise` if left out.
   */
  readonly whenAway?: WhenAway | undefined
}

/** What a `get` does when Redis cannot answer. */
export type WhenAway = 'raise' | 'load'

/** How long a caller waits for what another makes. */
export interface GetOptions {
  /**
   * How long at most, in milliseconds, before it is rejected with {@link TimeoutError}; if left out 5,000 more than the
   * `leaseMs`, so that a waiter outlasts a caller that dies.
   */
  readonly waitMs?: number | undefined
  /**
   * Ends a wait when it fires: the promise is rejected with the signal's reason. It does not end a loader, so pass the signal
   * to the loader too. If that loader then fails, no other caller gets its error, and the next caller loads at once.
   */
  readonly signal?: AbortSignal | undefined
}

/** What is stored: text, taken as UTF-8, or bytes; up to 64 MiB. */
export type Value = string | Uint8Array

/** Makes the value of a key; null if there is none. */
export type Load = () => Value | null | PromiseLike<Value | null>

/** Makes the values of these keys; a key without one is known to have none. Return an object only if all keys are text. */
export type LoadMany<K> = (missing: K[]) => Loaded<K> | PromiseLike<Loaded<K>>

/** Values by their keys. */
export type Loaded<K> = ReadonlyMap<K, Value | null> | Readonly<Record<string, Value | null>>

/** Makes what is then kept as JSON; null if there is none. */
export type LoadJson<T> = () => T | PromiseLike<T>

/** What is done once: its result, if any, is what every caller gets. */
export type Deed = () => Value | null | undefined | PromiseLike<Value | null | undefined> | PromiseLike<void>

/** A client of one Redis, or of this process' memory. Making one does no I/O: it connects at the first call. */
export class Client implements Disposable, AsyncDisposable {
  /**
   * Makes a client.
   * @param url as text or as a `URL`: `redis://`, `rediss://`, `unix://`, `memory://`, which all clients of this process share,
   * worker threads included, or `memory://name`, one of its own that is gone when the last of its clients is closed; if left
   * out the environment variable `QUOTALOCK_URL`, then `redis://127.0.0.1:6379`. No error shows its password.
   * @param options the prefix, the timeout, what a limiter answers when Redis cannot, and how long requests are remembered.
   * @throws {InvalidArgumentError} for an invalid URL or option.
   */
  constructor(url?: string | URL, options?: ClientOptions)
  /** The host and port, socket path or `memory://` that this client talks to; never a password. */
  readonly server: string
  /** What every Redis key starts with. */
  readonly prefix: string
  /**
   * Makes a limiter.
   * @param name part of its Redis keys: limiters of one name and prefix share their state.
   * @param policy what it decides by.
   * @param options the scope of its keys, whether the policy is enforced, and how many permits are taken at once.
   * @throws {InvalidArgumentError} for an empty or too long name or scope, and a lease that cannot be.
   * @throws {InvalidPolicyError} for an invalid policy.
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
   * {@link InvalidArgumentError} for an empty name, one over 1,024 bytes, or an invalid option.
   */
  lock(name: Key, options?: LockOptions): Promise<Lock>
  /**
   * Acquires several mutexes, all or none, in one call: 1 to 100 names, none twice, in any order. No two callers can wait for
   * each other. In a cluster the names must lie in one slot, else this is rejected with {@link CrossSlotError}.
   */
  lockAll(names: readonly Key[], options?: LockOptions): Promise<Lock>
  /**
   * Acquires `weight` of a semaphore's `permits` (1 to 2^31 - 1, and at most 1,024 holders at once). Everybody who uses it must
   * give the same number of permits.
   */
  semaphore(name: Key, permits: number, options?: SemaphoreOptions): Promise<Lock>
  /** Acquires a read-write lock for reading: beside other readers, up to 1,024, but not after a waiting writer. */
  readLock(name: Key, options?: LockOptions): Promise<Lock>
  /** Acquires a read-write lock for writing: alone. */
  writeLock(name: Key, options?: LockOptions): Promise<Lock>
  /**
   * Makes a handle of what {@link Lock.handover} wrote, in this process or another one, in any language, and takes the lease
   * over: it has the ttl, the label and the fencing token of the giver, and is renewed for as long as the giver's `maxHoldMs`
   * left. Only one adopts. Rejects with `lost` if the lease is over, was adopted before, or is on another server, and with
   * `invalid_argument` for a text that is none, is damaged, or comes from a client with another prefix.
   */
  adopt(text: string, options?: AdoptOptions): Promise<Lock>
  /**
   * Makes a handle for the units of a sale; {@link Stock.open} makes the sale itself.
   * @throws {InvalidArgumentError} for an empty name, one over 1,024 bytes, or an invalid option.
   */
  stock(name: Key, options?: StockOptions): Stock
  /**
   * Holds units of 1 to 100 stocks of this client for one buyer, or of none: one atomic call. Each reservation is an ordinary
   * one of its stock. In a cluster the stocks need a common {@link StockOptions.scope}, else this is rejected with
   * {@link CrossSlotError}.
   */
  takeAll(takes: readonly Take[], buyer: Key, options?: TakeAllOptions): Promise<TakenAll>
  /**
   * Sells what 1 to 100 reservations hold, or none of it (false) if one of them is over. Otherwise as {@link Stock.confirm}.
   */
  confirmAll(reservations: readonly Held[]): Promise<boolean>
  /**
   * Returns what several reservations hold. Those that hold return even if others are over; true if all of them held, or had
   * been cancelled.
   */
  cancelAll(reservations: readonly Held[]): Promise<boolean>
  /** Lengthens several holds, or none of them (false) if one is over. Otherwise as {@link Stock.extend}. */
  extendAll(reservations: readonly Held[], holdMs?: number): Promise<boolean>
  /**
   * Makes a `once`: work that is done once for each id, in whatever process.
   * @param name part of its Redis keys.
   * @throws {InvalidArgumentError} for an empty name, one over 1,024 bytes, or an invalid option.
   */
  once(name: string, options?: OnceOptions): Once
  /**
   * Makes a cache: on a miss one caller loads the value, in whatever process.
   * @param name part of its Redis keys.
   * @throws {InvalidArgumentError} for an empty name, one over 1,024 bytes, or an invalid option.
   */
  cache(name: string, options?: CacheOptions): Cache
  /**
   * Releases the locks and permits that it holds, within `timeoutMs`, and closes the connections. Calls under way and later
   * ones are rejected with `closed`, and what was held is `lost`. Closing twice does nothing.
   */
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
  /** How many permits it takes from Redis at once at most; null if each call asks. */
  readonly lease: number | null
  /** Charges `cost` to every rule if all admit it, else to none. A cost above a limit is always denied. */
  consume(key: Key, options?: ConsumeOptions): Promise<Decision>
  /**
   * Charges as much as is admitted now, up to `most` (1 to 2^52); {@link Decision.cost} tells how much. Denied if that is
   * nothing.
   */
  consumeUpTo(key: Key, most: number): Promise<Decision>
  /**
   * Charges `estimate` (1 to 2^52) as {@link consume} does, and holds it for `ttlMs`: until then {@link Reservation.settle}
   * replaces it by the actual amount. If it is denied nothing is held.
   */
  reserve(key: Key, estimate: number, options: ReserveOptions): Promise<Reservation>
  /**
   * The reservation of this key and id, made by {@link reserve} here or in another process. Does no I/O.
   * @throws {InvalidArgumentError} for a bad key, or an id that is not 32 hexadecimal digits.
   */
  reservation(key: Key, id: string): Reservation
  /** Returns what a consume of `cost` would return, and never writes. */
  peek(key: Key, options?: CallOptions): Promise<Decision>
  /** As {@link consume}, but a denial is rejected with {@link RateLimitedError}. */
  require(key: Key, options?: CallOptions): Promise<Decision>
  /**
   * As {@link consume}, and after a denial sleeps as `retryAfterMs` says and tries again. Ends with a denial at once when the
   * next chance comes after `timeoutMs`.
   */
  wait(key: Key, options: WaitOptions): Promise<Decision>
  /** Gives back `amount`, 1 to 2^52, of what was consumed. Returns what a peek right after it would return. */
  refund(key: Key, amount: number, options?: RefundOptions): Promise<Decision>
  /**
   * Denies everything for `durationMs`, 1 ms to 36,500 days, in place of an earlier block. Returns what a peek right after it
   * would return. Fails whatever `onError` says.
   */
  block(key: Key, durationMs: number): Promise<Decision>
  /**
   * Forgets everything about `key`, including a block and reservations; true if there was anything. Fails whatever `onError`
   * says.
   */
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
   * Replaces the estimate by the `actual` amount, 0 to 2^52. An excess is given back to the rules that still count it, a
   * shortfall is charged whatever the limit. False, and nothing changed, if the reservation had ended or was settled with
   * another amount. Settling again with the same amount is true, so you may repeat it after an error. Fails whatever `onError`
   * says.
   */
  settle(actual: number): Promise<boolean>
  /** Gives the whole estimate back: {@link settle} with 0. */
  cancel(): Promise<boolean>
}

/**
 * A handle for a lock, made by {@link Client.lock} and its neighbours. It is acquired by one caller at a time, can be acquired
 * again after a release, and is not re-entrant.
 *
 * A lock is a lease: it ends by itself when nobody renews it. `state`, `held` and `remainingMs` come from this process' own
 * clock, and err on the safe side. A resource is safe from a holder that was paused if it refuses every fencing `token` smaller
 * than the largest that it has seen.
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
  /** What the handle knows, without asking Redis. */
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
   * Writes the lease down as a short text, by which another process adopts it ({@link Client.adopt}), and ends this handle: it is
   * released, renews no more, and `release` answers false. Asks nothing. Nobody renews until the lock is adopted, so the text must
   * arrive within what `remainingMs` says. Whoever has the text can take the lease: treat it as a secret. It holds no password.
   *
   * Throws `lost` unless the lock is held for certain now, and `invalid_argument` for a lock over several servers.
   */
  handover(): string
  /**
   * Does nothing if it is held for certain now, without asking Redis.
   * @throws {LostError} if it is not.
   */
  assertHeld(): void
  /**
   * Makes every later token larger than `floor`: for a resource that has seen a larger token than the lock gave.
   * @throws {InvalidArgumentError} for a floor that is not 0 to 2^52.
   */
  raiseFloor(floor: number): void
  /** Who holds it (of several, the first), and how many wait. */
  inspect(): Promise<Inspection>
  /**
   * Takes it away from all holders, and returns how many there were. For operators: the holders learn of it as a loss when they
   * next renew or extend.
   */
  forceRelease(): Promise<number>
  /**
   * Acquires it, unless it is held, calls `fn`, releases it whatever happens, and resolves with what `fn` returned. Rejects with
   * {@link NotAcquiredError} if it is not granted in time, with what `fn` threw, and with {@link LostError} if `fn` did not throw
   * but the lock was lost meanwhile. A handle runs one function at a time.
   */
  run<T>(fn: Holding<T>, options?: AcquireOptions): Promise<T>
  /** Releases. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * The units of one sale. Made by {@link Client.stock}.
 *
 * In every state that anyone can see, `available + held + sold` is the number of all units. A hold that is over returns to
 * stock by itself. Calls are repeated after a lost reply, within the client's timeout: nothing is taken, sold or added twice.
 * All of them can be rejected with `unavailable`, `timeout`, `not_permitted`, `wrong_type` and `closed`, whatever `onError`
 * says, and with `invalid_argument`.
 */
export class Stock {
  private constructor()
  /** The name given, bytes as a copy. */
  readonly name: string | Buffer
  /** The scope given, bytes as a copy; null if there is none. */
  readonly scope: string | Buffer | null
  /** The Redis keys: of the sale, its holds and its ledger. */
  readonly redisKeys: Buffer[]
  /**
   * Opens the sale with `quantity` units (1 to 2^52): true if this call opened it, false if it is open with the same quantity,
   * limit, end and prizes. Rejects with {@link InvalidArgumentError} if it is open with others, which are named.
   */
  open(quantity: number, options?: OpenOptions): Promise<boolean>
  /**
   * Ends the sale now, for good: true if this call did, false if it had ended before. Takes are refused as `ended`; what is held
   * can still be confirmed, cancelled and extended. The sale is kept for its `retentionMs` after the last of its holds has ended, or
   * from now; until then its name is taken. Rejects with {@link InvalidArgumentError} if it is not open.
   */
  close(): Promise<boolean>
  /**
   * Adds `quantity` units to an open sale, and returns how many units there are now, including sold ones. With a request id
   * they are added once for it while it is remembered, at least a day.
   */
  restock(quantity: number, options?: RestockOptions): Promise<number>
  /**
   * Holds units for a buyer (1 to 1,024 bytes of anything), or says why not. What is not confirmed in time returns to stock.
   * The same request id gets the first reservation again, whatever happened to it, while it is remembered: as long as the hold,
   * or {@link ClientOptions.requestMemoryMs} if that is longer. A refused call is decided again.
   */
  take(buyer: Key, options?: TakeOptions): Promise<Taken>
  /**
   * Sells what a reservation holds: true, also if it was confirmed before (that is remembered for a day at least); false, and
   * nothing is sold, if the hold was over or cancelled.
   */
  confirm(id: string): Promise<boolean>
  /** Returns what a reservation holds: true, also if it was cancelled before; false if the hold was over or confirmed. */
  cancel(id: string): Promise<boolean>
  /**
   * Makes a hold last for at least `holdMs` (600,000 if left out) from now, 1 ms to 30 days; false if it was over, confirmed or
   * cancelled.
   */
  extend(id: string, holdMs?: number): Promise<boolean>
  /** The numbers of the sale. */
  status(): Promise<StockStatus>
  /** Holds that are not over, in the order in which they end. What is extended meanwhile may be seen twice; nothing is left out. */
  reservations(options?: PageOptions): Promise<StockPage>
  /**
   * The changes of the sale, in order. If you store the last id together with your own changes, you read every entry at least
   * once, as long as the ledger keeps them.
   */
  ledger(options?: LedgerOptions): Promise<readonly LedgerEntry[]>
}

/** The answer to a take. */
export class Taken {
  private constructor()
  /** The outcome. */
  readonly outcome: TakeOutcome
  /** What is held; null unless the outcome is `held`. */
  readonly reservation: StockReservation | null
  /** How many units are available after it. */
  readonly available: number
}

/** The answer to a take of several stocks. */
export class TakenAll {
  private constructor()
  /** The outcome; if the take was refused, that of the first stock that refuses. */
  readonly outcome: TakeOutcome
  /** The index of the stock that refuses, from 0; null if none does. */
  readonly refused: number | null
  /** What is held of each stock, in the order given; empty unless the outcome is `held`. */
  readonly reservations: readonly StockReservation[]
  /** How many units of each stock are available after it, in the order given. */
  readonly available: readonly number[]
}

/** Units that are held for a buyer. */
export class StockReservation {
  private constructor()
  /**
   * The id, by which every process knows it. It is printable and cannot be guessed. Anyone who knows it can confirm or cancel.
   */
  readonly id: string
  /** How many units. */
  readonly quantity: number
  /** For whom. */
  readonly buyer: Buffer
  /** One for each unit; empty if the sale has none. */
  readonly prizes: readonly Buffer[]
  /** When the hold ends, in milliseconds since the epoch by the server's clock. */
  readonly untilMs: number
}

/** Some reservations of a stock. */
export class StockPage {
  private constructor()
  /** In the order in which they end. */
  readonly reservations: readonly StockReservation[]
  /** The cursor of the next page; null if there is none. */
  readonly next: string | null
}

/** The numbers of a sale: `available + held + sold` are `quantity`. All 0 if it is not open. */
export class StockStatus {
  private constructor()
  /** Where it stands. */
  readonly phase: StockPhase
  /** All units there are. */
  readonly quantity: number
  /** Those that can be taken. */
  readonly available: number
  /** Those of reservations that are neither confirmed nor returned. */
  readonly held: number
  /** Those of confirmed reservations. */
  readonly sold: number
  /** How many buyers hold or have bought. */
  readonly buyers: number
  /** The most units of one buyer; null: no limit. */
  readonly perBuyer: number | null
  /** When takes end, in milliseconds since the epoch by the server's clock, or when it was closed; null: never. */
  readonly endsMs: number | null
}

/** One change of a sale, with the numbers after it, so that a program that replays the ledger can check itself. */
export class LedgerEntry {
  private constructor()
  /** The id to continue reading after. */
  readonly id: string
  /** Its number in the sale, from 1 without a gap: one that is missing is no longer kept. */
  readonly number: number
  /** What was done. */
  readonly kind: LedgerKind
  /**
   * With which reservation; null for an opening, a restock and a closing, and for units that expired since somebody deleted the
   * key of their holds.
   */
  readonly reservation: string | null
  /** Of which buyer; null without a reservation. */
  readonly buyer: Buffer | null
  /** With how many units; 0 for a closing. */
  readonly quantity: number
  /** When, in milliseconds since the epoch by the server's clock. */
  readonly timeMs: number
  /** Units available after it. */
  readonly available: number
  /** Units held after it. */
  readonly held: number
  /** Units sold after it. */
  readonly sold: number
  /** The prizes of what was held or confirmed; empty if the sale has none. */
  readonly prizes: readonly Buffer[]
}

/**
 * Work that is done once for each id. Made by {@link Client.once}. An id is 1 to 1,024 bytes.
 *
 * All calls can be rejected with `unavailable`, `timeout`, `not_permitted`, `wrong_type` and `closed`, whatever `onError` says:
 * better not done than done twice.
 */
export class Once {
  private constructor()
  /** The name given. */
  readonly name: string
  /**
   * Whether this caller is the first for `id`; the others get the `value` of the first. While a {@link run} of the same id is
   * under way nobody is the first.
   */
  claim(id: Key, value?: Value | null): Promise<Claimed>
  /**
   * Forgets an id, whoever claimed it: the next caller is the first. The result of a function that runs for it is not stored. True
   * if there was anything.
   */
  release(id: Key): Promise<boolean>
  /**
   * Calls `fn` if nobody did yet, and resolves with its result for every caller. Callers that come while it runs wait for it.
   * If it throws, its caller gets the error and the next caller runs; with {@link OnceOptions.errorTtlMs} the next callers are
   * rejected with {@link LoadFailedError} instead. If its process dies, the next caller runs it when the lease has ended, so it
   * must be safe to run twice.
   */
  run(id: Key, fn: Deed, options?: GetOptions): Promise<Buffer | null>
  /**
   * The Redis key of `id`.
   * @throws {InvalidArgumentError} for an empty id or one over 1,024 bytes.
   */
  redisKey(id: Key): Buffer
}

/** The answer to a claim. */
export class Claimed {
  private constructor()
  /** Whether the caller is the first. */
  readonly first: boolean
  /** The value of the first caller; null if there is none, or no result yet. */
  readonly value: Buffer | null
  /** Whether a function is running for it, without a result yet. */
  readonly running: boolean
  /** The milliseconds until the claim ends, or the lease of the running function. */
  readonly remainingMs: number
  /** How many milliseconds ago it was claimed. */
  readonly ageMs: number
}

/**
 * A cache that never stampedes. Made by {@link Client.cache}. A key is 1 to 1,024 bytes.
 *
 * All calls can be rejected with `unavailable`, `timeout`, `not_permitted`, `wrong_type` and `closed`, whatever `onError` says;
 * where {@link CacheOptions.whenAway} is `load`, `get` and its neighbours load instead when Redis cannot answer.
 */
export class Cache {
  private constructor()
  /** The name given. */
  readonly name: string
  /**
   * The value of `key`, fresh or stale; or what `load` returns, if it is this caller's turn to load. On a miss, while another
   * caller loads, this waits for the value. If `load` throws, its caller gets the error; waiting callers, and later ones for
   * {@link CacheOptions.errorTtlMs}, get the stale value or are rejected with {@link LoadFailedError}. A `load` must not get its
   * own key: it would wait for itself.
   */
  get(key: Key, load: Load, options?: GetOptions): Promise<Buffer | null>
  /**
   * The values of 1 to 1,000 keys, none twice, asked for in one call; what is missing is loaded by one call of `load`. After
   * that it waits for keys that others load, and loads them one by one if those fail. In a cluster the keys may lie in any
   * slots; the call then takes a round trip for each slot.
   */
  getMany<K extends Key>(keys: readonly K[], load: LoadMany<K>, options?: GetOptions): Promise<Map<K, Buffer | null>>
  /** As {@link get}, with a value that is kept as JSON. Every caller gets it back from JSON, also the one that loads. */
  getJson<T>(key: Key, load: LoadJson<T>, options?: GetOptions): Promise<T>
  /** What is there, fresh or stale; null if there is nothing. Loads nothing and waits for nobody. */
  peek(key: Key): Promise<Seen | null>
  /** Stores a value; null: there is none. What is being loaded now will not replace it. */
  put(key: Key, value: Value | null): Promise<void>
  /** Forgets a key: what was loaded or is being loaded now is no longer served. True if there was a value. */
  invalidate(key: Key): Promise<boolean>
  /**
   * The Redis key of `key`.
   * @throws {InvalidArgumentError} for an empty key or one over 1,024 bytes.
   */
  redisKey(key: Key): Buffer
}

/** A value that was found. */
export class Seen {
  private constructor()
  /** The value; null if it is known that there is none. */
  readonly value: Buffer | null
  /** Whether it is not fresh any more. */
  readonly stale: boolean
  /** How old it is, in milliseconds. */
  readonly ageMs: number
}

/** A holder of a lock. */
export class Holder {
  private constructor()
  /** The host it runs on; empty if it did not say. */
  readonly host: string
  /** Its process there. */
  readonly pid: number
  /** The label that it gave. */
  readonly label: string
  /** Its fencing token. */
  readonly token: number
  /** How many permits it has. */
  readonly permits: number
  /** When it was granted, in milliseconds since the epoch by the server's clock. */
  readonly sinceMs: number
  /** When it ends unless it is renewed, by the same clock. */
  readonly untilMs: number
}

/** Who holds a lock, and who waits. */
export class Inspection {
  private constructor()
  /** The last fencing token given; 0 if none is remembered. */
  readonly token: number
  /** How many wait, as the server knows it: one of each process. */
  readonly waiters: number
  /** The holders, in the order of their grants. */
  readonly holders: readonly Holder[]
  /** Whether the key holds a value that is not a lock of Quotalock's: it counts as none. */
  readonly healed: boolean
}

/** How {@link Client.adopt} takes a lock over. */
export interface AdoptOptions {
  /** Whether it is renewed in the background: true. */
  readonly renew?: boolean | undefined
  /** The lock that it must be: the text of another one is refused, and that lock is not touched. */
  readonly name?: Key | undefined
}

/** What one rule of a policy says. */
export class RuleDecision {
  private constructor()
  /** Whether this rule admits by itself. */
  readonly allowed: boolean
  /** The most that this rule admits at once: its capacity. */
  readonly limit: number
  /** What this rule would let be consumed now. */
  readonly remaining: number
  /** After how many milliseconds this rule would admit the same call: 0 now, null never. */
  readonly retryAfterMs: number | null
  /** After how many milliseconds this rule is as new. */
  readonly resetAfterMs: number
  /** How this rule counts. */
  readonly algorithm: Algorithm
  /** How much this rule admits per period. */
  readonly quota: number
  /** The period in milliseconds. */
  readonly periodMs: number
  /** The most that this rule admits at once: the quota, but for a token bucket that says another capacity. */
  readonly capacity: number
}

/** Which header fields {@link Decision.headers} gives. */
export interface HeaderOptions {
  /**
   * How quotas are told: `draft-11` (the default) is `RateLimit-Policy` and `RateLimit` of
   * draft-ietf-httpapi-ratelimit-headers-11, with an item for each rule; `none` leaves them out.
   */
  readonly syntax?: 'draft-11' | 'none' | undefined
  /** Whether `X-RateLimit-Limit`, `-Remaining` and `-Reset` (seconds from now) of the rule that binds are given too: false. */
  readonly legacy?: boolean | undefined
}

/** The body of a refusal (RFC 9457). */
export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  /** The rules that deny, named as in the header fields. */
  'violated-policies': string[]
}

/**
 * The answer of a limiter for one key. With several rules its numbers are those of the rule that binds: of the rules that deny
 * the one with the longest `retryAfterMs`, else the one with the least `remaining`.
 */
export class Decision {
  private constructor()
  /** The name of the limiter. */
  readonly name: string
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
  /** After how many milliseconds the rule that binds is as new and a block is over; `rules` has the other rules. */
  readonly resetAfterMs: number
  /** The cost that was asked for; of {@link Limiter.consumeUpTo} what was taken. */
  readonly cost: number
  /** Who answered. */
  readonly source: Source
  /** Whether a damaged or foreign value at the key was replaced. */
  readonly healed: boolean
  /** The answer of each rule, in the order of the policy. */
  readonly rules: readonly RuleDecision[]
  /**
   * The header fields of an answer to the request that was decided, in their order; a denial has `Retry-After`: whole seconds,
   * rounded up, at least 1. If the call can never be admitted it is the longest period of the rules that say so.
   */
  headers(options?: HeaderOptions): Record<string, string>
  /**
   * The body of the answer to the request that was denied, as RFC 9457 has it (`application/problem+json`): its `status` is 429,
   * or 503 if Redis could not be asked and `onError: 'closed'` denied. Throws `invalid_argument` if the call was allowed.
   */
  problem(): Problem
}

/** The answer of {@link Client.consumeAll} about several keys, charged all or none. */
export class CombinedDecision {
  private constructor()
  /** Whether all were admitted, and charged. If not, none was. */
  readonly allowed: boolean
  /** Whether a limiter that is not enforced denies. */
  readonly wouldDeny: boolean
  /**
   * The index of the decision that binds: of the rules that deny the one with the longest `retryAfterMs`, else the one with the
   * least `remaining`.
   */
  readonly binding: number
  /** After how many milliseconds the same call would be admitted if nobody else called: 0 when admitted, null when never. */
  readonly retryAfterMs: number | null
  /** Who answered. */
  readonly source: Source
  /** The decision about each key, in the order given. */
  readonly decisions: readonly Decision[]
  /**
   * The header fields of an answer to the request that was decided, in their order; a denial has `Retry-After`: whole seconds,
   * rounded up, at least 1. If the call can never be admitted it is the longest period of the rules that say so.
   */
  headers(options?: HeaderOptions): Record<string, string>
  /**
   * The body of the answer to the request that was denied, as RFC 9457 has it (`application/problem+json`): its `status` is 429,
   * or 503 if Redis could not be asked and `onError: 'closed'` denied. Throws `invalid_argument` if the call was allowed.
   */
  problem(): Problem
}

/** How {@link clientAddress} tells clients apart. */
export interface AddressOptions {
  /** How many leading bits of an IPv6 address stand for a client, 32 to 128: 64. With 128 it is the address itself. */
  readonly ipv6Prefix?: number | undefined
}

/**
 * The address of the client that sent a request, as a text to be used as a key.
 *
 * `peer` is the address of the socket (`request.socket.remoteAddress`); undefined, null or an empty text is a Unix socket.
 * `forwarded` is the value of `X-Forwarded-For` or `Forwarded` (RFC 7239), or one for each line of it. `trusted` lists the
 * proxies: addresses, networks (`10.0.0.0/8`), and the words `loopback`, `private` and `unix`.
 *
 * The header counts only if the peer is trusted. It is read from its right end, and the first address that is not trusted is the
 * client's: what stands further left was written by that client. What is no address ends the reading; then it is that of the proxy
 * which sent it. An IPv6 address stands for its network, such as `2001:db8:1:2::/64`.
 *
 * Throws `invalid_argument` for what is no address or network, for one that means everybody, and if there is no address at all: a
 * Unix socket, and nothing in the header.
 */
export function clientAddress(
  peer: string | null | undefined,
  forwarded: string | readonly string[] | null | undefined,
  trusted: readonly string[],
  options?: AddressOptions,
): string

/**
 * Limits in one line, with a client for `QUOTALOCK_URL` that is made at the first call. Charges `cost` to `key` under the
 * limiter `name` and `policy`, and answers as {@link Limiter.consume} does.
 */
export function limit(name: string, key: Key, policy: Policy, options?: CallOptions): Promise<Decision>

/** One thing that is counted. */
export interface Metric {
  /** As Prometheus is to call it: `quotalock_decisions_total`. */
  readonly name: string
  /** What it is, in one sentence. */
  readonly help: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  /** By their labels. What never happened is left out. */
  readonly samples: readonly Sample[]
}

/** A number of a counter or a gauge, or a histogram, with the labels that say of what. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  /** Of a counter or a gauge. */
  readonly value?: number
  /** Of a histogram: bounds in seconds, each with how many took no longer; the last bound is `Infinity`. */
  readonly buckets?: readonly (readonly [bound: number, count: number])[]
  /** Of a histogram: how long all of them took together, in seconds. */
  readonly sum?: number
  /** Of a histogram: how many there were. */
  readonly count?: number
}

/**
 * What was counted until now, by this process and those that name the same file in `QUOTALOCK_METRICS_FILE`; empty where
 * `QUOTALOCK_METRICS=off`. No key shows: labels are the names of limiters, stocks, caches and servers.
 */
export function metrics(): Metric[]

/** The same as text that Prometheus reads: serve it as `text/plain; version=0.0.4; charset=utf-8`. */
export function prometheus(): string

/**
 * Acquires a mutex over several independent servers, one for each of `clients` (3 to 15, better an odd number): held if most of
 * them granted it within its ttl, so it survives the loss of the others.
 *
 * Each server has a twentieth of the ttl to answer. Waiters ask again every 10 to 50 ms. A server that was started less than a
 * ttl ago and keeps no append-only file has no vote. Rejects as {@link Client.lock}, and with {@link InvalidArgumentError} for
 * too few or too many clients, or one that is given twice.
 */
export function quorumLock(clients: readonly Client[], name: Key, options?: QuorumOptions): Promise<Lock>

/** The time of one client, which stands still until a test moves it; its class is `testing.Clock`. TTLs run in real time. */
export interface Clock {
  /** The client's time, in milliseconds since the epoch. */
  readonly nowMs: number
  /** Moves the client's time on by so many milliseconds; back by less than 0. */
  advance(ms: number): void
}

/** Of which decision; see `testing.decision`. */
export interface TestDecision {
  /** `10/minute` unless you say otherwise. */
  policy?: Policy | undefined
  /** How much was consumed before, at most the limit; 0 unless you say otherwise. */
  used?: number | undefined
  /** 1 unless you say otherwise. */
  cost?: number | undefined
  /** The limiter's name: `test` unless you say otherwise. */
  name?: string | undefined
  /** `test` unless you say otherwise. */
  key?: Key | undefined
  /** As a client with this `onError` answers when Redis is away. */
  onError?: 'raise' | 'open' | 'closed' | 'local' | undefined
}

/** For your own tests: a client's time, decisions to answer with, and raw values under a key. */
export const testing: {
  /** Stops the time of a client, at `atMs` milliseconds since the epoch. */
  Clock: new (
    client: Client,
    options?: { atMs?: number | undefined },
  ) => Clock
  /** A decision such as a limiter makes, for what your test doubles: `await testing.decision({ policy: '10/minute', used: 10 })`. */
  decision(of?: TestDecision): Promise<Decision>
  /**
   * Sets the time, in microseconds since the epoch (from 1973 to 2^52), at which every later call of a client is decided, also on a
   * real server; null goes back to the server's clock. Other clients of the same server or memory keep theirs.
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

/** A value that can never be right: an empty key, a negative cost, an invalid URL. */
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

/** The key in Redis holds another Redis type. */
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

/** A loader of this value failed a short time ago. */
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
