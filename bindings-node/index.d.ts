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

/** The policy of a limiter: text such as `10/minute;100/hour`, a rule, or several that must all allow a call. */
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

/**
 * The answer of a limiter while Redis cannot answer: an error, an allowed call, a denied call, or the decision of the
 * same policy in the memory of this process.
 */
export type OnError = 'raise' | 'open' | 'closed' | 'local'

/**
 * The source of an answer: Redis, the store of `memory://`, prefetched permits of this process (`lease`), or a recent
 * denial by Redis that this process remembers (`deny-cache`). While Redis cannot answer, it is what `onError` selects:
 * `local`, `open` or `closed`.
 */
export type Source = 'redis' | 'memory' | 'lease' | 'local' | 'open' | 'closed' | 'deny-cache'

/** The treatment of a reservation that is not settled in time: it counts as spent, or it is given back. */
export type Unsettled = 'spent' | 'returned'

/**
 * The state of a handle: `released` (or never acquired), `held` (certainly, until the deadline), `uncertain` (held
 * until the deadline, but the last renewal failed) or `lost` (no longer held, although it was not released).
 */
export type LockState = 'released' | 'held' | 'uncertain' | 'lost'

/** The outcome of a take. With any outcome other than `held`, no unit is held. */
export type TakeOutcome = 'held' | 'sold_out' | 'buyer_limit' | 'not_open' | 'ended'

/**
 * The phase of a sale: `not_open` (never opened, or no longer kept), `open`, or `ended` (closed, or past its `endsMs`).
 * In the phase `ended`, holds can still be confirmed.
 */
export type StockPhase = 'not_open' | 'open' | 'ended'

/** The kind of a change in a ledger. */
export type LedgerKind = 'opened' | 'restocked' | 'held' | 'confirmed' | 'cancelled' | 'expired' | 'extended' | 'closed'

/** The behaviour of a `get` while Redis cannot answer. */
export type WhenAway = 'raise' | 'load'

/** Options of a new {@link Client}. */
export interface ClientOptions {
  /** The first part of every Redis key, without braces (default: `ql`). */
  readonly prefix?: string | undefined
  /** The longest time that a call may take, including the connection to Redis (1 ms to 1 hour; default: 500 ms). */
  readonly timeoutMs?: number | undefined
  /**
   * The answer of a limiter while Redis cannot answer: an error (`raise`), an allowed call (`open`), a denied call
   * (`closed`), or the decision of the same policy in the memory of this process (`local`) (default: `raise`).
   */
  readonly onError?: OnError | undefined
  /**
   * How long a call with a request id is remembered; never shorter than `timeoutMs` (1 ms to 1 day; default:
   * 60,000 ms).
   */
  readonly requestMemoryMs?: number | undefined
  /**
   * A function that returns the password, if the URL has none. Quotalock calls the function when a connection first
   * logs in, and again when the server refuses the password. Calls to Redis wait for the function. If the function
   * throws, they fail with its error. The wait is part of a call's timeout.
   */
  readonly password?: (() => string | PromiseLike<string>) | undefined
  /**
   * The longest time for which this process remembers a denial (0 ms to 1 minute; default: 1,000 ms). After Redis has
   * denied a call, the process denies the same call without asking Redis, until the call could be allowed. With 0,
   * every call asks Redis.
   */
  readonly denyCacheMaxMs?: number | undefined
  /**
   * A function that is called after each decision that charges or denies, by any limiter of this client, right before
   * the call ends. It gets the decision and the key as it was given. It is not called for calls that only read the
   * state, fail or are aborted. An error in the function does not affect the call. An error in it becomes a warning of
   * the process (`QUOTALOCK_HOOK`). The function is not awaited.
   */
  readonly onDecision?: ((decision: Decision, key: Key) => void) | undefined
  /**
   * A function that is called when a lock of this client is found to be lost, once for each grant. It gets the handle.
   * An error in it is treated like one in `onDecision`.
   */
  readonly onLost?: ((lock: Lock) => void) | undefined
  /**
   * Whether this process sends a report to Redis once per second, in the background, for `quotalock top` (default:
   * false). The report has the number of decisions of each limiter, and the keys that were denied most often. Decisions
   * that do not fit or that are not sent are dropped, and their number is reported.
   */
  readonly report?: boolean | undefined
}

/** Options of {@link Client.limiter}. */
export interface LimiterOptions {
  /**
   * The hash tag of all keys of the limiter, 1 to 1,024 bytes (default: each key is its own hash tag). In a cluster,
   * all keys with one scope are in the same slot, so {@link Client.consumeAll} can charge keys of several limiters with
   * that scope.
   */
  readonly scope?: Key | undefined
  /**
   * Whether the policy is enforced (default: true). With false, every call is allowed. A call that the policy would
   * deny has {@link Decision.wouldDeny} set, and is not charged. Use this to try a policy on real traffic.
   */
  readonly enforce?: boolean | undefined
  /**
   * The largest number of permits that the limiter takes from Redis at once, from 2 to the smallest capacity of the
   * policy (default: each call asks Redis). Calls of this process then spend these permits without asking Redis.
   * `sliding-window` and `sliding-log` do not support this option.
   */
  readonly prefetch?: number | undefined
}

/** Options of a call. */
export interface CallOptions {
  /** The cost of the call (0 to 2^52; default: 1). A call with the cost 0 only reads the state. */
  readonly cost?: number | undefined
  /**
   * When the signal fires, the call is rejected with the signal's reason. A call that was already sent may still be
   * counted.
   */
  readonly signal?: AbortSignal | undefined
}

/** Options of {@link Limiter.consume}. */
export interface ConsumeOptions extends CallOptions {
  /**
   * An id that makes the call safe to repeat: 1 to 256 bytes, such as a UUID. While the id is remembered, a call with
   * the same id and key returns the first answer and is not charged again. A denial is not remembered: the next call
   * with its id is decided again.
   */
  readonly requestId?: RequestId | undefined
}

/** Options of {@link Client.consumeAll}. */
export interface ConsumeAllOptions {
  /**
   * An id that makes the call safe to repeat, as in {@link Limiter.consume}. It belongs to this set of keys, in any
   * order: use another id for other keys.
   */
  readonly requestId?: RequestId | undefined
  /**
   * When the signal fires, the call is rejected with the signal's reason. A call that was already sent may still be
   * counted.
   */
  readonly signal?: AbortSignal | undefined
}

/** Options of {@link Limiter.refund}. */
export interface RefundOptions {
  /**
   * An id that makes the call safe to repeat: 1 to 256 bytes. While the id is remembered, a second call with the same
   * id and key gives nothing back.
   */
  readonly requestId?: RequestId | undefined
}

/** Options of {@link Limiter.reserve}. */
export interface ReserveOptions {
  /** The longest time for which the estimate is held (1 ms to 36,500 days). */
  readonly ttlMs: number
  /**
   * The treatment of an estimate that is not settled within `ttlMs`: it stays charged (`spent`), or it is given back
   * (`returned`) (default: `spent`).
   */
  readonly unsettled?: Unsettled | undefined
}

/** Options of {@link Limiter.wait}. */
export interface WaitOptions extends CallOptions {
  /** The longest time to wait (0 ms to 36,500 days). */
  readonly timeoutMs: number
}

/** How long an acquisition waits, and what ends it. */
export interface AcquireOptions {
  /**
   * The longest time to wait (0 ms to 36,500 days; default: the `waitMs` of the handle). With 0, the call asks Redis
   * once and does not wait.
   */
  readonly waitMs?: number | undefined
  /**
   * When the signal fires, the acquisition is rejected with the signal's reason. If the lock was granted at that
   * moment, it is released. The signal has no effect on a lock that is already held.
   */
  readonly signal?: AbortSignal | undefined
}

