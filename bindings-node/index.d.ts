/// <reference types="node" />
// Written from api/surface.toml by `python3 tools/api`.

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
 * Durations are whole milliseconds. A call that does I/O never throws: its promise is rejected. Calls without I/O (making a
 * client, a limiter, a reservation, a stock, a once or a cache, `assertHeld`, `raiseFloor`, `redisKey`) throw.
 */

/** The policy of a limiter: text such as `10/minute;100/hour`, a rule, or several that must all admit a call. */
export type Policy = string | Rule | readonly Rule[]

/** A key: text, taken as UTF-8, or bytes, taken as they are; 1 to 1,024 bytes. */
export type Key = string | Uint8Array

/**
 * The id of a request, such as a UUID: 1 to 256 bytes. A call with one is charged once: the same id for the same key gets the
 * first answer again while it is remembered ({@link ClientOptions.requestMemoryMs}), even when the first reply was lost. A
 * denied call charged nothing, so it is decided again.
 */
export type RequestId = string | Uint8Array

/** A charge of one key by {@link Client.consumeAll}: a cost of 1 to 2^52 (default: 1). */
export type Charge = readonly [limiter: Limiter, key: Key, cost?: number]

/** A function that {@link Lock.run} calls while it holds the lock. */
export type Holding<T> = (lock: Lock) => T | PromiseLike<T>

/** A number of units of a stock. */
export type Take = readonly [stock: Stock, quantity: number]

/** A reservation of a stock, by its id. */
export type Held = readonly [stock: Stock, id: string]

/** A value that is stored: text, taken as UTF-8, or bytes; up to 64 MiB. */
export type Value = string | Uint8Array

/** Makes the value of a key; null if there is none. */
export type Load = () => Value | null | PromiseLike<Value | null>

/** Makes the values of these keys; a key without one is known to have none. Return an object only if all keys are text. */
export type LoadMany<K> = (missing: K[]) => Loaded<K> | PromiseLike<Loaded<K>>

/** Values by their keys. */
export type Loaded<K> = ReadonlyMap<K, Value | null> | Readonly<Record<string, Value | null>>

/** Makes a value that is stored as JSON; null if there is none. */
export type LoadJson<T> = () => T | PromiseLike<T>

/** The function that `Once.run` executes; every caller gets its result. */
export type Deed = () => Value | null | undefined | PromiseLike<Value | null | undefined> | PromiseLike<void>

/** The body of a refusal (RFC 9457). */
export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  /** The rules that deny, named as in the header fields. */
  'violated-policies': string[]
}

/** A counter, a gauge or a histogram. */
export interface Metric {
  /** As Prometheus calls it: `quotalock_decisions_total`. */
  readonly name: string
  /** A description in one sentence. */
  readonly help: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  /** By their labels. Samples that were never counted are left out. */
  readonly samples: readonly Sample[]
}

/** A number of a counter or a gauge, or a histogram, with its labels. */
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

/** The algorithm of a rule. */
export type Algorithm = 'fixed-window' | 'calendar-window' | 'sliding-window' | 'token-bucket' | 'sliding-log'

/** The answer of a limiter when Redis cannot answer: an error, yes, no, or what this process' own memory decides. */
export type OnError = 'raise' | 'open' | 'closed' | 'local'

/**
 * The source of an answer: Redis; the store of `memory://`; this process, from prefetched permits (`lease`), or since
 * Redis denied the same call a moment ago (`deny-cache`); or, while Redis could not answer, what `onError` decides.
 */
export type Source = 'redis' | 'memory' | 'lease' | 'local' | 'open' | 'closed' | 'deny-cache'

/** The end of a reservation that is never settled: it counts as spent, or is given back. */
export type Unsettled = 'spent' | 'returned'

/**
 * The state of a handle: never acquired or released; held for certain until the deadline; held until then, but the last
 * renewal failed; or no longer held, without a release.
 */
export type LockState = 'released' | 'held' | 'uncertain' | 'lost'

/** The outcome of a take: only `held` holds anything. */
export type TakeOutcome = 'held' | 'sold_out' | 'buyer_limit' | 'not_open' | 'ended'

/**
 * The phase of a sale: never opened or forgotten, open, or closed or past its `endsMs`, when holds can still be
 * confirmed.
 */
export type StockPhase = 'not_open' | 'open' | 'ended'

/** The kind of a change in a ledger. */
export type LedgerKind = 'opened' | 'restocked' | 'held' | 'confirmed' | 'cancelled' | 'expired' | 'extended' | 'closed'

/** The behaviour of a `get` when Redis cannot answer. */
export type WhenAway = 'raise' | 'load'

/** Options of a new {@link Client}. */
export interface ClientOptions {
  /** The first part of every Redis key; no braces (default: `ql`). */
  readonly prefix?: string | undefined
  /** The time that a call may take, connecting included (1 ms to 1 hour; default: 500 ms). */
  readonly timeoutMs?: number | undefined
  /**
   * The answer of a limiter when Redis cannot answer: an error (`raise`), yes (`open`), no (`closed`), or what the same
   * policy decides in this process' memory (`local`) (default: `raise`).
   */
  readonly onError?: OnError | undefined
  /**
   * How long a call with a request id is remembered, and at least as long as the timeout (1 ms to 1 day; default:
   * 60,000 ms).
   */
  readonly requestMemoryMs?: number | undefined
  /**
   * A function that returns the password, if the URL has none. It is called when a connection first logs in, and again
   * when the server refuses the password. Calls wait for it, and if it throws, they fail with its error. Calls wait for
   * it within their time.
   */
  readonly password?: (() => string | PromiseLike<string>) | undefined
  /**
   * After Redis has denied a call, this process denies the same call itself until it can be admitted, for at most this
   * time; 0 asks Redis every time (0 ms to 1 minute; default: 1,000 ms).
   */
  readonly denyCacheMaxMs?: number | undefined
  /**
   * A function that is called after each decision of this client's limiters that charges or denies, with the key as it
   * was given, right before the call ends. Not for calls that only look, fail or are aborted. An error of the function
   * does not affect the call. The error is a warning of the process (`QUOTALOCK_HOOK`). It is not awaited.
   */
  readonly onDecision?: ((decision: Decision, key: Key) => void) | undefined
  /**
   * A function that is called when a lock of this client is found to be lost, once for each grant; otherwise as
   * `onDecision`.
   */
  readonly onLost?: ((lock: Lock) => void) | undefined
  /**
   * Whether this process reports to Redis once per second, in the background, what the client's limiters decided, and
   * which keys they denied most often, for `quotalock top` (default: false). Decisions that have no room or cannot be
   * sent are dropped and counted.
   */
  readonly report?: boolean | undefined
}

/** Options of {@link Client.limiter}. */
export interface LimiterOptions {
  /**
   * The hash tag that all keys of the limiter share (1 to 1,024 bytes): they are in one slot of a cluster, and
   * {@link Client.consumeAll} can charge them together with those of other limiters of that scope (default: each key is
   * its own).
   */
  readonly scope?: Key | undefined
  /**
   * Whether the policy is enforced (default: true). If not, every call is allowed, and {@link Decision.wouldDeny} marks
   * those that would have been denied, which are not charged. Use it to try a policy on real traffic.
   */
  readonly enforce?: boolean | undefined
  /**
   * How many permits are taken from Redis at once at most, to be spent in this process without a call: 2 to the
   * smallest capacity of the policy. Sliding windows and logs do not support it (default: each call asks Redis).
   */
  readonly prefetch?: number | undefined
}

/** Options of a call. */
export interface CallOptions {
  /** How much the call uses; 0 only looks (0 to 2^52; default: 1). */
  readonly cost?: number | undefined
  /** Rejects the call with the signal's reason when it fires. A call that was sent may still be counted. */
  readonly signal?: AbortSignal | undefined
}

/** Options of {@link Limiter.consume}. */
export interface ConsumeOptions extends CallOptions {
  /** Charges once for this id. */
  readonly requestId?: RequestId | undefined
}

/** Options of {@link Client.consumeAll}. */
export interface ConsumeAllOptions {
  /** Charges once for this id, which is remembered under the first key. */
  readonly requestId?: RequestId | undefined
  /** Rejects the call with the signal's reason when it fires. A call that was sent may still be counted. */
  readonly signal?: AbortSignal | undefined
}

/** Options of {@link Limiter.refund}. */
export interface RefundOptions {
  /** Gives back once for this id. */
  readonly requestId?: RequestId | undefined
}

/** Options of {@link Limiter.reserve}. */
export interface ReserveOptions {
  /** How long the estimate is held at most (1 ms to 36,500 days). */
  readonly ttlMs: number
  /** How an estimate ends that is not settled by then: it counts as `spent`, or is `returned` (default: `spent`). */
  readonly unsettled?: Unsettled | undefined
}

/** Options of {@link Limiter.wait}. */
export interface WaitOptions extends CallOptions {
  /** How long to wait at most (0 ms to 36,500 days). */
  readonly timeoutMs: number
}

/** How long an acquisition waits, and what ends it. */
export interface AcquireOptions {
  /** How long to wait at most; 0 asks once (0 ms to 36,500 days; default: as the handle was made). */
  readonly waitMs?: number | undefined
  /**
   * Rejects the acquisition with the signal's reason when it fires. It leaves nothing behind, even if the lock was
   * granted at that moment. It has no effect on a lock that is already held.
   */
  readonly signal?: AbortSignal | undefined
}

/** Options of a lock over several servers, which is acquired unless `acquire` is false. */
export interface QuorumOptions extends AcquireOptions {
  /** How long a grant lasts if it is not renewed (10 ms to 7 days; default: 30,000 ms). */
  readonly ttlMs?: number | undefined
  /**
   * Whether a grant is renewed at a third of its ttl by a thread of Quotalock, even while the caller is busy (default:
   * true). If not, the lock ends at its deadline, even if the handle is dropped.
   */
  readonly renew?: boolean | undefined
  /**
   * How long it is renewed at most, so that a holder that hangs does not block the others forever (default:
   * 3,600,000 ms, 1 hour).
   */
  readonly maxHoldMs?: number | undefined
  /** Every fencing token is larger than this (0 to 2^52; default: 0). */
  readonly tokenAbove?: number | undefined
  /**
   * The text that {@link Lock.inspect} shows of the holder next to its host and process: up to 128 bytes of UTF-8, no
   * control characters (default: empty).
   */
  readonly label?: string | undefined
  /**
   * Whether to acquire at once, and reject if that fails (default: true). With false the handle holds nothing yet, for
   * {@link Lock.acquire}, {@link Lock.run}, {@link Lock.inspect} and {@link Lock.forceRelease}.
   */
  readonly acquire?: boolean | undefined
}

/** Options of a lock, which is acquired unless `acquire` is false. */
export interface LockOptions extends QuorumOptions {
  /** Whether waiters are served in order of arrival (default: false). */
  readonly fair?: boolean | undefined
  /**
   * How many replicas must have a grant before it counts; 0 asks none (0 to 2^32 - 1; default: 0). On `memory://`,
   * which has no replicas, only 0 is valid.
   */
  readonly replicasAck?: number | undefined
  /** How long an acquisition waits for the replicas (1 ms to 1 minute; default: 100 ms). */
  readonly ackTimeoutMs?: number | undefined
}

/** How permits of a semaphore are taken. */
export interface SemaphoreOptions extends LockOptions {
  /** How many permits to take, all or none; at most as many as there are (1 to 2^31 - 1; default: 1). */
  readonly weight?: number | undefined
}

/** Options of {@link Client.adopt}. */
export interface AdoptOptions {
  /** Whether it is renewed in the background (default: true). */
  readonly renew?: boolean | undefined
  /**
   * The name that the lock must have: the text of another lock is refused, and that lock is not changed (default: any
   * lock).
   */
  readonly name?: Key | undefined
}

/** Options of {@link Client.stock}. */
export interface StockOptions {
  /**
   * The hash tag that all keys of the stock share: stocks of one scope are in one slot of a cluster, and
   * {@link Client.takeAll} can take from them together (default: each stock is its own). It is part of the keys, so all
   * handles of a sale must have the same scope.
   */
  readonly scope?: Key | undefined
  /**
   * How many entries the ledger keeps, approximately (1,000 to 100,000,000; default: 100,000). Fixed when the sale is
   * opened.
   */
  readonly ledgerCap?: number | undefined
  /**
   * How long the sale and its ledger are kept, and at least for half of it, after its end, its last hold and the last
   * call that wrote (1 minute to 36,500 days; default: 2,592,000,000 ms, 30 days). Fixed when the sale is opened.
   */
  readonly retentionMs?: number | undefined
}

/** Options of {@link Stock.open}. */
export interface OpenOptions {
  /** The most units that one buyer holds and has bought (1 to 2^52; default: no limit). */
  readonly perBuyer?: number | null | undefined
  /**
   * When takes end, in milliseconds since the epoch by the server's clock (default: never). Confirming stays possible.
   */
  readonly endsMs?: number | null | undefined
  /**
   * A payload for each unit (a coupon code, a seat), of which each reservation gets its own in this order: 1 to 1,024
   * bytes each, at most 10,000 at once, more by {@link Stock.restock}.
   */
  readonly prizes?: readonly (string | Uint8Array)[] | undefined
}

/** How units are added to a sale. */
export interface RestockOptions {
  /** One for each unit, if the sale has prizes. */
  readonly prizes?: readonly (string | Uint8Array)[] | undefined
  /** Adds once for this id (1 to 256 bytes) while it is remembered, at least a day. */
  readonly requestId?: RequestId | undefined
}

/** How units of several stocks are taken. */
export interface TakeAllOptions {
  /** How long they are held (1 ms to 30 days; default: 600,000 ms, 10 minutes). */
  readonly holdMs?: number | undefined
  /**
   * Takes once for this id, which belongs to the buyer and the stock; of several stocks, to the first by their Redis
   * keys.
   */
  readonly requestId?: RequestId | undefined
}

/** How units are taken. */
export interface TakeOptions extends TakeAllOptions {
  /** How many units, all or none; of units with prizes at most 1,000 (1 to 2^52; default: 1). */
  readonly quantity?: number | undefined
}

/** Which page of reservations. */
export interface PageOptions {
  /** The {@link StockPage.next} of the page before (default: the first page). */
  readonly cursor?: string | null | undefined
  /** How many at most (1 to 1,000; default: 100). */
  readonly count?: number | undefined
}

/** Which entries of a ledger. */
export interface LedgerOptions {
  /** The {@link LedgerEntry.id} of the entry before (default: from the first that is kept). */
  readonly after?: string | null | undefined
  /** How many at most (1 to 1,000; default: 100). */
  readonly count?: number | undefined
}