/** Options of a lock over several servers, which is acquired unless `acquire` is false. */
export interface QuorumOptions extends AcquireOptions {
  /** How long a grant lasts if it is not renewed (10 ms to 7 days; default: 30,000 ms). */
  readonly ttlMs?: number | undefined
  /**
   * Whether a thread of Quotalock renews the grant after each third of its ttl, even while the caller is busy (default:
   * true). With false, the lock ends at its deadline, and a dropped handle is not released earlier.
   */
  readonly renew?: boolean | undefined
  /**
   * The longest time for which the lock is renewed, so that a holder that hangs does not block the others forever
   * (default: 3,600,000 ms, 1 hour).
   */
  readonly maxHoldMs?: number | undefined
  /** Every fencing token is larger than this (0 to 2^52; default: 0). */
  readonly tokenAbove?: number | undefined
  /**
   * A text about the holder that {@link Lock.inspect} shows next to its host and process: up to 128 bytes of UTF-8,
   * without control characters (default: empty).
   */
  readonly label?: string | undefined
  /**
   * Whether the lock is acquired at once; if that fails, the promise is rejected (default: true). With false, the
   * promise resolves to a handle that holds nothing yet, for {@link Lock.acquire}, {@link Lock.run},
   * {@link Lock.inspect} and {@link Lock.forceRelease}.
   */
  readonly acquire?: boolean | undefined
}

/** Options of a lock, which is acquired unless `acquire` is false. */
export interface LockOptions extends QuorumOptions {
  /** Whether waiters are served in order of arrival (default: false). */
  readonly fair?: boolean | undefined
  /**
   * How many replicas must confirm a grant before it counts (0 to 2^32 - 1; default: 0). With 0, no replica is asked.
   * On `memory://`, which has no replicas, only 0 is valid.
   */
  readonly replicasAck?: number | undefined
  /** How long an acquisition waits for the replicas (1 ms to 1 minute; default: 100 ms). */
  readonly ackTimeoutMs?: number | undefined
}

/** How permits of a semaphore are taken. */
export interface SemaphoreOptions extends LockOptions {
  /** How many permits to acquire, all or none; at most all permits of the semaphore (1 to 2^31 - 1; default: 1). */
  readonly weight?: number | undefined
}

/** Options of {@link Client.adopt}. */
export interface AdoptOptions {
  /** Whether the lock is renewed in the background (default: true). */
  readonly renew?: boolean | undefined
  /**
   * The name that the lock must have (default: any lock). The text of a lock with another name is refused, and that
   * lock is not changed.
   */
  readonly name?: Key | undefined
}

/** Options of {@link Client.stock}. */
export interface StockOptions {
  /**
   * The hash tag of all keys of the stock, 1 to 1,024 bytes (default: each stock is its own hash tag). In a cluster,
   * all stocks with one scope are in the same slot, so one {@link Client.takeAll} can take from several of them. The
   * scope is a part of the keys, so all handles of a sale must have the same scope.
   */
  readonly scope?: Key | undefined
  /**
   * How many entries the ledger keeps, approximately (1,000 to 100,000,000; default: 100,000). The value is fixed when
   * the sale is opened.
   */
  readonly ledgerCap?: number | undefined
  /**
   * About how long the sale and its ledger are kept; they are never removed before half of this time (1 minute to
   * 36,500 days; default: 2,592,000,000 ms, 30 days). The time begins at the latest of three moments: the end of the
   * sale, the end of its last hold, and the last call that wrote. The value is fixed when the sale is opened.
   */
  readonly retentionMs?: number | undefined
}

/** Options of {@link Stock.open}. */
export interface OpenOptions {
  /** The largest number of units for one buyer, held and bought units together (1 to 2^52; default: no limit). */
  readonly perBuyer?: number | null | undefined
  /**
   * The end of the sale, in milliseconds since the epoch by the server's clock (default: never). After it, nothing can
   * be taken, but holds can still be confirmed.
   */
  readonly endsMs?: number | null | undefined
  /**
   * A prize for each unit, such as a coupon code or a seat: 1 to 1,024 bytes each, at most 10,000 in one call.
   * {@link Stock.restock} adds more. Reservations get the prizes in this order.
   */
  readonly prizes?: readonly (string | Uint8Array)[] | undefined
}

/** How units are added to a sale. */
export interface RestockOptions {
  /** A prize for each new unit, if the sale has prizes. */
  readonly prizes?: readonly (string | Uint8Array)[] | undefined
  /**
   * An id that makes the call safe to repeat: 1 to 256 bytes. The id is remembered for at least a day. In this time, a
   * second call with the same id adds nothing and returns the first answer.
   */
  readonly requestId?: RequestId | undefined
}

/** How units of several stocks are taken. */
export interface TakeAllOptions {
  /** How long the units are held (1 ms to 30 days; default: 600,000 ms, 10 minutes). */
  readonly holdMs?: number | undefined
  /**
   * An id that makes the call safe to repeat: 1 to 256 bytes. It belongs to the buyer and the stock. With
   * {@link Client.takeAll}, use a new id for each basket.
   */
  readonly requestId?: RequestId | undefined
}

/** How units are taken. */
export interface TakeOptions extends TakeAllOptions {
  /** How many units to take, all or none (1 to 2^52; default: 1). A call takes at most 1,000 units with prizes. */
  readonly quantity?: number | undefined
}

/** The page of reservations to return. */
export interface PageOptions {
  /** The {@link StockPage.next} of the previous page (default: the first page). */
  readonly cursor?: string | null | undefined
  /** The largest number of reservations to return (1 to 1,000; default: 100). */
  readonly count?: number | undefined
}

/** The entries of a ledger to return. */
export interface LedgerOptions {
  /**
   * The {@link LedgerEntry.id} of the last entry that you have read (default: the call begins with the oldest entry
   * that is kept). The call returns the entries after it.
   */
  readonly after?: string | null | undefined
  /** The largest number of entries to return (1 to 1,000; default: 100). */
  readonly count?: number | undefined
}

/** Options of {@link Client.once}. */
export interface OnceOptions {
  /** How long a claim or a result is remembered (1 ms to 3,650 days; default: 86,400,000 ms, 1 day). */
  readonly ttlMs?: number | undefined
  /**
   * How long one caller runs the function alone (10 ms to 1 hour; default: 10,000 ms). If this caller dies, the next
   * caller runs the function when the lease ends. The lease is not renewed, so make it longer than the function takes.
   */
  readonly leaseMs?: number | undefined
  /**
   * How long the error of a run is remembered (0 ms to 1 hour; default: 0 ms). With 0, the next caller runs the
   * function at once.
   */
  readonly errorTtlMs?: number | undefined
}

/** Options of {@link Client.cache}. */
export interface CacheOptions {
  /** How long a value is fresh (1 ms to 3,650 days; default: 60,000 ms). */
  readonly freshMs?: number | undefined
  /**
   * How long a stale value is still served after `freshMs`, while one caller loads a new value (0 ms to 3,650 days;
   * default: 0 ms).
   */
  readonly staleMs?: number | undefined
  /**
   * How long one caller loads alone (10 ms to 1 hour; default: 10,000 ms). The lease is not renewed: if a load takes
   * longer, another caller loads too, and the value of the load that began last is kept.
   */
  readonly leaseMs?: number | undefined
  /**
   * How long null, the result of a loader that found no value, is fresh (0 ms to 3,650 days; default: the value of
   * `freshMs`). With 0, null is not stored.
   */
  readonly negativeMs?: number | undefined
  /**
   * How long the error of a loader is remembered (0 ms to 1 hour; default: 1,000 ms). During this time no other caller
   * loads.
   */
  readonly errorTtlMs?: number | undefined
  /**
   * How early a value is refreshed before it is stale, from 0 (never) to 100 (default: 1.0). A larger number refreshes
   * earlier.
   */
  readonly beta?: number | undefined
  /**
   * The behaviour of a `get` while Redis cannot answer: with `raise` it fails, with `load` it runs the loader as if
   * there were no cache (default: `raise`). If Redis goes down during a load, `get` cannot store the loaded value: with
   * `raise` it fails even then, with `load` it returns the value.
   */
  readonly whenAway?: WhenAway | undefined
}

/** How long a caller waits for the result of another. */
export interface GetOptions {
  /**
   * The longest time to wait for another caller's result (0 ms to 36,500 days; default: the lease plus 5,000 ms, so
   * that callers wait longer than the lease of a caller that died). After it, the call fails with {@link TimeoutError}.
   */
  readonly waitMs?: number | undefined
  /**
   * When the signal fires during a wait, the promise is rejected with the signal's reason. The signal does not stop a
   * running loader or function; to stop it, pass the signal to its own requests too. If the loader or function fails
   * after the signal fired, other callers do not get its error, and the next caller runs it at once.
   */
  readonly signal?: AbortSignal | undefined
}

/** The header fields that {@link Decision.headers} returns. */
export interface HeaderOptions {
  /**
   * The format of the quota fields (default: `draft-11`). `draft-11` returns `RateLimit-Policy` and `RateLimit` of
   * draft-ietf-httpapi-ratelimit-headers-11, with an item for each rule; `none` leaves them out.
   */
  readonly syntax?: 'draft-11' | 'none' | undefined
  /**
   * Whether `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` (in seconds from now) of the binding
   * rule are added (default: false).
   */
  readonly legacy?: boolean | undefined
}

/** Options of {@link clientAddress}. */
export interface AddressOptions {
  /**
   * How many leading bits of an IPv6 address identify a client (32 to 128; default: 64). With 128, the result is the
   * whole address.
   */
  readonly ipv6Prefix?: number | undefined
}

/**
 * A client of one Redis, or of a store in the memory of this process (`memory://`). Creating a client does no I/O: the
 * client connects at its first call, and again in each forked process.
 */