/** Options of {@link Client.once}. */
export interface OnceOptions {
  /** How long a claim or a result is remembered (1 ms to 3,650 days; default: 86,400,000 ms, 1 day). */
  readonly ttlMs?: number | undefined
  /**
   * How long the others wait for a caller that dies (10 ms to 1 hour; default: 10,000 ms). It is not renewed, so make
   * it longer than the function runs.
   */
  readonly leaseMs?: number | undefined
  /**
   * How long the error of a run is remembered; with 0 the next caller runs the function at once (0 ms to 1 hour;
   * default: 0 ms).
   */
  readonly errorTtlMs?: number | undefined
}

/** Options of {@link Client.cache}. */
export interface CacheOptions {
  /** How long a value is fresh (1 ms to 3,650 days; default: 60,000 ms). */
  readonly freshMs?: number | undefined
  /** How long it is served after that while one caller loads a new one (0 ms to 3,650 days; default: 0 ms). */
  readonly staleMs?: number | undefined
  /**
   * How long a loader keeps the others from loading (10 ms to 1 hour; default: 10,000 ms). It is not renewed: a loader
   * that takes longer is joined by another, and the newer value wins.
   */
  readonly leaseMs?: number | undefined
  /**
   * How long the answer that there is no value is fresh; 0 does not store it (0 ms to 3,650 days; default: as
   * `freshMs`).
   */
  readonly negativeMs?: number | undefined
  /** How long the error of a loader is remembered, and no other caller loads (0 ms to 1 hour; default: 1,000 ms). */
  readonly errorTtlMs?: number | undefined
  /** How early values are refreshed before they are stale: 0 (never) to 100 (default: 1.0). */
  readonly beta?: number | undefined
  /**
   * The behaviour of a `get` when Redis cannot answer: fail (`raise`), or `load` as if there were no cache (default:
   * `raise`). If Redis goes down during a load, `raise` fails even though the value was loaded, and `load` returns the
   * value.
   */
  readonly whenAway?: WhenAway | undefined
}

/** How long a caller waits for the result of another. */
export interface GetOptions {
  /**
   * How long to wait at most for another caller's result, before the call fails with {@link TimeoutError} (0 ms to
   * 36,500 days; default: 5,000 ms more than the lease, so that a waiter waits longer than a dead caller's lease).
   */
  readonly waitMs?: number | undefined
  /**
   * Ends a wait when it fires: the promise is rejected with the signal's reason. It does not end a loader, so pass the
   * signal to the loader too. If the loader then fails, other callers do not get its error, and the next caller loads
   * at once.
   */
  readonly signal?: AbortSignal | undefined
}

/** Which header fields {@link Decision.headers} returns. */
export interface HeaderOptions {
  /**
   * How quotas are written: `draft-11` is `RateLimit-Policy` and `RateLimit` of
   * draft-ietf-httpapi-ratelimit-headers-11, with an item for each rule; `none` leaves them out (default: `draft-11`).
   */
  readonly syntax?: 'draft-11' | 'none' | undefined
  /**
   * Whether `X-RateLimit-Limit`, `-Remaining` and `-Reset` (seconds from now) of the rule that binds are added
   * (default: false).
   */
  readonly legacy?: boolean | undefined
}

/** Options of {@link clientAddress}. */
export interface AddressOptions {
  /** How many leading bits of an IPv6 address stand for a client; 128: the address itself (32 to 128; default: 64). */
  readonly ipv6Prefix?: number | undefined
}

/**
 * A client of one Redis, or of this process' memory (`memory://`). Making one does no I/O: it connects at the first
 * call, and again in each forked process.
 */