export class Client implements Disposable, AsyncDisposable {
  /**
   * @param url the URL of the server: `redis://[user:password@]host[:port][/database]`, `rediss://`, `unix://`,
   *     `redis+cluster://`, `redis+sentinel://`, `memory://` or `memory://name` (default: the environment variable
   *     `QUOTALOCK_URL`, otherwise `redis://127.0.0.1:6379`). `memory://` is a store in the memory of this process,
   *     which all its clients share. `memory://name` is a separate store, which is removed when the last of its clients
   *     is closed. Worker threads share these stores too.
   * @throws {InvalidArgumentError} for an invalid URL or option; no error shows a password.
   */
  constructor(url?: string | URL, options?: ClientOptions)
  /** The host and port, socket path or `memory://` of the server, never with a password. */
  readonly server: string
  /** The first part of every Redis key. */
  readonly prefix: string
  /**
   * Makes a limiter.
   *
   * @param name the name, which is a part of the Redis keys. Objects of the same kind with the same name and prefix
   *     share their state.
   * @param policy the rules of the limiter, such as `10/minute;100/hour`.
   * @throws {InvalidArgumentError} for an empty or too long name or scope, and an invalid `prefetch`.
   * @throws {InvalidPolicyError} for an invalid policy.
   */
  limiter(name: string, policy: Policy, options?: LimiterOptions): Limiter
  /**
   * Charges several keys in one atomic call, each with its own limiter and cost. If one limiter denies, no key is
   * charged. A key may occur only once for each limiter. In a cluster, the limiters need a common
   * {@link LimiterOptions.scope}.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid charge; with {@link CrossSlotError} for limiters without a
   * common scope in a cluster.
   *
   * @param charges at most 100 charges: for each a limiter of this client, a key, and a cost from 1 to 2^52, which you
   *     can omit if it is 1.
   */
  consumeAll(charges: readonly Charge[], options?: ConsumeAllOptions): Promise<CombinedDecision>
  /**
   * Acquires a mutex, which only one handle holds at a time. A grant is a lease: it ends by itself after its `ttlMs`,
   * unless it is renewed.
   *
   * ```js
   * await using lock = await client.lock('sku:42', { waitMs: 5000 })
   * ```
   *
   * Rejects with {@link NotAcquiredError} if the lock is not granted within `waitMs`; the other errors are those of
   * {@link Lock.acquire}; with {@link InvalidArgumentError} for an empty name, one over 1,024 bytes, or an invalid
   * option.
   *
   * @param name the name: 1 to 1,024 bytes of any value.
   */
  lock(name: Key, options?: LockOptions): Promise<Lock>
  /**
   * Acquires several mutexes, all or none, in one call, so callers cannot deadlock, whatever the order of the names. In
   * a cluster, the names must be in one slot; otherwise the promise is rejected with {@link CrossSlotError}.
   *
   * Rejects with {@link InvalidArgumentError} for invalid names or options.
   *
   * @param names at most 100 names, without duplicates.
   */
  lockAll(names: readonly Key[], options?: LockOptions): Promise<Lock>
  /**
   * Acquires `weight` permits of a semaphore that has `permits`. At most 1,024 handles hold permits at once. All users
   * of a semaphore must give the same `permits`.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid name, number or option.
   *
   * @param name the name: 1 to 1,024 bytes of any value.
   * @param permits the number of permits of the semaphore: the same number wherever this semaphore is used (1 to 2^31 -
   *     1).
   */
  semaphore(name: Key, permits: number, options?: SemaphoreOptions): Promise<Lock>
  /**
   * Acquires a read-write lock for reading. Up to 1,024 readers hold the lock at once. While a writer holds it or waits
   * for it, no new reader gets the lock.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid name or option.
   *
   * @param name the name: 1 to 1,024 bytes of any value.
   */
  readLock(name: Key, options?: LockOptions): Promise<Lock>
  /**
   * Acquires a read-write lock for writing. Only one writer holds the lock at a time, without readers.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid name or option.
   *
   * @param name the name: 1 to 1,024 bytes of any value.
   */
  writeLock(name: Key, options?: LockOptions): Promise<Lock>
  /**
   * Takes over a lock from the text that {@link Lock.handover} returned, in any process or language. The new handle has
   * the ttl, the label and the fencing token of the first handle. Only one process can adopt a lock. The lock is
   * renewed for the rest of the first holder's `maxHoldMs`.
   *
   * Rejects with {@link LostError} if the lease has ended, or the lock was adopted before or is on another server; with
   * {@link InvalidArgumentError} for a text that is damaged or is not from {@link Lock.handover}, and for a text from a
   * client with another prefix.
   */
  adopt(text: string, options?: AdoptOptions): Promise<Lock>
  /**
   * Makes a handle for the units of a sale. This call does not ask Redis; {@link Stock.open} opens the sale.
   *
   * @param name the name: 1 to 1,024 bytes of any value.
   * @throws {InvalidArgumentError} for an empty name, one over 1,024 bytes, or an invalid option.
   */
  stock(name: Key, options?: StockOptions): Stock
  /**
   * Holds units of several stocks for one buyer in one atomic call: all the units, or none. Each stock has an ordinary
   * reservation, which can also be confirmed or cancelled alone. In a cluster, the stocks need a common
   * {@link StockOptions.scope}.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid stock, quantity or buyer; with {@link CrossSlotError} for
   * stocks without a common scope in a cluster.
   *
   * @param takes at most 100 stocks of this client, without duplicates, each with a quantity.
   * @param buyer the buyer: 1 to 1,024 bytes.
   */
  takeAll(takes: readonly Take[], buyer: Key, options?: TakeAllOptions): Promise<TakenAll>
  /**
   * Sells the units of several reservations in one atomic call. If one of the reservations has ended or was cancelled,
   * nothing is sold, and the call returns false. Otherwise it works like {@link Stock.confirm}.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid reservation; with {@link CrossSlotError} for stocks
   * without a common scope in a cluster.
   *
   * @param reservations at most 100 pairs of a stock and a reservation id, without duplicates.
   */
  confirmAll(reservations: readonly Held[]): Promise<boolean>
  /**
   * Returns the units of several reservations to their stocks in one atomic call, except those that have ended or were
   * confirmed. Returns true if the units of all the reservations were returned.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid reservation; with {@link CrossSlotError} for stocks
   * without a common scope in a cluster.
   *
   * @param reservations at most 100 pairs of a stock and a reservation id, without duplicates.
   */
  cancelAll(reservations: readonly Held[]): Promise<boolean>
  /**
   * Extends several holds in one atomic call. If one of the holds has ended, or was confirmed or cancelled, none is
   * extended, and the call returns false. Otherwise it works like {@link Stock.extend}.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid reservation; with {@link CrossSlotError} for stocks
   * without a common scope in a cluster.
   *
   * @param reservations at most 100 pairs of a stock and a reservation id, without duplicates.
   * @param holdMs how long the units are held, from now (1 ms to 30 days; default: 600,000 ms, 10 minutes).
   */
  extendAll(reservations: readonly Held[], holdMs?: number): Promise<boolean>
  /**
   * Makes a {@link Once} handle, for work that is done once for each id, across all processes.
   *
   * @param name the name, which is a part of the Redis keys. Objects of the same kind with the same name and prefix
   *     share their state.
   * @throws {InvalidArgumentError} for an empty name, one over 1,024 bytes, or an invalid option.
   */
  once(name: string, options?: OnceOptions): Once
  /**
   * Makes a cache. On a miss, only one caller across all processes loads the value.
   *
   * @param name the name, which is a part of the Redis keys. Objects of the same kind with the same name and prefix
   *     share their state.
   * @throws {InvalidArgumentError} for an empty name, one over 1,024 bytes, or an invalid option.
   */
  cache(name: string, options?: CacheOptions): Cache
  /**
   * Releases the locks and permits of the client, within its `timeoutMs`, and closes the connections. Later calls fail
   * with {@link ClosedError}, and handles that held a lock are `lost`. A second `close` does nothing.
   */
  close(): Promise<void>
  [Symbol.dispose](): void
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * A limiter, which decides for each key by one policy. {@link Client.limiter} makes it.
 *
 * A key is 1 to 1,024 bytes; text is encoded as UTF-8. All calls can fail with {@link UnavailableError},
 * {@link TimeoutError}, {@link NotPermittedError}, {@link WrongTypeError}, {@link NewerVersionError} and
 * {@link ClosedError}, and with {@link InvalidArgumentError} before anything is sent. {@link UnavailableError} and
 * {@link TimeoutError} occur only if the client's {@link ClientOptions.onError} is `raise`, unless the method states
 * otherwise.
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
  /** The largest number of permits that the limiter takes from Redis at once; null if each call asks Redis. */
  readonly prefetch: number | null
  /**
   * Charges `cost` to every rule if all rules allow it, otherwise to none. A call with the cost 0 only reads the state.
   * A cost above a limit is always denied.
   */
  consume(key: Key, options?: ConsumeOptions): Promise<Decision>
  /**
   * Charges as much as the rules allow now, up to `most`. {@link Decision.cost} is the amount that was charged. If the
   * rules allow nothing, the call is denied, with the decision that {@link consume} would return for a cost of 1.
   *
   * @param most the largest amount to charge (1 to 2^52).
   */
  consumeUpTo(key: Key, most: number): Promise<Decision>
  /**
   * Charges `estimate` in the same way as {@link consume}, and holds it until {@link Reservation.settle} replaces it by
   * the actual amount, or until `ttlMs` ends. If the call is denied, nothing is held; {@link Reservation.decision} has
   * the answer. If the reply is lost, the estimate may stay held until `ttlMs` ends.
   *
   * @param estimate the estimated cost (1 to 2^52).
   */
  reserve(key: Key, estimate: number, options: ReserveOptions): Promise<Reservation>
  /**
   * Returns a handle for the reservation with this id, which {@link reserve} made in this process or another one. This
   * call does not ask Redis whether the reservation exists.
   *
   * @throws {InvalidArgumentError} for an invalid key, or an id that is not 32 hexadecimal digits.
   */
  reservation(key: Key, id: string): Reservation
  /**
   * Decides like {@link consume}, but charges and writes nothing. {@link Decision.remaining} is the amount that could
   * be consumed now.
   */
  peek(key: Key, options?: CallOptions): Promise<Decision>
  /**
   * Works like {@link consume}, but throws an error if the call is denied.
   *
   * Rejects with {@link RateLimitedError} if the call is denied; the error has the decision.
   */
  require(key: Key, options?: CallOptions): Promise<Decision>
  /**
   * Works like {@link consume}, but after a denial it sleeps for {@link Decision.retryAfterMs} and tries again. If the
   * call cannot be allowed within `timeoutMs`, it returns the denial at once.
   */
  wait(key: Key, options: WaitOptions): Promise<Decision>
  /**
   * Gives back `amount` of the consumed cost; the count of a rule does not fall below zero. Returns the new state of
   * the key, as a {@link peek} does.
   *
   * @param amount the amount to give back (1 to 2^52).
   */
  refund(key: Key, amount: number, options?: RefundOptions): Promise<Decision>
  /**
   * Denies all calls of `key` for `durationMs`, and replaces an earlier block. Returns the new state of the key, as a
   * {@link peek} does. If Redis cannot store the block, the call fails, whatever {@link ClientOptions.onError} is.
   *
   * Rejects with {@link UnavailableError} if Redis cannot store it.
   *
   * @param durationMs how long calls are denied, from now (1 ms to 36,500 days).
   */
  block(key: Key, durationMs: number): Promise<Decision>
  /**
   * Removes all state of `key`: counts, a block and reservations. Returns true if anything was stored. If Redis cannot
   * answer, the call fails, whatever {@link ClientOptions.onError} is.
   */
  reset(key: Key): Promise<boolean>
  /**
   * Returns the Redis key that holds the state of `key`: `<prefix>:limit:<name>:{<key>}`, or with a scope
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
  /** Whether the call is allowed. A denied call is not charged. */
  readonly allowed: boolean
  /** Whether the call is allowed only because of `enforce: false`: the policy would deny it, and it was not charged. */
  readonly wouldDeny: boolean
  /** The limit of the binding rule. */
  readonly limit: number
  /** The amount that can be consumed after this call; 0 while the key is blocked. */
  readonly remaining: number
  /**
   * The number of milliseconds until the same call would be allowed, if there are no other calls. 0 if the policy
   * allowed the call, null if it can never be allowed.
   */
  readonly retryAfterMs: number | null
  /**
   * The number of milliseconds until the binding rule has its whole limit again, and a block has ended. `rules` has the
   * other rules.
   */
  readonly resetAfterMs: number
  /** The cost of the call; with {@link Limiter.consumeUpTo}, the amount that was taken. */
  readonly cost: number
  /**
   * The source of the answer: `redis`, `memory`, `lease` (prefetched permits) or `deny-cache` (a recent denial by Redis
   * that this process remembers). While Redis cannot answer: `local`, `open` or `closed`.
   */
  readonly source: Source
  /** Whether the call replaced a value at the key that was damaged, or that another program wrote. */
  readonly healed: boolean
  /** The answer of each rule, in the order of the policy. */
  readonly rules: readonly RuleDecision[]
  /**
   * Returns the header fields for the response, in their order. If the call was denied, they include `Retry-After`, in
   * whole seconds, rounded up, at least 1. If the cost is above a limit, so that waiting never helps, `Retry-After` is
   * the period of the rule with that limit (the longest, if there are several).
   */
  headers(options?: HeaderOptions): Record<string, string>
  /**
   * Returns the body of the response to a denied request, in the format of RFC 9457 (`application/problem+json`). Its
   * `status` is 429, or 503 if Redis could not be asked and `onError: 'closed'` denied the call.
   *
   * @throws {InvalidArgumentError} if the call was allowed.
   */
  problem(): Problem
}

/** The answer of {@link Client.consumeAll} about several keys. All keys are charged, or none. */
export class CombinedDecision {
  private constructor()
  /** Whether all charges are allowed. If not, no key was charged. */
  readonly allowed: boolean
  /** Whether a limiter with `enforce: false` would deny. */
  readonly wouldDeny: boolean
  /**
   * The index in `decisions` of the binding decision: the denial with the longest `retryAfterMs`, or if there is no
   * denial, the decision with the least {@link Decision.remaining}.
   */
  readonly binding: number
  /**
   * The number of milliseconds until the same call would be allowed, if there are no other calls. 0 if the policy
   * allowed the call, null if it can never be allowed.
   */
  readonly retryAfterMs: number | null
  /**
   * The source of the answer: `redis`, `memory`, `lease` (prefetched permits) or `deny-cache` (a recent denial by Redis
   * that this process remembers). While Redis cannot answer: `local`, `open` or `closed`.
   */
  readonly source: Source
  /** The decision about each key, in the order given. */
  readonly decisions: readonly Decision[]
  /**
   * Returns the header fields for the response, in their order. If the call was denied, they include `Retry-After`, in
   * whole seconds, rounded up, at least 1. If the cost is above a limit, so that waiting never helps, `Retry-After` is
   * the period of the rule with that limit (the longest, if there are several).
   */
  headers(options?: HeaderOptions): Record<string, string>
  /**
   * Returns the body of the response to a denied request, in the format of RFC 9457 (`application/problem+json`). Its
   * `status` is 429, or 503 if Redis could not be asked and `onError: 'closed'` denied the call.
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
  /** The answer of {@link Limiter.reserve}; null if {@link Limiter.reservation} made this handle. */
  readonly decision: Decision | null
  /** Whether the estimate was allowed, from `decision`; null if `decision` is null. */
  readonly allowed: boolean | null
  /**
   * Replaces the estimate by the `actual` amount. If the estimate was too high, the difference is given back to the
   * rules that still count it. If it was too low, the difference is charged, even above the limit. Returns false and
   * changes nothing if the reservation had ended, or was settled with another amount.
   *
   * After an error you can repeat the call with the same amount: if the first call took effect, the second one returns
   * true and changes nothing. This is remembered for ten seconds, but not after the end of the reservation's `ttlMs`.
   *
   * Rejects with {@link UnavailableError} if Redis cannot answer, whatever {@link ClientOptions.onError} is.
   *
   * @param actual the actual cost (0 to 2^52).
   */
  settle(actual: number): Promise<boolean>
  /**
   * Gives back the whole estimate, like {@link settle} with 0.
   *
   * Rejects with {@link UnavailableError} if Redis cannot answer, whatever {@link ClientOptions.onError} is.
   */
  cancel(): Promise<boolean>
}

/**
 * A handle for a lock. {@link Client.lock} and similar methods make it. Only one caller at a time can use a handle, and
 * it can be acquired again after its release. A handle is not re-entrant.
 *
 * A lock is a lease: it ends by itself if it is not renewed. `state`, `held` and `remainingMs` are computed with the
 * clock of the process: the deadline is `ttl` after the request was sent, less 1 % and 2 ms. After the deadline the
 * lock is lost, even if Redis still has it. To be safe from a holder that continues after a pause, let the resource
 * refuse every fencing `token` smaller than the largest that it has seen. A forked child does not hold the locks of its
 * parent.
 *
 * Calls that ask Redis can fail with {@link UnavailableError}, {@link TimeoutError}, {@link NotPermittedError},
 * {@link WrongTypeError}, {@link NewerVersionError} and {@link ClosedError}, whatever {@link ClientOptions.onError} is.
 *
 * A call that waits for a lock keeps the process running; a lock that is held does not. When the process ends, its
 * locks end with their ttl at the latest. If a handle that holds and renews a lock is garbage-collected, the lock is
 * released in the background. A handle whose `signal` was read is not collected before its lock is released or lost.
 */