export class Client implements Disposable, AsyncDisposable {
  /**
   * @param url `redis://[user:password@]host[:port][/database]`, `rediss://`, `unix://`, `redis+cluster://`,
   *     `redis+sentinel://` or `memory://`, which all clients of this process share, or `memory://name`, which is
   *     removed when the last of its clients is closed (default: `QUOTALOCK_URL` of the environment, then
   *     `redis://127.0.0.1:6379`). Worker threads share them too.
   * @throws {InvalidArgumentError} for an invalid URL or option; no error shows a password.
   */
  constructor(url?: string | URL, options?: ClientOptions)
  /** The host and port, socket path or `memory://` that this client talks to; never a password. */
  readonly server: string
  /** The first part of every Redis key. */
  readonly prefix: string
  /**
   * Makes a limiter.
   *
   * @param name part of its Redis keys: all of one kind, name and prefix share their state.
   * @param policy the rules that it decides by, such as `10/minute;100/hour`.
   * @throws {InvalidArgumentError} for an empty or too long name or scope, and an invalid `prefetch`.
   * @throws {InvalidPolicyError} for an invalid policy.
   */
  limiter(name: string, policy: Policy, options?: LimiterOptions): Limiter
  /**
   * Charges several keys, each by its own limiter and with its own cost, if all of them admit it, else none: one atomic
   * call. No key may occur twice for one limiter. In a cluster the limiters need a common {@link LimiterOptions.scope}.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid charge; with {@link CrossSlotError} for limiters without a
   * common scope in a cluster.
   *
   * @param charges at most 100, each with a limiter of this client, a key, and a cost if it is not 1 (1 to 2^52).
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
   *
   * @param name 1 to 1,024 bytes of anything.
   */
  lock(name: Key, options?: LockOptions): Promise<Lock>
  /**
   * Acquires several mutexes, all or none, in one call: no order of names can deadlock. In a cluster the names must be
   * in one slot, else this is rejected with {@link CrossSlotError}.
   *
   * Rejects with {@link InvalidArgumentError} for invalid names or options.
   *
   * @param names at most 100, none twice.
   */
  lockAll(names: readonly Key[], options?: LockOptions): Promise<Lock>
  /**
   * Acquires `weight` of a semaphore's `permits`; at most 1,024 hold it at once. All users of a semaphore must give the
   * same `permits`.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid name, number or option.
   *
   * @param name 1 to 1,024 bytes of anything.
   * @param permits the same number wherever this semaphore is used (1 to 2^31 - 1).
   */
  semaphore(name: Key, permits: number, options?: SemaphoreOptions): Promise<Lock>
  /**
   * Acquires a read-write lock for reading: up to 1,024 readers hold it at once, but none while a writer holds it or
   * waits.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid name or option.
   *
   * @param name 1 to 1,024 bytes of anything.
   */
  readLock(name: Key, options?: LockOptions): Promise<Lock>
  /**
   * Acquires a read-write lock for writing: one writer holds it alone.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid name or option.
   *
   * @param name 1 to 1,024 bytes of anything.
   */
  writeLock(name: Key, options?: LockOptions): Promise<Lock>
  /**
   * Takes over a lock that {@link Lock.handover} gave away, in any process or language. The new handle has the ttl, the
   * label and the fencing token of the first. Only one process can adopt a lock. It is renewed for the rest of the
   * first holder's `maxHoldMs`.
   *
   * Rejects with {@link LostError} if the lease has ended, was adopted before, or is on another server; with
   * {@link InvalidArgumentError} for a text of another kind, a damaged one, or one of a client with another prefix.
   */
  adopt(text: string, options?: AdoptOptions): Promise<Lock>
  /**
   * Makes a handle for the units of a sale. Does not ask Redis; {@link Stock.open} makes the sale itself.
   *
   * @param name 1 to 1,024 bytes of anything.
   * @throws {InvalidArgumentError} for an empty name, one over 1,024 bytes, or an invalid option.
   */
  stock(name: Key, options?: StockOptions): Stock
  /**
   * Holds units of several stocks for one buyer, or of none: one atomic call. Each reservation is an ordinary one of
   * its stock. In a cluster the stocks need a common {@link StockOptions.scope}.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid stock, quantity or buyer; with {@link CrossSlotError} for
   * stocks without a common scope in a cluster.
   *
   * @param takes at most 100 stocks of this client, none twice, each with a quantity.
   * @param buyer 1 to 1,024 bytes.
   */
  takeAll(takes: readonly Take[], buyer: Key, options?: TakeAllOptions): Promise<TakenAll>
  /**
   * Sells the units of several reservations in one atomic call, or nothing (false) if one of them has ended. Otherwise
   * as {@link Stock.confirm}.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid reservation; with {@link CrossSlotError} for stocks
   * without a common scope in a cluster.
   *
   * @param reservations at most 100, none twice, each a stock and an id.
   */
  confirmAll(reservations: readonly Held[]): Promise<boolean>
  /**
   * Gives the units of several reservations back to their stocks, in one atomic call, even if some of them have ended.
   * Returns true if none had ended or was confirmed.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid reservation; with {@link CrossSlotError} for stocks
   * without a common scope in a cluster.
   *
   * @param reservations at most 100, none twice, each a stock and an id.
   */
  cancelAll(reservations: readonly Held[]): Promise<boolean>
  /**
   * Lengthens several holds, or none (false) if one of them has ended: one atomic call. Otherwise as
   * {@link Stock.extend}.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid reservation; with {@link CrossSlotError} for stocks
   * without a common scope in a cluster.
   *
   * @param reservations at most 100, none twice, each a stock and an id.
   * @param holdMs 1 ms to 30 days; default: 600,000 ms, 10 minutes.
   */
  extendAll(reservations: readonly Held[], holdMs?: number): Promise<boolean>
  /**
   * Makes a {@link Once}: work that is done once for each id, across all processes.
   *
   * @param name part of its Redis keys: all of one kind, name and prefix share their state.
   * @throws {InvalidArgumentError} for an empty name, one over 1,024 bytes, or an invalid option.
   */
  once(name: string, options?: OnceOptions): Once
  /**
   * Makes a cache: on a miss, one caller across all processes loads the value.
   *
   * @param name part of its Redis keys: all of one kind, name and prefix share their state.
   * @throws {InvalidArgumentError} for an empty name, one over 1,024 bytes, or an invalid option.
   */
  cache(name: string, options?: CacheOptions): Cache
  /**
   * Releases the locks and permits of the client, within its `timeoutMs`, and closes the connections. Later calls fail
   * with {@link ClosedError}, and handles that held a lock are `lost`. Closing twice does nothing.
   */
  close(): Promise<void>
  [Symbol.dispose](): void
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Decides for keys by one policy; made by {@link Client.limiter}.
 *
 * A key is text, taken as UTF-8, or bytes: 1 to 1,024 of them. All calls can fail with {@link UnavailableError},
 * {@link TimeoutError}, {@link NotPermittedError}, {@link WrongTypeError}, {@link NewerVersionError} and
 * {@link ClosedError}, and with {@link InvalidArgumentError} before anything is sent; the first two only if the
 * client's {@link ClientOptions.onError} is `raise`, unless the method says otherwise.
 */
export class Limiter {
  private constructor()
  /** The name given. */
  readonly name: string
  /** The policy in its canonical form. */
  readonly policy: string
  /** The scope given; null without one. */
  readonly scope: string | Buffer | null
  /** Whether the policy is enforced. */
  readonly enforce: boolean
  /** How many permits it takes from Redis at once at most; null if each call asks. */
  readonly prefetch: number | null
  /**
   * Charges `cost` to every rule if all rules admit it, otherwise to none. A cost of 0 only looks; a cost above a limit
   * is always denied.
   */
  consume(key: Key, options?: ConsumeOptions): Promise<Decision>
  /**
   * Charges as much as is admitted now, up to `most`; {@link Decision.cost} shows how much. If nothing is admitted, the
   * call is denied, with the answer for a cost of 1.
   *
   * @param most 1 to 2^52.
   */
  consumeUpTo(key: Key, most: number): Promise<Decision>
  /**
   * Charges `estimate` as {@link consume} does, and holds it until {@link Reservation.settle} replaces it by the actual
   * amount, or `ttlMs` has passed. Nothing is held if the call was denied, as {@link Reservation.decision} shows. If
   * the reply is lost, the estimate may be held until its end.
   *
   * @param estimate 1 to 2^52.
   */
  reserve(key: Key, estimate: number, options: ReserveOptions): Promise<Reservation>
  /**
   * The reservation of this id, which {@link reserve} made here or in another process. Does not ask Redis whether it
   * exists.
   *
   * @throws {InvalidArgumentError} for a bad key, or an id that is not 32 hexadecimal digits.
   */
  reservation(key: Key, id: string): Reservation
  /** Returns what {@link consume} would return, and never writes. */
  peek(key: Key, options?: CallOptions): Promise<Decision>
  /**
   * As {@link consume}, but a denial is an error.
   *
   * Rejects with {@link RateLimitedError} if the call is denied; it carries the decision.
   */
  require(key: Key, options?: CallOptions): Promise<Decision>
  /**
   * As {@link consume}, but after a denial it sleeps for {@link Decision.retryAfterMs} and tries again. If the call
   * cannot be admitted within `timeoutMs`, it returns the denial at once.
   */
  wait(key: Key, options: WaitOptions): Promise<Decision>
  /**
   * Gives back `amount` of what was consumed; no rule falls below zero. Returns what a {@link peek} right after it
   * would return.
   *
   * @param amount 1 to 2^52.
   */
  refund(key: Key, amount: number, options?: RefundOptions): Promise<Decision>
  /**
   * Denies all calls for `durationMs`; replaces an earlier block. Returns what a {@link peek} right after it would
   * return. If the block cannot be stored, this fails, whatever {@link ClientOptions.onError} is.
   *
   * Rejects with {@link UnavailableError} if Redis cannot store it.
   *
   * @param durationMs 1 ms to 36,500 days.
   */
  block(key: Key, durationMs: number): Promise<Decision>
  /**
   * Removes everything about `key`, including a block and reservations; true if anything was stored. If Redis cannot
   * answer, this fails, whatever {@link ClientOptions.onError} is.
   */
  reset(key: Key): Promise<boolean>
  /**
   * The Redis key that holds the state of `key`: `<prefix>:limit:<name>:{<key>}`, with a scope
   * `<prefix>:limit:<name>:{<scope>}:{<key>}`.
   */
  redisKey(key: Key): Buffer
}

/**
 * The answer of a limiter for one key. With several rules, `limit`, `remaining`, `retryAfterMs` and `resetAfterMs` are
 * those of the binding rule: the denying rule with the longest `retryAfterMs`, or if none denies, the rule with the
 * least `remaining`.
 */
export class Decision {
  private constructor()
  /** The name of the limiter. */
  readonly name: string
  /** Whether the call was admitted. A denied call is not charged. */
  readonly allowed: boolean
  /** Whether the policy denies the call, which is allowed only because of `enforce: false`. It was not charged. */
  readonly wouldDeny: boolean
  /** The limit of the binding rule. */
  readonly limit: number
  /** How much could be consumed now; 0 while the key is blocked. */
  readonly remaining: number
  /**
   * After how many milliseconds the same call would be admitted if nothing else called: 0 when admitted, null when
   * never.
   */
  readonly retryAfterMs: number | null
  /** In how many milliseconds the binding rule is full again and a block has ended; `rules` has the other rules. */
  readonly resetAfterMs: number
  /** The cost of the call; with {@link Limiter.consumeUpTo}, the amount that was taken. */
  readonly cost: number
  /**
   * The source of the answer: `redis`, `memory`, `lease` (prefetched permits), `deny-cache` (this process, by what
   * Redis denied a moment ago), or, while Redis cannot answer, `local`, `open` or `closed`.
   */
  readonly source: Source
  /** Whether a damaged or foreign value at the key was replaced. */
  readonly healed: boolean
  /** The answer of each rule, in the order of the policy. */
  readonly rules: readonly RuleDecision[]
  /**
   * The header fields for the response, in their order. A denial has `Retry-After`: whole seconds, rounded up, at least
   * 1. If the call can never be admitted, it is the longest period of the rules that can never admit it.
   */
  headers(options?: HeaderOptions): Record<string, string>
  /**
   * The body of the response to a denied request, by RFC 9457 (`application/problem+json`). Its `status` is 429, or 503
   * if Redis could not be asked and `onError: 'closed'` denied.
   *
   * @throws {InvalidArgumentError} if the call was allowed.
   */
  problem(): Problem
}

/** The answer of {@link Client.consumeAll} about several keys, charged all or none. */
export class CombinedDecision {
  private constructor()
  /** Whether all were admitted. If not, none was charged. */
  readonly allowed: boolean
  /** Whether a limiter that is not enforced denies. */
  readonly wouldDeny: boolean
  /**
   * The index in `decisions` of the binding one: the one that denies with the longest `retryAfterMs`, or if none
   * denies, the one with the least {@link Decision.remaining}.
   */
  readonly binding: number
  /**
   * After how many milliseconds the same call would be admitted if nothing else called: 0 when admitted, null when
   * never.
   */
  readonly retryAfterMs: number | null
  /**
   * The source of the answer: `redis`, `memory`, `lease` (prefetched permits), `deny-cache` (this process, by what
   * Redis denied a moment ago), or, while Redis cannot answer, `local`, `open` or `closed`.
   */
  readonly source: Source
  /** The decision about each key, in the order given. */
  readonly decisions: readonly Decision[]
  /**
   * The header fields for the response, in their order. A denial has `Retry-After`: whole seconds, rounded up, at least
   * 1. If the call can never be admitted, it is the longest period of the rules that can never admit it.
   */
  headers(options?: HeaderOptions): Record<string, string>
  /**
   * The body of the response to a denied request, by RFC 9457 (`application/problem+json`). Its `status` is 429, or 503
   * if Redis could not be asked and `onError: 'closed'` denied.
   *
   * @throws {InvalidArgumentError} if the call was allowed.
   */
  problem(): Problem
}

/** An amount held by {@link Limiter.reserve}. Any process that knows its limiter, key and id can settle it. */
export class Reservation {
  private constructor()
  /** The key as it was given. */
  readonly key: string | Buffer
  /** The id: 32 hexadecimal digits. */
  readonly id: string
  /** The answer of {@link Limiter.reserve}; null if this was made by {@link Limiter.reservation}. */
  readonly decision: Decision | null
  /** Whether the estimate was admitted, as `decision` says; null if that is null. */
  readonly allowed: boolean | null
  /**
   * Replaces the estimate by the `actual` amount. An excess is given back to the rules that still count it; a shortfall
   * is charged, even above the limit. Returns false and changes nothing if the reservation had ended, or was settled
   * with another amount. You can repeat it after an error: with the same amount it returns true and changes nothing,
   * for ten seconds or until the reservation's `ttlMs` ends if that is sooner.
   *
   * Rejects with {@link UnavailableError} if Redis cannot answer, whatever {@link ClientOptions.onError} is.
   *
   * @param actual 0 to 2^52.
   */
  settle(actual: number): Promise<boolean>
  /**
   * Gives the whole estimate back: {@link settle} with 0.
   *
   * Rejects with {@link UnavailableError} if Redis cannot answer, whatever {@link ClientOptions.onError} is.
   */
  cancel(): Promise<boolean>
}

/**
 * A handle for a lock; made by {@link Client.lock} and similar methods. One caller at a time can acquire it, and can
 * acquire it again after its release. It is not re-entrant.
 *
 * A lock is a lease: it ends by itself when it is not renewed. `state`, `held` and `remainingMs` are computed with the
 * clock of the process: the deadline is `ttl` after the request was sent, less 1 % and 2 ms. After the deadline the
 * lock is lost, even if Redis still has it. To be safe from a holder that was paused, let the resource refuse every
 * fencing `token` smaller than the largest that it has seen. A forked child does not hold the locks of its parent.
 *
 * Calls that ask Redis can fail with {@link UnavailableError}, {@link TimeoutError}, {@link NotPermittedError},
 * {@link WrongTypeError}, {@link NewerVersionError} and {@link ClosedError}, whatever {@link ClientOptions.onError} is.
 *
 * A process ends by itself while it holds a lock but waits for none: the lock then ends with its ttl at the latest. A
 * handle that is garbage-collected while it holds is released in the background, if it renews; one whose `signal` was
 * asked for is not collected before it is released or lost.
 */
export class Lock implements AsyncDisposable {
  private constructor()
  /** The names as they were given. */
  readonly names: readonly (string | Buffer)[]
  /**
   * The Redis keys, one for each name: `<prefix>:lock:{<name>}`, of a semaphore `<prefix>:sem:{<name>}`, of a
   * read-write lock `<prefix>:rw:{<name>}`.
   */
  readonly redisKeys: Buffer[]
  /** How long a grant lasts unless it is renewed, in milliseconds. */
  readonly ttlMs: number
  /**
   * The fencing token of the grant, larger than that of every grant of the name before; null if it was never acquired,
   * or is released. It stays after a loss.
   */
  readonly token: number | null
  /**
   * The state as the handle knows it, without asking Redis: `released` (or never acquired), `held`, `uncertain` (held,
   * but the last renewal failed) or `lost`.
   */
  readonly state: LockState
  /** Whether it is held for certain now. */
  readonly held: boolean
  /** For how many milliseconds it is held for certain unless it is renewed; 0 if it is not. It is rounded down. */
  readonly remainingMs: number
  /**
   * Fires once when the lock is lost: taken away, or not renewed before its deadline. Its reason is a
   * {@link LostError}. Each grant has its own: before the first and after a release this is the signal of the grant to
   * come, after a loss it is the fired one until the next grant. It never fires for a release.
   */
  readonly signal: AbortSignal
  /**
   * Acquires it: true if it is held now, false if it was not granted in time. Waiting does not poll. A wait that ends
   * without the lock leaves nothing behind.
   *
   * Rejects with {@link InvalidArgumentError} if this handle holds the lock, or is being acquired; with
   * {@link CrossSlotError} for names in several slots of a cluster.
   */
  acquire(options?: AcquireOptions): Promise<boolean>
  /**
   * Releases it: true if it was held until now, false if it was lost or is not held. If the release fails, the lock
   * ends with its ttl at the latest. Renewal stops at once.
   *
   * Rejects with {@link UnavailableError} if Redis cannot answer.
   */
  release(): Promise<boolean>
  /**
   * Extends the lease to at least `ttlMs` from now: false if it was lost. It never shortens.
   *
   * Rejects with {@link UnavailableError} if Redis cannot answer.
   *
   * @param ttlMs 10 ms to 7 days; default: the lock's own.
   */
  extend(ttlMs?: number): Promise<boolean>
  /**
   * Writes the lease down as a short text, by which another process adopts it ({@link Client.adopt}), and ends this
   * handle: it is released, no longer renewed, and its {@link release} is false. Does not ask Redis.
   *
   * The lease is not renewed until the lock is adopted, so the text must arrive within what `remainingMs` shows. Anyone
   * who has the text can take the lease: treat it as a secret. It contains no password.
   *
   * @throws {LostError} unless the lock is held for certain now.
   * @throws {InvalidArgumentError} for a lock over several servers.
   */
  handover(): string
  /**
   * Fails unless it is held for certain now. Does not ask Redis.
   *
   * @throws {LostError} if it is not.
   */
  assertHeld(): void
  /**
   * Makes every later token larger than `floor`: for a resource that has seen a larger token than the lock gave. Does
   * not ask Redis.
   *
   * @param floor 0 to 2^52.
   * @throws {InvalidArgumentError} for a floor out of these bounds.
   */
  raiseFloor(floor: number): void
  /** The holders of the lock (of several names, the first), and how many callers wait for it. */
  inspect(): Promise<Inspection>
  /**
   * Takes it away from all holders, and returns how many there were. For operators: the holders learn of it as a loss
   * when they next renew, extend or release.
   */
  forceRelease(): Promise<number>
  /**
   * Acquires it, calls `fn` with this handle, releases it however the function ends, and returns what it returned. A
   * lock that is held already is not acquired again. A handle runs one function at a time. An error of `fn` is that of
   * the call.
   *
   * Rejects with {@link NotAcquiredError} if it is not granted in time; then the function is not called; with
   * {@link LostError} if the function did not fail but the lock was lost meanwhile; with {@link UnavailableError} if
   * Redis cannot answer.
   */
  run<T>(fn: Holding<T>, options?: AcquireOptions): Promise<T>
  /** Releases. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * The units of a sale; made by {@link Client.stock}. It does not oversell as long as Redis loses no data.
 *
 * Units that are not confirmed before their hold ends return to stock at the next call that writes. At any time
 * `available + held + sold` is the number of all units. Calls are repeated after a lost reply within the client's
 * timeout: nothing is taken, sold or added twice. All of them can fail with {@link UnavailableError},
 * {@link TimeoutError}, {@link NotPermittedError}, {@link WrongTypeError}, {@link NewerVersionError} and
 * {@link ClosedError}, whatever {@link ClientOptions.onError} is.
 */
export class Stock {
  private constructor()
  /** The name as it was given. */
  readonly name: string | Buffer
  /** The scope given; null without one. */
  readonly scope: string | Buffer | null
  /**
   * The Redis keys: hash, holds and ledger. `<prefix>:stock:{<name>}`, with a scope
   * `<prefix>:stock:{<scope>}:{<name>}`, then the same with `:holds` and `:ledger`.
   */
  readonly redisKeys: Buffer[]
  /**
   * Opens the sale: true if this call opened it, false if it is open with the same numbers and prizes; then nothing
   * changes.
   *
   * Rejects with {@link InvalidArgumentError} if it is open with others, which are named.
   *
   * @param quantity 1 to 2^52.
   */
  open(quantity: number, options?: OpenOptions): Promise<boolean>
  /**
   * Ends the sale now and for good: true if this call ended it, false if it had ended before. Takes are refused as
   * `ended`; units that are held can still be confirmed, cancelled and extended. The sale is kept for its
   * {@link StockOptions.retentionMs} after the last of its holds has ended, or from now; until then its name cannot be
   * used again.
   *
   * Rejects with {@link InvalidArgumentError} if it was never opened.
   */
  close(): Promise<boolean>
  /**
   * Adds units to a sale, even after its end, and returns the number of all units, including sold ones. A sale with
   * prizes needs a prize for each new unit.
   *
   * Rejects with {@link InvalidArgumentError} if it was never opened, or for a wrong number of prizes.
   *
   * @param quantity 1 to 2^52.
   */
  restock(quantity: number, options?: RestockOptions): Promise<number>
  /**
   * Holds units for a buyer; if it cannot, {@link Taken.outcome} has the reason. Units that are not confirmed in time
   * return to stock.
   *
   * The same request id for the same buyer returns the first reservation again, even if it has ended, while it is
   * remembered: as long as the hold, or the client's `requestMemoryMs` if that is longer. A refused call is decided
   * again.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid buyer or number.
   *
   * @param buyer 1 to 1,024 bytes.
   */
  take(buyer: Key, options?: TakeOptions): Promise<Taken>
  /**
   * Sells the units of a reservation. Returns true, even if it was confirmed before (which is remembered for at least a
   * day); false if the hold had ended or was cancelled, and then sells nothing. It works after the end of the sale too.
   *
   * Rejects with {@link InvalidArgumentError} for an id of another stock.
   */
  confirm(id: string): Promise<boolean>
  /**
   * Gives the units of a reservation back to the stock. Returns true, even if it was cancelled before, as long as that
   * is remembered; false if the hold had ended or was confirmed.
   *
   * Rejects with {@link InvalidArgumentError} for an id of another stock.
   */
  cancel(id: string): Promise<boolean>
  /**
   * Makes a hold last for at least `holdMs` from now, and never shortens it; false if it had ended, or was confirmed or
   * cancelled.
   *
   * Rejects with {@link InvalidArgumentError} for an id of another stock.
   *
   * @param holdMs 1 ms to 30 days; default: 600,000 ms, 10 minutes.
   */
  extend(id: string, holdMs?: number): Promise<boolean>
  /** The numbers of the sale. */
  status(): Promise<StockStatus>
  /**
   * Lists open holds in the order in which they end. It leaves out none, but a hold that is extended meanwhile may be
   * listed twice.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid cursor or count.
   */
  reservations(options?: PageOptions): Promise<StockPage>
  /**
   * Reads entries of the ledger, in order. If you store the last id together with your own changes, you read every
   * entry at least once, as long as the ledger keeps them.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid id or count.
   */
  ledger(options?: LedgerOptions): Promise<readonly LedgerEntry[]>
}

/** The answer of {@link Stock.take}. */
export class Taken {
  private constructor()
  /** The outcome: `held`, `sold_out`, `buyer_limit`, `not_open` or `ended`. */
  readonly outcome: TakeOutcome
  /** The units that are held; null unless the outcome is `held`. */
  readonly reservation: StockReservation | null
  /** How many units are available after it. */
  readonly available: number
}

/** The answer of {@link Client.takeAll}. If not all the units are held, none is. */
export class TakenAll {
  private constructor()
  /** The outcome; if the take was refused, that of the first stock that refuses. */
  readonly outcome: TakeOutcome
  /** The index of the stock that refuses, from 0; null if none does. */
  readonly refused: number | null
  /** The units that are held of each stock, in the order given; empty unless the outcome is `held`. */
  readonly reservations: readonly StockReservation[]
  /** How many units of each stock are available after it, in the order given. */
  readonly available: readonly number[]
}

/** Units of a stock that are held for a buyer. */
export class StockReservation {
  private constructor()
  /** The id, with which any process can confirm, cancel or extend it. It is printable and cannot be guessed. */
  readonly id: string
  /** How many units. */
  readonly quantity: number
  /** The buyer. */
  readonly buyer: Buffer
  /** The prizes of the units; empty if the sale has none. */
  readonly prizes: readonly Buffer[]
  /** When the hold ends, in milliseconds since the epoch by the server's clock. */
  readonly untilMs: number
}

/** Some reservations of a stock: the answer of {@link Stock.reservations}. */
export class StockPage {
  private constructor()
  /** The reservations, in the order in which they end. */
  readonly reservations: readonly StockReservation[]
  /** The cursor of the next page; null if there is none. */
  readonly next: string | null
}

/**
 * The numbers of a sale: the answer of {@link Stock.status}. `available + held + sold` are `quantity`; all 0 if it is
 * not open.
 */
export class StockStatus {
  private constructor()
  /** The phase: `not_open`, `open` or `ended`, when holds can still be confirmed. */
  readonly phase: StockPhase
  /** All units there are. */
  readonly quantity: number
  /** Those that can be taken. */
  readonly available: number
  /** Those of reservations that are neither confirmed nor cancelled nor returned. */
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
  /** The change: `opened`, `restocked`, `held`, `confirmed`, `cancelled`, `expired`, `extended` or `closed`. */
  readonly kind: LedgerKind
  /**
   * The id of the reservation; null for an opening, a restock and a closing, and for units that expired after the key
   * of their holds was deleted.
   */
  readonly reservation: string | null
  /** The buyer; null without a reservation. */
  readonly buyer: Buffer | null
  /** How many units; 0 for a closing. */
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
 * Work that is done once for each id; made by {@link Client.once}. An id is 1 to 1,024 bytes.
 *
 * All calls can fail with {@link UnavailableError}, {@link TimeoutError}, {@link NotPermittedError},
 * {@link WrongTypeError}, {@link NewerVersionError} and {@link ClosedError}, whatever {@link ClientOptions.onError} is,
 * since the work might be done twice.
 */
export class Once {
  private constructor()
  /** The name given. */
  readonly name: string
  /**
   * Claims an id: {@link Claimed.first} shows whether this caller is the first, and {@link Claimed.value} is the value
   * of the first. If the reply of a claim is lost, it is asked for again, and stays the caller's. While a {@link run}
   * of the id runs, no claim is the first.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid id or value.
   *
   * @param id 1 to 1,024 bytes.
   * @param value the value that later callers get: any bytes, at most 64 MiB.
   */
  claim(id: Key, value?: Value | null): Promise<Claimed>
  /**
   * Removes an id, even if another caller claimed it, so the next caller is the first: true if it was stored. A
   * function that runs for it continues, but its result is not stored.
   *
   * @param id 1 to 1,024 bytes.
   */
  release(id: Key): Promise<boolean>
  /**
   * Returns the result of the first run for this id. If there is none, this call runs `fn`, and the other callers wait
   * for its result.
   *
   * If the function fails, its caller gets the error. The next caller runs it again, unless `errorTtlMs` remembers the
   * error. If its process dies, the next caller runs it when the lease has ended, so it must be safe to run twice.
   *
   * Rejects with {@link TimeoutError} if the result did not come in time; with {@link LoadFailedError} if the function
   * failed a moment ago and the error is remembered.
   *
   * @param id 1 to 1,024 bytes.
   * @param fn returns any bytes, at most 64 MiB, text as UTF-8, or null.
   */
  run(id: Key, fn: Deed, options?: GetOptions): Promise<Buffer | null>
  /**
   * The Redis key of an id: `<prefix>:once:<name>:{<id>}`.
   *
   * @param id 1 to 1,024 bytes.
   */
  redisKey(id: Key): Buffer
}

/** The answer of {@link Once.claim}. */
export class Claimed {
  private constructor()
  /** Whether this caller is the first. */
  readonly first: boolean
  /** The value of the first caller; null if there is none, or no result yet. */
  readonly value: Buffer | null
  /** Whether a function is running for the id, without a result yet. */
  readonly running: boolean
  /** How many milliseconds are left until the claim ends, or the lease of the running function. */
  readonly remainingMs: number
  /** How many milliseconds ago it was claimed. */
  readonly ageMs: number
}

/**
 * A cache without stampedes; made by {@link Client.cache}. On a miss, one caller across all processes loads the value.
 * When a value is stale, and sometimes a little earlier, one caller loads a new one, and the others are served the old
 * one.
 *
 * Keys are 1 to 1,024 bytes, values up to 64 MiB, or null: it is known that there is no value. All calls can fail with
 * {@link UnavailableError}, {@link TimeoutError}, {@link NotPermittedError}, {@link WrongTypeError},
 * {@link NewerVersionError} and {@link ClosedError}, whatever {@link ClientOptions.onError} is; with `whenAway: 'load'`
 * a {@link get} loads instead of the first two.
 */
export class Cache {
  private constructor()
  /** The name given. */
  readonly name: string
  /**
   * Returns the value of `key`, fresh or stale, or runs `load` if this caller is to load it. On a miss, while another
   * caller loads, it waits for the value. If `load` fails, its caller gets the error; for `errorTtlMs` other callers
   * get the stale value or {@link LoadFailedError}. A `load` must not get its own key, since it would wait for itself.
   *
   * Rejects with {@link TimeoutError} if the value did not come in time; with {@link LoadFailedError} if a loader
   * failed a short time ago.
   *
   * @param key at most 1,024 bytes.
   */
  get(key: Key, load: Load, options?: GetOptions): Promise<Buffer | null>
  /**
   * Returns the values of several keys, in their order, with one call to Redis. `load` gets the missing keys that no
   * other caller loads. A key that it leaves out has no value; a key that it adds is ignored. Then this waits for keys
   * that other callers load, and loads them one by one if the others fail. In a cluster the keys may be in any slots;
   * the call then takes a round trip for each slot.
   *
   * Rejects with {@link TimeoutError} if a value did not come in time; with {@link LoadFailedError} if the last load of
   * a key failed a short time ago; what this call loaded is stored before.
   *
   * @param keys at most 1,000, none twice.
   */
  getMany<K extends Key>(keys: readonly K[], load: LoadMany<K>, options?: GetOptions): Promise<Map<K, Buffer | null>>
  /**
   * As {@link get}, with a value that is stored as JSON. Every caller, including the one that loads, gets the value as
   * read back from JSON; null means no value.
   *
   * Rejects with {@link InvalidArgumentError} for what another language cannot read: more than 512 lists and objects
   * within each other, or half of a surrogate pair; with {@link TimeoutError} if the value did not come in time; with
   * {@link LoadFailedError} if a loader failed a short time ago.
   */
  getJson<T>(key: Key, load: LoadJson<T>, options?: GetOptions): Promise<T>
  /** Returns the value of a key, fresh or stale, without loading or waiting; null if there is no value. */
  peek(key: Key): Promise<Seen | null>
  /**
   * Stores a value that you already have. It counts as newer than whatever is being loaded.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid value.
   *
   * @param value null means that there is no value; if `negativeMs` is 0, that only forgets the key.
   */
  put(key: Key, value: Value | null): Promise<void>
  /** Forgets a key: a value that was loaded, or is being loaded now, is no longer served; true if there was a value. */
  invalidate(key: Key): Promise<boolean>
  /** The Redis key of a key: `<prefix>:cache:<name>:{<key>}`. */
  redisKey(key: Key): Buffer
}

/** A value that {@link Cache.peek} found. */
export class Seen {
  private constructor()
  /** The value; null if it is known that there is none. */
  readonly value: Buffer | null
  /** Whether it is not fresh any more. */
  readonly stale: boolean
  /** How old it is in milliseconds. */
  readonly ageMs: number
}

/** The holders of a lock and how many callers wait for it: the answer of {@link Lock.inspect}. */
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

/** A holder of a lock. */
export class Holder {
  private constructor()
  /** The host it runs on; empty if it is not known. */
  readonly host: string
  /** Its process there; 0 if it is not known. */
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

/** The answer of one rule of a policy. */
export class RuleDecision {
  private constructor()
  /** Whether this rule admits by itself. */
  readonly allowed: boolean
  /** The most that this rule admits at once: its capacity. */
  readonly limit: number
  /** How much this rule would let be consumed now. */
  readonly remaining: number
  /** After how many milliseconds this rule would admit the same call: 0 now, null never. */
  readonly retryAfterMs: number | null
  /** In how many milliseconds this rule is full again. */
  readonly resetAfterMs: number
  /** How this rule counts. */
  readonly algorithm: Algorithm
  /** How much this rule admits per period. */
  readonly quota: number
  /** The period in milliseconds. */
  readonly periodMs: number
  /** The most that this rule admits at once: the quota, except for a token bucket with another capacity. */
  readonly capacity: number
}

/** One rule of a policy: at most `limit` per `periodMs`. */
export interface Rule {
  /**
   * The amount per period; of a `sliding-log` at most 2^39, and of a token bucket less if it takes decades to fill (1
   * to 2^52).
   */
  readonly limit: number
  /** The period, in whole milliseconds (1 ms to 36,500 days). */
  readonly periodMs: number
  /**
   * How the rule counts: `fixed-window`, `calendar-window`, `sliding-window`, `token-bucket` or `sliding-log` (default:
   * `fixed-window`).
   */
  readonly algorithm?: Algorithm | undefined
  /** For a token bucket only: the most that may be consumed at once (1 to 2^52; default: the limit). */
  readonly capacity?: number | null | undefined
}

/**
 * Charges `cost` to `key` under the limiter `name` and `policy`, and returns what {@link Limiter.consume} returns. It
 * is the one-line form of a limiter: the first call makes a client for `QUOTALOCK_URL`.
 *
 * @param name part of its Redis keys: all of one kind, name and prefix share their state.
 * @param policy the rules that it decides by, such as `10/minute;100/hour`.
 */
export function limit(name: string, key: Key, policy: Policy, options?: CallOptions): Promise<Decision>

/**
 * Acquires a mutex over several independent servers: held if most of them granted it within its ttl, so it survives the
 * loss of the others.
 *
 * Each server has a twentieth of the ttl to answer. Waiters ask again every 10 to 50 ms. A server that was started less
 * than a ttl ago and keeps no append-only file has no vote.
 *
 * Rejects with {@link NotAcquiredError} as {@link Client.lock}; with {@link InvalidArgumentError} as
 * {@link Client.lock}, for too few or too many clients, and for one that is given twice.
 *
 * @param clients 3 to 15, better an odd number, each with its own server.
 * @param name 1 to 1,024 bytes of anything.
 */
export function quorumLock(clients: readonly Client[], name: Key, options?: QuorumOptions): Promise<Lock>

/**
 * The address of the client that sent a request, as a text to be used as a key.
 *
 * The header counts only if the peer is trusted. It is read from its right end, and the first address that is not
 * trusted is the client's: entries further left were written by that client. An entry that is not an address ends the
 * reading; then the address is that of the proxy which sent it. An IPv6 address stands for its network, such as
 * `2001:db8:1:2::/64`.
 *
 * @param peer the address of the socket; null or an empty text is a Unix socket. In an HTTP server it is
 *     `request.socket.remoteAddress`.
 * @param forwarded the value of `X-Forwarded-For` or `Forwarded` (RFC 7239), or one for each line of it.
 * @param trusted the proxies: addresses, networks (`10.0.0.0/8`), and the words `loopback`, `private` and `unix`.
 * @throws {InvalidArgumentError} for an invalid address or network, for one that contains all addresses, and if there
 *     is no address at all: a Unix socket, and nothing in the header.
 */
export function clientAddress(
  peer: string | null | undefined,
  forwarded: string | readonly string[] | null | undefined,
  trusted: readonly string[],
  options?: AddressOptions,
): string

/**
 * The counters until now, of this process and those that count with it; empty where `QUOTALOCK_METRICS=off`.
 *
 * Each metric has its `name` as Prometheus calls it, a `help` in one sentence, its `kind` (`counter`, `gauge` or
 * `histogram`), and `samples`, each with `labels` and a `value`; of a histogram instead of that `buckets` (pairs of a
 * bound in seconds and how many took no longer; the last bound is infinite), `sum` in seconds and `count`. Metrics that
 * were never counted are left out. No key shows: labels are the names of limiters, stocks, caches and servers.
 * Processes that name the same file in `QUOTALOCK_METRICS_FILE` count together.
 */
export function metrics(): Metric[]

/** The same as text that Prometheus reads: serve it as `text/plain; version=0.0.4; charset=utf-8`. */
export function prometheus(): string

/** The time of one client, which stands still until a test moves it; its class is `testing.Clock`. TTLs run in real time. */
export interface Clock {
  /** The client's time, in milliseconds since the epoch. */
  readonly nowMs: number
  /** Moves the client's time on by so many milliseconds; back by less than 0. */
  advance(ms: number): void
}

/** Options of `testing.decision`. */
export interface TestDecision {
  /** The policy (default: `10/minute`). */
  policy?: Policy | undefined
  /** How much was consumed before, at most the limit (default: 0). */
  used?: number | undefined
  /** The cost (default: 1). */
  cost?: number | undefined
  /** The limiter's name (default: `test`). */
  name?: string | undefined
  /** The key (default: `test`). */
  key?: Key | undefined
  /** The answer is that of a client with this `onError` while Redis is down. */
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
   * Sets the time, in microseconds since the epoch (from 1973 to 2^52), at which every later call of this client is
   * decided, also on a real server; null goes back to the server's clock. Other clients of the same server or memory
   * keep theirs.
   */
  setTime(client: Client, micros: number | null): void
  /**
   * Replaces the value at a raw Redis key: `string` puts the value without a TTL, `list` a list of another program,
   * `persist` removes the TTL of what is there.
   */
  put(client: Client, redisKey: Key, kind: 'string' | 'list' | 'persist', value: Key): Promise<void>
  /** Reads the value at a raw Redis key, and the milliseconds until it expires (null: no TTL); null without a key. */
  get(client: Client, redisKey: Key): Promise<{ value: Buffer; ttlMs: number | null } | null>
}

/** The kind of an error; stable, and the same in every language. */
export type Code =
  | 'invalid_argument'
  | 'invalid_policy'
  | 'unavailable'
  | 'timeout'
  | 'wrong_type'
  | 'newer_version'
  | 'cross_slot'
  | 'not_permitted'
  | 'limited'
  | 'not_acquired'
  | 'lost'
  | 'load_failed'
  | 'closed'
  | 'internal'

/** The base class of all errors of this package. The message names the value, key or host, and the cure. */
export class QuotalockError extends Error {
  constructor(message?: string)
  /** The kind of the error. */
  readonly code: Code
}

/** A value that is never valid: an empty key, a negative cost, an invalid URL. */
export class InvalidArgumentError extends QuotalockError {
  readonly code: 'invalid_argument'
}

/** A policy that does not parse or has an impossible amount, period or unit. */
export class InvalidPolicyError extends QuotalockError {
  readonly code: 'invalid_policy'
}

/** Redis could not be reached, closed the connection, or refused to work for now. */
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

/** A newer version of Quotalock wrote the value of the key. */
export class NewerVersionError extends QuotalockError {
  readonly code: 'newer_version'
}

/** The keys of one call are in different slots of a cluster. */
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

/** A lock was not acquired in time. The message names the holder. */
export class NotAcquiredError extends QuotalockError {
  readonly code: 'not_acquired'
}

/** A lock was lost, or is not held. */
export class LostError extends QuotalockError {
  readonly code: 'lost'
}

/** A loader of a cache, or the function of {@link Once.run}, failed a short time ago. */
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