export class Lock implements AsyncDisposable {
  private constructor()
  /** The names as they were given. */
  readonly names: readonly (string | Buffer)[]
  /**
   * The Redis keys, one for each name: `<prefix>:lock:{<name>}`, for a semaphore `<prefix>:sem:{<name>}`, for a
   * read-write lock `<prefix>:rw:{<name>}`.
   */
  readonly redisKeys: Buffer[]
  /** How long a grant lasts if it is not renewed, in milliseconds. */
  readonly ttlMs: number
  /**
   * The fencing token of the grant, larger than the token of every earlier grant of the name. null if the lock was
   * never acquired, or is released. The token stays readable after a loss.
   */
  readonly token: number | null
  /**
   * The state as the handle knows it, without asking Redis: `released` (or never acquired), `held`, `uncertain` (held,
   * but the last renewal failed) or `lost`.
   */
  readonly state: LockState
  /** Whether the lock is certainly held now. */
  readonly held: boolean
  /**
   * The number of milliseconds for which the lock is certainly held, if it is not renewed. 0 if the lock is not held.
   * The number is rounded down.
   */
  readonly remainingMs: number
  /**
   * A signal that fires when the lock is lost: it was taken away, or not renewed before its deadline. The signal's
   * reason is a {@link LostError}. Each grant has its own signal. Before the first grant and after a release, this is
   * the signal of the next grant. After a loss, it stays the signal that fired, until the next grant. A release does
   * not fire the signal.
   */
  readonly signal: AbortSignal
  /**
   * Acquires the lock. Returns true if the lock is held now, and false if it was not granted within `waitMs`. Except
   * for quorum locks, a waiting caller does not poll Redis. If the wait ends without a grant, the caller holds nothing
   * and leaves the queue.
   *
   * Rejects with {@link InvalidArgumentError} if this handle already holds the lock, or another call is acquiring it;
   * with {@link CrossSlotError} for names in several slots of a cluster.
   */
  acquire(options?: AcquireOptions): Promise<boolean>
  /**
   * Releases the lock. Returns true if the lock was held until now, and false if it was lost or is not held. If the
   * release fails, the lock ends with its ttl at the latest. Renewal stops at once.
   *
   * Rejects with {@link UnavailableError} if Redis cannot answer.
   */
  release(): Promise<boolean>
  /**
   * Extends the lease to at least `ttlMs` from now, and never shortens it. Returns false if the lock was lost.
   *
   * Rejects with {@link UnavailableError} if Redis cannot answer.
   *
   * @param ttlMs how long the lease lasts, from now (10 ms to 7 days; default: the ttl of the lock).
   */
  extend(ttlMs?: number): Promise<boolean>
  /**
   * Returns a short text with which another process can take over the lock ({@link Client.adopt}). This handle then
   * counts as released: the lock is no longer renewed, and {@link release} returns false. This call does not ask Redis.
   *
   * The lease is not renewed until the lock is adopted, so the lock must be adopted within the time that `remainingMs`
   * returned before this call. Anyone who has the text can take over the lock, so treat the text as a secret. It
   * contains no password.
   *
   * @throws {LostError} if it is not certain that the lock is held.
   * @throws {InvalidArgumentError} for a quorum lock.
   */
  handover(): string
  /**
   * Fails unless the lock is certainly held now. This call does not ask Redis.
   *
   * @throws {LostError} if it is not certain that the lock is held.
   */
  assertHeld(): void
  /**
   * Makes every later fencing token of this handle larger than `floor`. Use it if the resource has seen a larger token
   * than the lock returned. This call does not ask Redis.
   *
   * @param floor the largest token that the resource has seen (0 to 2^52).
   * @throws {InvalidArgumentError} for a `floor` outside its bounds.
   */
  raiseFloor(floor: number): void
  /**
   * Returns the holders of the lock, and how many processes wait for it. With several names or servers, the answer is
   * about the first one.
   */
  inspect(): Promise<Inspection>
  /**
   * Takes the lock away from all holders, and returns how many holders there were. This is for operators: a holder
   * notices the loss when it next renews, extends or releases.
   */
  forceRelease(): Promise<number>
  /**
   * Acquires the lock, calls `fn` with this handle, and returns its result. The lock is released even if `fn` fails. If
   * the handle already holds the lock, the lock is not acquired again. A handle runs one function at a time. If `fn`
   * fails, the call fails with the same error.
   *
   * Rejects with {@link NotAcquiredError} if the lock is not granted in time; `fn` is then not called; with
   * {@link LostError} if `fn` did not fail, but the lock was lost in the meantime; with {@link UnavailableError} if
   * Redis cannot answer.
   */
  run<T>(fn: Holding<T>, options?: AcquireOptions): Promise<T>
  /** Releases. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * A handle for the units of a sale. {@link Client.stock} makes it. The sale does not oversell as long as Redis loses no
 * data.
 *
 * Units that are not confirmed before their hold ends return to the stock at the next call that writes. At any time,
 * `available + held + sold` is the number of all units. If a reply is lost, the client repeats the call within its
 * timeout, and nothing is taken, sold or added twice. All calls can fail with {@link UnavailableError},
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
   * The three Redis keys of the sale: `<prefix>:stock:{<name>}` (with a scope `<prefix>:stock:{<scope>}:{<name>}`), and
   * the same key with `:holds` and with `:ledger` at its end.
   */
  readonly redisKeys: Buffer[]
  /**
   * Opens the sale. Returns true if this call opened the sale. If the sale is already open with the same numbers and
   * prizes, returns false and changes nothing.
   *
   * Rejects with {@link InvalidArgumentError} if the sale is open with other numbers or prizes; the message names them.
   *
   * @param quantity the number of units (1 to 2^52).
   */
  open(quantity: number, options?: OpenOptions): Promise<boolean>
  /**
   * Ends the sale now and for good. Returns true if this call ended the sale, and false if it had ended before. Later
   * takes are refused with the outcome `ended`. Units that are held can still be confirmed, cancelled and extended. The
   * sale is kept for its {@link StockOptions.retentionMs}, which begins when its last hold ends, or now if there are no
   * holds. As long as it is kept, its name cannot be used again.
   *
   * Rejects with {@link InvalidArgumentError} if the sale was never opened.
   */
  close(): Promise<boolean>
  /**
   * Adds units to a sale, even after its end, and returns the number of all units, including sold ones. A sale with
   * prizes needs a prize for each new unit.
   *
   * Rejects with {@link InvalidArgumentError} if the sale was never opened, or for a wrong number of prizes.
   *
   * @param quantity the number of units (1 to 2^52).
   */
  restock(quantity: number, options?: RestockOptions): Promise<number>
  /**
   * Holds units for a buyer. If the take is refused, nothing is held, and {@link Taken.outcome} is the reason. Units
   * that are not confirmed in time return to the stock.
   *
   * A call with the same request id and buyer returns the first reservation again, even if that reservation has ended.
   * The id is remembered as long as the hold, or for the client's `requestMemoryMs` if that is longer. A refusal is not
   * remembered: the next call with its id is decided again.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid buyer or number.
   *
   * @param buyer the buyer: 1 to 1,024 bytes.
   */
  take(buyer: Key, options?: TakeOptions): Promise<Taken>
  /**
   * Sells the units of a reservation. Returns true if the units are sold, even if an earlier call confirmed the
   * reservation (this is remembered for at least a day). If the hold had ended or was cancelled, returns false and
   * sells nothing. A hold can be confirmed even after the end of the sale.
   *
   * Rejects with {@link InvalidArgumentError} for an id of another stock.
   */
  confirm(id: string): Promise<boolean>
  /**
   * Returns the units of a reservation to the stock. The result is true, even if an earlier call cancelled the
   * reservation, as long as that is remembered. The result is false if the hold had ended or was confirmed.
   *
   * Rejects with {@link InvalidArgumentError} for an id of another stock.
   */
  cancel(id: string): Promise<boolean>
  /**
   * Extends a hold to at least `holdMs` from now, and never shortens it. Returns false if the hold had ended, or was
   * confirmed or cancelled.
   *
   * Rejects with {@link InvalidArgumentError} for an id of another stock.
   *
   * @param holdMs how long the units are held, from now (1 ms to 30 days; default: 600,000 ms, 10 minutes).
   */
  extend(id: string, holdMs?: number): Promise<boolean>
  /**
   * Returns the numbers of the sale. The call also writes: it first puts the units of up to 256 expired holds back into
   * the stock.
   */
  status(): Promise<StockStatus>
  /**
   * Lists open holds in the order in which they end. No open hold is left out, but a hold that is extended in the
   * meantime may appear twice.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid cursor or count.
   */
  reservations(options?: PageOptions): Promise<StockPage>
  /**
   * Returns entries of the ledger, in order. To miss no entry, store the id of the last entry that you read in the same
   * transaction as your own changes, and read the entries before the ledger removes them.
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
  /** How many units are available after the take. */
  readonly available: number
}

/** The answer of {@link Client.takeAll}. Either all the units are held, or none. */
export class TakenAll {
  private constructor()
  /** The outcome. If the take was refused, it is the outcome of the first stock that refused. */
  readonly outcome: TakeOutcome
  /** The index of the first stock that refused, from 0; null if no stock refused. */
  readonly refused: number | null
  /** The units that are held of each stock, in the order given; empty unless the outcome is `held`. */
  readonly reservations: readonly StockReservation[]
  /** How many units of each stock are available after the take, in the order given. */
  readonly available: readonly number[]
}

/** Units of a stock that are held for a buyer. */
export class StockReservation {
  private constructor()
  /**
   * The id, with which any process can confirm, cancel or extend the reservation. The id is printable and cannot be
   * guessed.
   */
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
 * The numbers of a sale: the answer of {@link Stock.status}. `available + held + sold` is `quantity`. All numbers are 0
 * if the phase is `not_open`.
 */
export class StockStatus {
  private constructor()
  /** The phase: `not_open`, `open` or `ended`. In the phase `ended`, holds can still be confirmed. */
  readonly phase: StockPhase
  /** The number of all units. */
  readonly quantity: number
  /** Units that can be taken. */
  readonly available: number
  /** Units of reservations that are not confirmed, cancelled or returned. */
  readonly held: number
  /** Units of confirmed reservations. */
  readonly sold: number
  /** How many buyers hold or have bought units. */
  readonly buyers: number
  /** The largest number of units for one buyer; null if there is no limit. */
  readonly perBuyer: number | null
  /**
   * The end of the sale, or the time at which it was closed, in milliseconds since the epoch by the server's clock;
   * null if the sale has no end.
   */
  readonly endsMs: number | null
}

/**
 * One change of a sale, with the numbers after the change. A program that replays the ledger can compare its own
 * numbers with them.
 */
export class LedgerEntry {
  private constructor()
  /** The id of the entry. Give the last one as {@link LedgerOptions.after} to read the next entries. */
  readonly id: string
  /**
   * The number of the entry in the sale, from 1 without a gap. A missing number means that its entry is no longer kept.
   */
  readonly number: number
  /** The change: `opened`, `restocked`, `held`, `confirmed`, `cancelled`, `expired`, `extended` or `closed`. */
  readonly kind: LedgerKind
  /**
   * The id of the reservation; null for an opening, a restock and a closing, and for units that came back after another
   * program deleted the Redis key with the holds.
   */
  readonly reservation: string | null
  /** The buyer; null without a reservation. */
  readonly buyer: Buffer | null
  /** How many units the change is about; 0 for a closing. */
  readonly quantity: number
  /** The time of the change, in milliseconds since the epoch by the server's clock. */
  readonly timeMs: number
  /** Units available after the change. */
  readonly available: number
  /** Units held after the change. */
  readonly held: number
  /** Units sold after the change. */
  readonly sold: number
  /** The prizes of the units that were held or confirmed; empty if the sale has none. */
  readonly prizes: readonly Buffer[]
}

/**
 * A handle for work that is done once for each id. {@link Client.once} makes it. An id is 1 to 1,024 bytes.
 *
 * All calls can fail with {@link UnavailableError}, {@link TimeoutError}, {@link NotPermittedError},
 * {@link WrongTypeError}, {@link NewerVersionError} and {@link ClosedError}, whatever {@link ClientOptions.onError} is,
 * because the work might otherwise be done twice.
 */
export class Once {
  private constructor()
  /** The name given. */
  readonly name: string
  /**
   * Claims an id. {@link Claimed.first} shows whether this caller is the first, and {@link Claimed.value} is the value
   * of the first caller. If the reply is lost, the client asks again, and the claim stays with this caller. While a
   * {@link run} of the id is in progress, {@link Claimed.first} is false for every caller.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid id or value.
   *
   * @param id the id of the work: 1 to 1,024 bytes.
   * @param value the value that later callers get: any bytes, at most 64 MiB.
   */
  claim(id: Key, value?: Value | null): Promise<Claimed>
  /**
   * Removes an id, even if another caller claimed it. The next caller is then the first. Returns true if the id was
   * stored. A function that runs for the id continues, but its result is not stored.
   *
   * @param id the id of the work: 1 to 1,024 bytes.
   */
  release(id: Key): Promise<boolean>
  /**
   * Returns the result of the first run for this id. If there is no result and no run in progress, this call runs `fn`,
   * and the other callers wait for the result.
   *
   * If the function fails, the caller that ran it gets the error. The next caller runs the function again, unless the
   * error is still remembered (`errorTtlMs`). If the process that runs the function dies, the next caller runs it when
   * the lease has ended, so the function must be safe to run twice.
   *
   * Rejects with {@link TimeoutError} if the result did not come in time; with {@link LoadFailedError} if the function
   * failed a moment ago and the error is remembered.
   *
   * @param id the id of the work: 1 to 1,024 bytes.
   * @param fn a function that returns the result: up to 64 MiB of bytes, text (stored as UTF-8), or null.
   */
  run(id: Key, fn: Deed, options?: GetOptions): Promise<Buffer | null>
  /**
   * Returns the Redis key of an id: `<prefix>:once:<name>:{<id>}`.
   *
   * @param id the id of the work: 1 to 1,024 bytes.
   */
  redisKey(id: Key): Buffer
}

/** The answer of {@link Once.claim}. */
export class Claimed {
  private constructor()
  /** Whether this caller is the first. */
  readonly first: boolean
  /** The value of the first caller; null if that caller gave none, or its function has no result yet. */
  readonly value: Buffer | null
  /** Whether a function is running for the id, without a result yet. */
  readonly running: boolean
  /** The number of milliseconds until the claim ends, or until the lease of the running function ends. */
  readonly remainingMs: number
  /** How many milliseconds ago the id was claimed. */
  readonly ageMs: number
}

/**
 * A cache without stampedes (many callers that load the same value at once). {@link Client.cache} makes it. On a miss,
 * only one caller across all processes loads the value. When a value is stale, and sometimes a little earlier, one
 * caller loads a new value, and the others get the old one.
 *
 * A key is 1 to 1,024 bytes. A value is up to 64 MiB, or null, which means that there is no value. All calls can fail
 * with {@link UnavailableError}, {@link TimeoutError}, {@link NotPermittedError}, {@link WrongTypeError},
 * {@link NewerVersionError} and {@link ClosedError}, whatever {@link ClientOptions.onError} is. With `whenAway:
 * 'load'`, a {@link get} runs its loader while Redis is down, instead of failing.
 */
export class Cache {
  private constructor()
  /** The name given. */
  readonly name: string
  /**
   * Returns the value of `key`, fresh or stale. If it is this caller's turn to load, the call runs `load`, stores the
   * value and returns it. On a miss while another caller loads, the call waits for that value. If `load` fails, the
   * caller that ran it gets the error, and for `errorTtlMs` the other callers get the stale value or
   * {@link LoadFailedError}. `load` must not get the same key from the cache, because it would wait for itself.
   *
   * Rejects with {@link TimeoutError} if the value did not come in time; with {@link LoadFailedError} if a loader
   * failed a short time ago.
   *
   * @param key the key: 1 to 1,024 bytes.
   */
  get(key: Key, load: Load, options?: GetOptions): Promise<Buffer | null>
  /**
   * Returns the values of several keys, in their order, with one call to Redis for up to 250 keys and 1 MiB. `load`
   * gets the missing keys that no other caller loads. A key that `load` leaves out has no value; a key that it adds is
   * ignored. Then the call waits for the keys that other callers load, and if such a load fails, it loads those keys
   * one by one. In a cluster, the keys may be in any slots, and each slot takes a round trip.
   *
   * Rejects with {@link TimeoutError} if a value did not come in time; with {@link LoadFailedError} if the last load of
   * a key failed a short time ago; the values that this call has loaded are stored nevertheless.
   *
   * @param keys at most 1,000 keys, without duplicates.
   */
  getMany<K extends Key>(keys: readonly K[], load: LoadMany<K>, options?: GetOptions): Promise<Map<K, Buffer | null>>
  /**
   * Works like {@link get}, with a value that is stored as JSON. Every caller, including the one that loads, gets the
   * decoded JSON. null means that there is no value.
   *
   * Rejects with {@link InvalidArgumentError} for a value that another language cannot read: more than 512 nested lists
   * and objects, or half of a surrogate pair; with {@link TimeoutError} if the value did not come in time; with
   * {@link LoadFailedError} if a loader failed a short time ago.
   */
  getJson<T>(key: Key, load: LoadJson<T>, options?: GetOptions): Promise<T>
  /** Returns the value of a key, fresh or stale, without loading or waiting; null if there is no value. */
  peek(key: Key): Promise<Seen | null>
  /**
   * Stores a value that you already have. It counts as newer than the value of any load that is running.
   *
   * Rejects with {@link InvalidArgumentError} for an invalid value.
   *
   * @param value the value, up to 64 MiB. null means that there is no value; if `negativeMs` is 0, this is not stored,
   *     and the call only removes the old value.
   */
  put(key: Key, value: Value | null): Promise<void>
  /** Removes the value of a key. A value that is being loaded now is not stored. Returns true if there was a value. */
  invalidate(key: Key): Promise<boolean>
  /** Returns the Redis key of `key`: `<prefix>:cache:<name>:{<key>}`. */
  redisKey(key: Key): Buffer
}

/** A value that {@link Cache.peek} found. */
export class Seen {
  private constructor()
  /** The value; null if the cache has stored that there is no value. */
  readonly value: Buffer | null
  /** Whether the value is no longer fresh. */
  readonly stale: boolean
  /** How old the value is, in milliseconds. */
  readonly ageMs: number
}

/** The holders of a lock, and how many processes wait for it: the answer of {@link Lock.inspect}. */
export class Inspection {
  private constructor()
  /** The fencing token of the last grant; 0 if none is remembered. */
  readonly token: number
  /** How many processes wait. The server counts one waiter for each process. */
  readonly waiters: number
  /** The holders, in the order of their grants. */
  readonly holders: readonly Holder[]
  /**
   * Whether the key holds a value that is not a lock of Quotalock. Such a value counts as no lock, and the next grant
   * replaces it.
   */
  readonly healed: boolean
}

/** A holder of a lock. */
export class Holder {
  private constructor()
  /** The host that the holder runs on; empty if it is not known. */
  readonly host: string
  /** The process id on that host; 0 if it is not known. */
  readonly pid: number
  /** The label that the holder gave. */
  readonly label: string
  /** The holder's fencing token. */
  readonly token: number
  /** How many permits the holder has. */
  readonly permits: number
  /** When the lock was granted, in milliseconds since the epoch by the server's clock. */
  readonly sinceMs: number
  /** When the lease ends if it is not renewed, by the same clock. */
  readonly untilMs: number
}

/** The answer of one rule of a policy. */
export class RuleDecision {
  private constructor()
  /** Whether this rule alone allows the call. */
  readonly allowed: boolean
  /** The largest amount that this rule allows at once: its capacity. */
  readonly limit: number
  /** The amount that this rule would allow now. */
  readonly remaining: number
  /**
   * The number of milliseconds until this rule would allow the same call: 0 if it allows the call now, null if never.
   */
  readonly retryAfterMs: number | null
  /** The number of milliseconds until this rule has its whole limit again. */
  readonly resetAfterMs: number
  /** How this rule counts. */
  readonly algorithm: Algorithm
  /** How much this rule allows per period. */
  readonly quota: number
  /** The period in milliseconds. */
  readonly periodMs: number
  /** The largest amount that this rule allows at once: the quota, except for a token bucket with another capacity. */
  readonly capacity: number
}

/** One rule of a policy: at most `limit` per `periodMs`. */
export interface Rule {
  /**
   * The amount per period (1 to 2^52). With `sliding-log`, it is at most 2^39. A token bucket that would take decades
   * to fill is invalid.
   */
  readonly limit: number
  /** The period, in whole milliseconds (1 ms to 36,500 days). */
  readonly periodMs: number
  /**
   * How the rule counts: `fixed-window`, `calendar-window`, `sliding-window`, `token-bucket` or `sliding-log` (default:
   * `fixed-window`).
   */
  readonly algorithm?: Algorithm | undefined
  /**
   * The largest amount that may be consumed at once (1 to 2^52; default: the limit). Only a token bucket has this
   * parameter.
   */
  readonly capacity?: number | null | undefined
}

/**
 * Charges `cost` to `key` with the limiter `name` and its `policy`, and returns what {@link Limiter.consume} returns.
 * This is the one-line form of a limiter: the first call makes a client for `QUOTALOCK_URL`, which all later calls use.
 *
 * @param name the name, which is a part of the Redis keys. Objects of the same kind with the same name and prefix share
 *     their state.
 * @param policy the rules of the limiter, such as `10/minute;100/hour`.
 */
export function limit(name: string, key: Key, policy: Policy, options?: CallOptions): Promise<Decision>

/**
 * Acquires a quorum lock: a mutex over several independent servers. The lock is held if more than half of the servers
 * granted it within its ttl, so it survives the loss of fewer than half of them.
 *
 * Each server has a twentieth of the ttl to answer. Callers that wait ask again every 10 to 50 ms. A server that
 * started less than a ttl ago and has no append-only file has no vote.
 *
 * Rejects with {@link NotAcquiredError} in the same cases as {@link Client.lock}; with {@link InvalidArgumentError} in
 * the same cases as {@link Client.lock}, for too few or too many clients, and for a client that is given twice.
 *
 * @param clients 3 to 15 clients, each with its own server. An odd number is better.
 * @param name the name: 1 to 1,024 bytes of any value.
 */
export function quorumLock(clients: readonly Client[], name: Key, options?: QuorumOptions): Promise<Lock>

/**
 * Returns the address of the client that sent a request, as a text that can be the key of a limiter.
 *
 * The header is used only if `peer` is trusted. Its entries are read from right to left, and the first address that is
 * not trusted is the result. The client with that address may have invented the entries further left. Reading stops at
 * an entry that is not an address; the result is then the address of the proxy that sent this entry. For an IPv6
 * address, the result is its network, such as `2001:db8:1:2::/64`.
 *
 * @param peer the address of the other end of the connection. null or an empty text means a Unix socket. In an HTTP
 *     server, this is `request.socket.remoteAddress`.
 * @param forwarded the value of the header `X-Forwarded-For` or `Forwarded` (RFC 7239). If the request has the header
 *     several times, a list of all values.
 * @param trusted the proxies to trust: addresses, networks (`10.0.0.0/8`), and the words `loopback`, `private` and
 *     `unix`.
 * @throws {InvalidArgumentError} for an invalid address or network, for a network that contains all addresses, and if
 *     there is no address: `peer` is a Unix socket, and the header has none.
 */
export function clientAddress(
  peer: string | null | undefined,
  forwarded: string | readonly string[] | null | undefined,
  trusted: readonly string[],
  options?: AddressOptions,
): string

/**
 * Returns the metrics of this process, and of the processes that share its counters. The list is empty with
 * `QUOTALOCK_METRICS=off`.
 *
 * Each metric has the `name` that Prometheus shows, a `help` text of one sentence, its `kind` (`counter`, `gauge` or
 * `histogram`), and `samples`. A sample has `labels` and a `value`. A sample of a histogram has no `value`, but a `sum`
 * in seconds, a `count`, and `buckets`: pairs of a bound in seconds and the number of durations up to that bound, where
 * the last bound is infinite. Metrics that were never counted are left out. Labels contain names of limiters, stocks,
 * caches and servers, but no keys. Processes with the same file in `QUOTALOCK_METRICS_FILE` share their counters.
 */
export function metrics(): Metric[]

/**
 * Returns the {@link metrics} as a text that Prometheus reads. Serve it as `text/plain; version=0.0.4; charset=utf-8`.
 */
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

/** An invalid value, such as an empty key, a negative cost or an invalid URL. */
export class InvalidArgumentError extends QuotalockError {
  readonly code: 'invalid_argument'
}

/** A policy that does not parse, or that has an invalid amount, period or unit. */
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

/** A fault of Quotalock. */
export class InternalError extends QuotalockError {
  readonly code: 'internal'
}
