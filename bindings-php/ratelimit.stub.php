<?php

/**
 * The classes and functions of the extension `ratelimit`, for IDEs and PHPStan. The extension itself does not read
 * this file; tests/php compares the two. It is written from api/surface.toml by `python3 tools/api`.
 *
 * Keys, request ids and scopes are strings of any bytes, integers, or objects with __toString; integers and their
 * decimal text are the same. Durations are whole milliseconds, rounded up. Every call can throw UnavailableException,
 * TimeoutException, NotPermittedException, WrongTypeException and ClosedException, and InvalidArgumentException for a
 * bad argument.
 */

namespace Quotalock {
    use Quotalock\Exception\CrossSlotException;
    use Quotalock\Exception\InvalidArgumentException;
    use Quotalock\Exception\InvalidPolicyException;
    use Quotalock\Exception\LoadFailedException;
    use Quotalock\Exception\LostException;
    use Quotalock\Exception\NotAcquiredException;
    use Quotalock\Exception\QuotalockException;
    use Quotalock\Exception\RateLimitedException;
    use Quotalock\Exception\TimeoutException;
    use Quotalock\Exception\UnavailableException;

    /*
     * The interfaces of the classes below, for your type declarations and your tests: PHPUnit can make doubles of them.
     * Each method is described at its class. A double has no properties, such as `$token`.
     */

    /** The methods of Client. */
    interface ClientInterface
    {
        public function limiter(
            string $name,
            Rule|array|string $policy,
            \Stringable|string|int|null $scope = null,
            bool $enforce = true,
            ?int $prefetch = null
        ): LimiterInterface;

        public function consumeAll(array $charges, \Stringable|string|int|null $requestId = null): CombinedDecision;

        public function lock(
            string $name,
            int $ttlMs = 30000,
            int $waitMs = 0,
            bool $fair = false,
            int $tokenAbove = 0,
            string $label = '',
            int $replicasAck = 0,
            int $ackTimeoutMs = 100
        ): LockInterface;

        public function lockAll(
            array $names,
            int $ttlMs = 30000,
            int $waitMs = 0,
            bool $fair = false,
            int $tokenAbove = 0,
            string $label = '',
            int $replicasAck = 0,
            int $ackTimeoutMs = 100
        ): LockInterface;

        public function semaphore(
            string $name,
            int $permits,
            int $weight = 1,
            int $ttlMs = 30000,
            int $waitMs = 0,
            bool $fair = false,
            int $tokenAbove = 0,
            string $label = '',
            int $replicasAck = 0,
            int $ackTimeoutMs = 100
        ): LockInterface;

        public function readLock(
            string $name,
            int $ttlMs = 30000,
            int $waitMs = 0,
            bool $fair = false,
            int $tokenAbove = 0,
            string $label = '',
            int $replicasAck = 0,
            int $ackTimeoutMs = 100
        ): LockInterface;

        public function writeLock(
            string $name,
            int $ttlMs = 30000,
            int $waitMs = 0,
            bool $fair = false,
            int $tokenAbove = 0,
            string $label = '',
            int $replicasAck = 0,
            int $ackTimeoutMs = 100
        ): LockInterface;

        public function adopt(string $text, ?string $name = null, ?int $ttlMs = null): LockInterface;

        public function stock(
            string $name,
            \Stringable|string|int|null $scope = null,
            int $ledgerCap = 100000,
            int $retentionMs = 2592000000
        ): StockInterface;

        public function takeAll(
            array $takes,
            \Stringable|string|int $buyer,
            int $holdMs = 600000,
            \Stringable|string|int|null $requestId = null
        ): TakenAll;

        public function confirmAll(array $reservations): bool;

        public function cancelAll(array $reservations): bool;

        public function extendAll(array $reservations, int $holdMs = 600000): bool;

        public function once(
            string $name,
            int $ttlMs = 86400000,
            int $leaseMs = 10000,
            int $errorTtlMs = 0
        ): OnceInterface;

        public function cache(
            string $name,
            int $freshMs = 60000,
            int $staleMs = 0,
            int $leaseMs = 10000,
            ?int $negativeMs = null,
            int $errorTtlMs = 1000,
            float $beta = 1.0,
            string $whenAway = 'raise'
        ): CacheInterface;

        public function close(): void;
    }

    /** The methods of Limiter. */
    interface LimiterInterface
    {
        public function consume(
            \Stringable|string|int $key,
            int $cost = 1,
            \Stringable|string|int|null $requestId = null
        ): Decision;

        public function consumeUpTo(\Stringable|string|int $key, int $most): Decision;

        public function reserve(
            \Stringable|string|int $key,
            int $estimate,
            int $ttlMs,
            string $unsettled = 'spent'
        ): ReservationInterface;

        public function reservation(\Stringable|string|int $key, string $id): ReservationInterface;

        public function peek(\Stringable|string|int $key, int $cost = 1): Decision;

        public function require(\Stringable|string|int $key, int $cost = 1): Decision;

        public function wait(\Stringable|string|int $key, int $timeoutMs, int $cost = 1): Decision;

        public function refund(
            \Stringable|string|int $key,
            int $amount,
            \Stringable|string|int|null $requestId = null
        ): Decision;

        public function block(\Stringable|string|int $key, int $durationMs): Decision;

        public function reset(\Stringable|string|int $key): bool;

        public function redisKey(\Stringable|string|int $key): string;
    }

    /** The methods of Reservation. */
    interface ReservationInterface
    {
        public function settle(int $actual): bool;

        public function cancel(): bool;
    }

    /** The methods of Lock. */
    interface LockInterface
    {
        public function acquire(?int $waitMs = null): bool;

        public function release(): bool;

        public function extend(?int $ttlMs = null): bool;

        public function handover(): string;

        public function assertHeld(): void;

        public function raiseFloor(int $floor): void;

        public function inspect(): Inspection;

        public function forceRelease(): int;

        public function run(callable $function, ?int $waitMs = null): mixed;
    }

    /** The methods of Stock. */
    interface StockInterface
    {
        public function open(int $quantity, ?int $perBuyer = null, ?int $endsMs = null, ?array $prizes = null): bool;

        public function close(): bool;

        public function restock(
            int $quantity,
            ?array $prizes = null,
            \Stringable|string|int|null $requestId = null
        ): int;

        public function take(
            \Stringable|string|int $buyer,
            int $quantity = 1,
            int $holdMs = 600000,
            \Stringable|string|int|null $requestId = null
        ): Taken;

        public function confirm(string $id): bool;

        public function cancel(string $id): bool;

        public function extend(string $id, int $holdMs = 600000): bool;

        public function status(): StockStatus;

        public function reservations(?string $cursor = null, int $count = 100): StockPage;

        public function ledger(?string $after = null, int $count = 100): array;
    }

    /** The methods of Once. */
    interface OnceInterface
    {
        public function claim(\Stringable|string|int $id, ?string $value = null): Claimed;

        public function release(\Stringable|string|int $id): bool;

        public function run(\Stringable|string|int $id, callable $function, ?int $waitMs = null): ?string;

        public function redisKey(\Stringable|string|int $id): string;
    }

    /** The methods of Cache. */
    interface CacheInterface
    {
        public function get(\Stringable|string|int $key, callable $load, ?int $waitMs = null): ?string;

        public function getMany(array $keys, callable $load, ?int $waitMs = null): array;

        public function getJson(\Stringable|string|int $key, callable $load, ?int $waitMs = null): mixed;

        public function peek(\Stringable|string|int $key): ?Seen;

        public function put(\Stringable|string|int $key, ?string $value): bool;

        public function invalidate(\Stringable|string|int $key): bool;

        public function redisKey(\Stringable|string|int $key): string;
    }

    /** An amount held by Limiter::reserve(). Any process that knows its limiter, key and id can settle it. */
    final class Reservation implements ReservationInterface
    {
        /** The key as it was given. */
        public readonly string $key;

        /** The id: 32 hexadecimal digits. */
        public readonly string $id;

        /** The answer of Limiter::reserve(); null if this was made by Limiter::reservation(). */
        public readonly ?Decision $decision;

        private function __construct()
        {
        }

        /**
         * Replaces the estimate by the `$actual` amount. An excess is given back to the rules that still count it; a
         * shortfall is charged, even above the limit. Returns false and changes nothing if the reservation had ended,
         * or was settled with another amount. You can repeat it after an error: with the same amount it returns true
         * and changes nothing, for ten seconds or until the reservation's `$ttlMs` ends if that is sooner.
         *
         * @param int<0, 4503599627370496> $actual 0 to 2^52
         * @throws UnavailableException if Redis cannot answer, whatever `$onError` is
         */
        public function settle(int $actual): bool
        {
        }

        /**
         * Gives the whole estimate back: settle() with 0.
         *
         * @throws UnavailableException if Redis cannot answer, whatever `$onError` is
         */
        public function cancel(): bool
        {
        }
    }

    /**
     * Decides for keys by one policy; made by Client::limiter().
     *
     * A key is text, taken as UTF-8, or bytes: 1 to 1,024 of them. All calls can fail with UnavailableException,
     * TimeoutException, NotPermittedException, WrongTypeException, NewerVersionException and ClosedException, and with
     * InvalidArgumentException before anything is sent; the first two only if the client's `$onError` is `raise`,
     * unless the method says otherwise.
     */
    final class Limiter implements LimiterInterface
    {
        /** The name given. */
        public readonly string $name;

        /** The policy in its canonical form. */
        public readonly string $policy;

        /** The scope given; null without one. */
        public readonly ?string $scope;

        /** Whether the policy is enforced. */
        public readonly bool $enforce;

        /**
         * How many permits it takes from Redis at once at most; null if each call asks.
         *
         * @var positive-int|null
         */
        public readonly ?int $prefetch;

        private function __construct()
        {
        }

        /**
         * Charges `$cost` to every rule if all rules admit it, otherwise to none. A cost of 0 only looks; a cost above
         * a limit is always denied.
         *
         * @param int<0, 4503599627370496> $cost how much the call uses; 0 only looks (0 to 2^52; default: 1)
         * @param \Stringable|string|int|null $requestId charges once for this id. 1 to 256 bytes, such as a UUID: the
         *     same id for the same key gets the first answer again while it is remembered. A denied call is decided
         *     again
         */
        public function consume(
            \Stringable|string|int $key,
            int $cost = 1,
            \Stringable|string|int|null $requestId = null
        ): Decision {
        }

        /**
         * Charges as much as is admitted now, up to `$most`; Decision::$cost shows how much. If nothing is admitted,
         * the call is denied, with the answer for a cost of 1.
         *
         * @param int<1, 4503599627370496> $most 1 to 2^52
         */
        public function consumeUpTo(\Stringable|string|int $key, int $most): Decision
        {
        }

        /**
         * Charges `$estimate` as consume() does, and holds it until Reservation::settle() replaces it by the actual
         * amount, or `$ttlMs` has passed. Nothing is held if the call was denied, as Reservation::$decision shows. If
         * the reply is lost, the estimate may be held until its end.
         *
         * @param int<1, 4503599627370496> $estimate 1 to 2^52
         * @param int<1, 3153600000000> $ttlMs how long the estimate is held at most (1 ms to 36,500 days)
         * @param 'spent'|'returned' $unsettled how an estimate ends that is not settled by then: it counts as `spent`,
         *     or is `returned` (default: `spent`)
         */
        public function reserve(
            \Stringable|string|int $key,
            int $estimate,
            int $ttlMs,
            string $unsettled = 'spent'
        ): Reservation {
        }

        /**
         * The reservation of this id, which reserve() made here or in another process. Does not ask Redis whether it
         * exists.
         *
         * @param non-empty-string $id
         * @throws InvalidArgumentException for a bad key, or an id that is not 32 hexadecimal digits
         */
        public function reservation(\Stringable|string|int $key, string $id): Reservation
        {
        }

        /**
         * Returns what consume() would return, and never writes.
         *
         * @param int<0, 4503599627370496> $cost
         */
        public function peek(\Stringable|string|int $key, int $cost = 1): Decision
        {
        }

        /**
         * As consume(), but a denial is an error.
         *
         * @param int<0, 4503599627370496> $cost
         * @throws RateLimitedException if the call is denied; it carries the decision
         */
        public function require(\Stringable|string|int $key, int $cost = 1): Decision
        {
        }

        /**
         * As consume(), but after a denial it sleeps for Decision::$retryAfterMs and tries again. If the call cannot be
         * admitted within `$timeoutMs`, it returns the denial at once. Signal handlers of pcntl_async_signals() run
         * meanwhile.
         *
         * @param int<0, 3153600000000> $timeoutMs how long to wait at most (0 ms to 36,500 days)
         * @param int<0, 4503599627370496> $cost
         */
        public function wait(\Stringable|string|int $key, int $timeoutMs, int $cost = 1): Decision
        {
        }

        /**
         * Gives back `$amount` of what was consumed; no rule falls below zero. Returns what a peek() right after it
         * would return.
         *
         * @param int<1, 4503599627370496> $amount 1 to 2^52
         * @param \Stringable|string|int|null $requestId gives back once for this id
         */
        public function refund(
            \Stringable|string|int $key,
            int $amount,
            \Stringable|string|int|null $requestId = null
        ): Decision {
        }

        /**
         * Denies all calls for `$durationMs`; replaces an earlier block. Returns what a peek() right after it would
         * return. If the block cannot be stored, this fails, whatever `$onError` is.
         *
         * @param int<1, 3153600000000> $durationMs 1 ms to 36,500 days
         * @throws UnavailableException if Redis cannot store it
         */
        public function block(\Stringable|string|int $key, int $durationMs): Decision
        {
        }

        /**
         * Removes everything about `$key`, including a block and reservations; true if anything was stored. If Redis
         * cannot answer, this fails, whatever `$onError` is.
         */
        public function reset(\Stringable|string|int $key): bool
        {
        }

        /**
         * The Redis key that holds the state of `$key`: `<prefix>:limit:<name>:{<key>}`, with a scope
         * `<prefix>:limit:<name>:{<scope>}:{<key>}`.
         */
        public function redisKey(\Stringable|string|int $key): string
        {
        }
    }

    /**
     * A handle for a lock; made by Client::lock() and similar methods. One caller at a time can acquire it, and can
     * acquire it again after its release. It is not re-entrant.
     *
     * A lock is a lease: it ends by itself when it is not extended. `$state`, `$held` and `$remainingMs` are computed
     * with the clock of the process: the deadline is `ttl` after the request was sent, less 1 % and 2 ms. After the
     * deadline the lock is lost, even if Redis still has it. To be safe from a holder that was paused, let the resource
     * refuse every fencing `$token` smaller than the largest that it has seen. A forked child does not hold the locks
     * of its parent.
     *
     * Calls that ask Redis can fail with UnavailableException, TimeoutException, NotPermittedException,
     * WrongTypeException, NewerVersionException and ClosedException, whatever `$onError` is.
     *
     * It is released by release(), at the end of run(), when this object is freed or its client closed, and at the end
     * of the request, however that ends. If the process is killed, it ends with its ttl. If Redis is down, releasing at
     * the end of a request takes at most 100 ms in total. Its last four properties are computed at each reading,
     * without asking Redis.
     */
    final class Lock implements LockInterface
    {
        /**
         * The names as they were given.
         *
         * @var non-empty-list<non-empty-string>
         */
        public readonly array $names;

        /**
         * The Redis keys, one for each name: `<prefix>:lock:{<name>}`, of a semaphore `<prefix>:sem:{<name>}`, of a
         * read-write lock `<prefix>:rw:{<name>}`.
         *
         * @var non-empty-list<non-empty-string>
         */
        public readonly array $redisKeys;

        /** How long a grant lasts unless it is extended, in milliseconds. */
        public readonly int $ttlMs;

        /**
         * The fencing token of the grant, larger than that of every grant of the name before; null if it was never
         * acquired, or is released. It stays after a loss.
         */
        public readonly ?int $token;

        /**
         * The state as the handle knows it, without asking Redis: `released` (or never acquired), `held`, `uncertain`
         * (held, but the last renewal failed) or `lost`.
         *
         * @var 'released'|'held'|'uncertain'|'lost'
         */
        public readonly string $state;

        /** Whether it is held for certain now. */
        public readonly bool $held;

        /** For how many milliseconds it is held for certain unless it is extended; 0 if it is not. */
        public readonly int $remainingMs;

        private function __construct()
        {
        }

        /**
         * Acquires it: true if it is held now, false if it was not granted in time. Waiting does not poll. A wait that
         * ends without the lock leaves nothing behind. Signal handlers of pcntl_async_signals() run while it waits. An
         * exception of theirs ends the wait, and so does the time limit of the request.
         *
         * @param int<0, 3153600000000>|null $waitMs how long to wait at most; 0 asks once (0 ms to 36,500 days;
         *     default: null, as the handle was made)
         * @throws InvalidArgumentException if this handle holds the lock, or is being acquired
         * @throws CrossSlotException for names in several slots of a cluster
         */
        public function acquire(?int $waitMs = null): bool
        {
        }

        /**
         * Releases it: true if it was held until now, false if it was lost or is not held. If the release fails, the
         * lock ends with its ttl at the latest.
         *
         * @throws UnavailableException if Redis cannot answer
         */
        public function release(): bool
        {
        }

        /**
         * Extends the lease to at least `$ttlMs` from now: false if it was lost. It never shortens.
         *
         * @param int<10, 604800000>|null $ttlMs 10 ms to 7 days; default: null, the lock's own
         * @throws UnavailableException if Redis cannot answer
         */
        public function extend(?int $ttlMs = null): bool
        {
        }

        /**
         * Writes the lease down as a short text, by which another process adopts it (Client::adopt()), and ends this
         * handle: it is released, no longer extended, and its release() is false. Does not ask Redis.
         *
         * The lease is not extended until the lock is adopted, so the text must arrive within what `$remainingMs`
         * shows. Anyone who has the text can take the lease: treat it as a secret. It contains no password.
         *
         * @return non-empty-string
         * @throws LostException unless the lock is held for certain now
         * @throws InvalidArgumentException for a lock over several servers
         */
        public function handover(): string
        {
        }

        /**
         * Fails unless it is held for certain now. Does not ask Redis.
         *
         * @throws LostException if it is not
         */
        public function assertHeld(): void
        {
        }

        /**
         * Makes every later token larger than `$floor`: for a resource that has seen a larger token than the lock gave.
         * Does not ask Redis.
         *
         * @param int<0, 4503599627370496> $floor 0 to 2^52
         * @throws InvalidArgumentException for a floor out of these bounds
         */
        public function raiseFloor(int $floor): void
        {
        }

        /** The holders of the lock (of several names, the first), and how many callers wait for it. */
        public function inspect(): Inspection
        {
        }

        /**
         * Takes it away from all holders, and returns how many there were. For operators: the holders learn of it as a
         * loss when they next renew, extend or release.
         */
        public function forceRelease(): int
        {
        }

        /**
         * Acquires it, calls `$function` with this handle, releases it however the function ends, and returns what it
         * returned. It is released after a return, an exception, an exit, a fatal error and at the time limit.
         *
         * @param callable(Lock): mixed $function
         * @param int<0, 3153600000000>|null $waitMs
         * @throws NotAcquiredException if it is not granted in time; then the function is not called
         * @throws LostException if the function did not fail but the lock was lost meanwhile
         * @throws UnavailableException if Redis cannot answer
         */
        public function run(callable $function, ?int $waitMs = null): mixed
        {
        }
    }

    /**
     * The units of a sale; made by Client::stock(). It does not oversell as long as Redis loses no data.
     *
     * Units that are not confirmed before their hold ends return to stock at the next call that writes. At any time
     * `available + held + sold` is the number of all units. Calls are repeated after a lost reply within the client's
     * timeout: nothing is taken, sold or added twice. All of them can fail with UnavailableException, TimeoutException,
     * NotPermittedException, WrongTypeException, NewerVersionException and ClosedException, whatever `$onError` is.
     *
     * You may repeat every call after an exception that leaves its outcome unknown: nothing is sold or added twice, and
     * with a request id nothing is taken twice.
     */
    final class Stock implements StockInterface
    {
        /** The name as it was given. */
        public readonly string $name;

        /** The scope given; null without one. */
        public readonly ?string $scope;

        /**
         * The Redis keys: hash, holds and ledger. `<prefix>:stock:{<name>}`, with a scope
         * `<prefix>:stock:{<scope>}:{<name>}`, then the same with `:holds` and `:ledger`.
         *
         * @var non-empty-list<non-empty-string>
         */
        public readonly array $redisKeys;

        private function __construct()
        {
        }

        /**
         * Opens the sale: true if this call opened it, false if it is open with the same numbers and prizes; then
         * nothing changes.
         *
         * @param int<1, 4503599627370496> $quantity 1 to 2^52
         * @param int<1, 4503599627370496>|null $perBuyer the most units that one buyer holds and has bought (1 to 2^52;
         *     default: null, no limit)
         * @param int<1, 3153600000000>|null $endsMs when takes end, in milliseconds since the epoch by the server's
         *     clock (default: null, never). Confirming stays possible
         * @param list<\Stringable|string|int>|null $prizes a payload for each unit (a coupon code, a seat), of which
         *     each reservation gets its own in this order: 1 to 1,024 bytes each, at most 10,000 at once, more by
         *     Stock::restock()
         * @throws InvalidArgumentException if it is open with others, which are named
         */
        public function open(int $quantity, ?int $perBuyer = null, ?int $endsMs = null, ?array $prizes = null): bool
        {
        }

        /**
         * Ends the sale now and for good: true if this call ended it, false if it had ended before. Takes are refused
         * as `ended`; units that are held can still be confirmed, cancelled and extended. The sale is kept for its
         * `$retentionMs` after the last of its holds has ended, or from now; until then its name cannot be used again.
         *
         * @throws InvalidArgumentException if it was never opened
         */
        public function close(): bool
        {
        }

        /**
         * Adds units to a sale, even after its end, and returns the number of all units, including sold ones. A sale
         * with prizes needs a prize for each new unit.
         *
         * @param int<1, 4503599627370496> $quantity 1 to 2^52
         * @param list<\Stringable|string|int>|null $prizes one for each unit, if the sale has prizes
         * @param \Stringable|string|int|null $requestId adds once for this id (1 to 256 bytes) while it is remembered,
         *     at least a day
         * @throws InvalidArgumentException if it was never opened, or for a wrong number of prizes
         */
        public function restock(
            int $quantity,
            ?array $prizes = null,
            \Stringable|string|int|null $requestId = null
        ): int {
        }

        /**
         * Holds units for a buyer; if it cannot, Taken::$outcome has the reason. Units that are not confirmed in time
         * return to stock.
         *
         * The same request id for the same buyer returns the first reservation again, even if it has ended, while it is
         * remembered: as long as the hold, or the client's `$requestMemoryMs` if that is longer. A refused call is
         * decided again.
         *
         * @param \Stringable|string|int $buyer 1 to 1,024 bytes
         * @param int<1, 4503599627370496> $quantity how many units, all or none; of units with prizes at most 1,000 (1
         *     to 2^52; default: 1)
         * @param int<1, 2592000000> $holdMs how long they are held (1 ms to 30 days; default: 600,000 ms, 10 minutes)
         * @param \Stringable|string|int|null $requestId takes once for this id, which belongs to the buyer and the
         *     stock; of several stocks, to the first by their Redis keys
         * @throws InvalidArgumentException for an invalid buyer or number
         */
        public function take(
            \Stringable|string|int $buyer,
            int $quantity = 1,
            int $holdMs = 600000,
            \Stringable|string|int|null $requestId = null
        ): Taken {
        }

        /**
         * Sells the units of a reservation. Returns true, even if it was confirmed before (which is remembered for at
         * least a day); false if the hold had ended or was cancelled, and then sells nothing. It works after the end of
         * the sale too.
         *
         * @param non-empty-string $id
         * @throws InvalidArgumentException for an id of another stock
         */
        public function confirm(string $id): bool
        {
        }

        /**
         * Gives the units of a reservation back to the stock. Returns true, even if it was cancelled before, as long as
         * that is remembered; false if the hold had ended or was confirmed.
         *
         * @param non-empty-string $id
         * @throws InvalidArgumentException for an id of another stock
         */
        public function cancel(string $id): bool
        {
        }

        /**
         * Makes a hold last for at least `$holdMs` from now, and never shortens it; false if it had ended, or was
         * confirmed or cancelled.
         *
         * @param non-empty-string $id
         * @param int<1, 2592000000> $holdMs 1 ms to 30 days; default: 600,000 ms, 10 minutes
         * @throws InvalidArgumentException for an id of another stock
         */
        public function extend(string $id, int $holdMs = 600000): bool
        {
        }

        /** The numbers of the sale. */
        public function status(): StockStatus
        {
        }

        /**
         * Lists open holds in the order in which they end. It leaves out none, but a hold that is extended meanwhile
         * may be listed twice.
         *
         * @param string|null $cursor the StockPage::$next of the page before (default: null, the first page)
         * @param int<1, 1000> $count how many at most (1 to 1,000; default: 100)
         * @throws InvalidArgumentException for an invalid cursor or count
         */
        public function reservations(?string $cursor = null, int $count = 100): StockPage
        {
        }

        /**
         * Reads entries of the ledger, in order. If you store the last id together with your own changes, you read
         * every entry at least once, as long as the ledger keeps them.
         *
         * @param string|null $after the LedgerEntry::$id of the entry before (default: null, from the first that is
         *     kept)
         * @param int<1, 1000> $count how many at most (1 to 1,000; default: 100)
         * @return list<LedgerEntry>
         * @throws InvalidArgumentException for an invalid id or count
         */
        public function ledger(?string $after = null, int $count = 100): array
        {
        }
    }

    /**
     * Work that is done once for each id; made by Client::once(). An id is 1 to 1,024 bytes.
     *
     * All calls can fail with UnavailableException, TimeoutException, NotPermittedException, WrongTypeException,
     * NewerVersionException and ClosedException, whatever `$onError` is, since the work might be done twice.
     */
    final class Once implements OnceInterface
    {
        /** The name given. */
        public readonly string $name;

        private function __construct()
        {
        }

        /**
         * Claims an id: Claimed::$first shows whether this caller is the first, and Claimed::$value is the value of the
         * first. If the reply of a claim is lost, it is asked for again, and stays the caller's. While a run() of the
         * id runs, no claim is the first.
         *
         * @param \Stringable|string|int $id 1 to 1,024 bytes
         * @param string|null $value the value that later callers get: any bytes, at most 64 MiB
         * @throws InvalidArgumentException for an invalid id or value
         */
        public function claim(\Stringable|string|int $id, ?string $value = null): Claimed
        {
        }

        /**
         * Removes an id, even if another caller claimed it, so the next caller is the first: true if it was stored. A
         * function that runs for it continues, but its result is not stored.
         *
         * @param \Stringable|string|int $id 1 to 1,024 bytes
         */
        public function release(\Stringable|string|int $id): bool
        {
        }

        /**
         * Returns the result of the first run for this id. If there is none, this call runs `$function`, and the other
         * callers wait for its result.
         *
         * If the function fails, its caller gets the error. The next caller runs it again, unless `$errorTtlMs`
         * remembers the error. If its process dies, the next caller runs it when the lease has ended, so it must be
         * safe to run twice. After an exit or a fatal error the next caller runs it at once.
         *
         * @param \Stringable|string|int $id 1 to 1,024 bytes
         * @param callable(): ?string $function returns any bytes, at most 64 MiB, text as UTF-8, or null
         * @param int<0, 3153600000000>|null $waitMs how long to wait at most for another caller's result, before the
         *     call fails with TimeoutException (0 ms to 36,500 days; default: null, 5,000 ms more than the lease, so
         *     that a waiter waits longer than a dead caller's lease)
         * @throws TimeoutException if the result did not come in time
         * @throws LoadFailedException if the function failed a moment ago and the error is remembered
         */
        public function run(\Stringable|string|int $id, callable $function, ?int $waitMs = null): ?string
        {
        }

        /**
         * The Redis key of an id: `<prefix>:once:<name>:{<id>}`.
         *
         * @param \Stringable|string|int $id 1 to 1,024 bytes
         */
        public function redisKey(\Stringable|string|int $id): string
        {
        }
    }

    /**
     * A cache without stampedes; made by Client::cache(). On a miss, one caller across all processes loads the value.
     * When a value is stale, and sometimes a little earlier, one caller loads a new one, and the others are served the
     * old one.
     *
     * Keys are 1 to 1,024 bytes, values up to 64 MiB, or null: it is known that there is no value. All calls can fail
     * with UnavailableException, TimeoutException, NotPermittedException, WrongTypeException, NewerVersionException and
     * ClosedException, whatever `$onError` is; with `whenAway: 'load'` a get() loads instead of the first two.
     */
    final class Cache implements CacheInterface
    {
        /** The name given. */
        public readonly string $name;

        private function __construct()
        {
        }

        /**
         * Returns the value of `$key`, fresh or stale, or runs `$load` if this caller is to load it. On a miss, while
         * another caller loads, it waits for the value. If `$load` fails, its caller gets the error; for `$errorTtlMs`
         * other callers get the stale value or LoadFailedException. A `$load` must not get its own key, since it would
         * wait for itself. After an exit or a fatal error another caller loads at once; if this process is killed, when
         * its lease has ended.
         *
         * @param \Stringable|string|int $key at most 1,024 bytes
         * @param callable(): ?string $load
         * @param int<0, 3153600000000>|null $waitMs how long to wait at most for another caller's result, before the
         *     call fails with TimeoutException (0 ms to 36,500 days; default: null, 5,000 ms more than the lease, so
         *     that a waiter waits longer than a dead caller's lease)
         * @throws TimeoutException if the value did not come in time
         * @throws LoadFailedException if a loader failed a short time ago
         */
        public function get(\Stringable|string|int $key, callable $load, ?int $waitMs = null): ?string
        {
        }

        /**
         * Returns the values of several keys, in their order, with one call to Redis. `$load` gets the missing keys
         * that no other caller loads. A key that it leaves out has no value; a key that it adds is ignored. Then this
         * waits for keys that other callers load, and loads them one by one if the others fail. In a cluster the keys
         * may be in any slots; the call then takes a round trip for each slot.
         *
         * @param non-empty-list<\Stringable|string|int> $keys at most 1,000, none twice
         * @param callable(non-empty-list<string>): array<string|int, ?string> $load
         * @param int<0, 3153600000000>|null $waitMs how long to wait at most for another caller's result, before the
         *     call fails with TimeoutException (0 ms to 36,500 days; default: null, 5,000 ms more than the lease, so
         *     that a waiter waits longer than a dead caller's lease)
         * @return array<string|int, ?string>
         * @throws TimeoutException if a value did not come in time
         * @throws LoadFailedException if the last load of a key failed a short time ago; what this call loaded is
         *     stored before
         */
        public function getMany(array $keys, callable $load, ?int $waitMs = null): array
        {
        }

        /**
         * As get(), with a value that is stored as JSON. Every caller, including the one that loads, gets the value as
         * read back from JSON; null means no value. The answer is what json_decode() makes of it, with objects as
         * arrays.
         *
         * @param callable(): mixed $load
         * @param int<0, 3153600000000>|null $waitMs how long to wait at most for another caller's result, before the
         *     call fails with TimeoutException (0 ms to 36,500 days; default: null, 5,000 ms more than the lease, so
         *     that a waiter waits longer than a dead caller's lease)
         * @throws \JsonException for what json_encode() or json_decode() refuses
         * @throws TimeoutException if the value did not come in time
         * @throws LoadFailedException if a loader failed a short time ago
         */
        public function getJson(\Stringable|string|int $key, callable $load, ?int $waitMs = null): mixed
        {
        }

        /** Returns the value of a key, fresh or stale, without loading or waiting; null if there is no value. */
        public function peek(\Stringable|string|int $key): ?Seen
        {
        }

        /**
         * Stores a value that you already have. It counts as newer than whatever is being loaded.
         *
         * @param string|null $value null means that there is no value; if `$negativeMs` is 0, that only forgets the key
         * @throws InvalidArgumentException for an invalid value
         */
        public function put(\Stringable|string|int $key, ?string $value): bool
        {
        }

        /**
         * Forgets a key: a value that was loaded, or is being loaded now, is no longer served; true if there was a
         * value.
         */
        public function invalidate(\Stringable|string|int $key): bool
        {
        }

        /** The Redis key of a key: `<prefix>:cache:<name>:{<key>}`. */
        public function redisKey(\Stringable|string|int $key): string
        {
        }
    }

    /**
     * A client of one Redis, or of this process' memory (`memory://`). Making one does no I/O: it connects at the first
     * call, and again in each forked process.
     *
     * Objects with the same settings share one client and its connections, also with later requests of the same
     * process, so you can make one in each request at almost no cost.
     *
     * A parameter that is null comes from the ini setting of its name (`ratelimit.url`, `ratelimit.prefix`,
     * `ratelimit.timeout_ms`, `ratelimit.on_error`, `ratelimit.deny_cache_max_ms`, `ratelimit.report`), then, for the
     * URL, from the environment variable `QUOTALOCK_URL`, then from the default.
     */
    final class Client implements ClientInterface
    {
        /** The host and port, socket path or `memory://` that this client talks to; never a password. */
        public readonly string $server;

        /** The first part of every Redis key. */
        public readonly string $prefix;

        /**
         * @param string|null $url `redis://[user:password@]host[:port][/database]`, `rediss://`, `unix://`,
         *     `redis+cluster://`, `redis+sentinel://` or `memory://`, which all clients of this process share, or
         *     `memory://name`, which is removed when the last of its clients is closed (default: null, `QUOTALOCK_URL`
         *     of the environment, then `redis://127.0.0.1:6379`)
         * @param non-empty-string|null $prefix the first part of every Redis key; no braces (default: `ql`)
         * @param int<1, 3600000>|null $timeoutMs the time that a call may take, connecting included (1 ms to 1 hour;
         *     default: 500 ms)
         * @param 'raise'|'open'|'closed'|'local'|null $onError the answer of a limiter when Redis cannot answer: an
         *     error (`raise`), yes (`open`), no (`closed`), or what the same policy decides in this process' memory
         *     (`local`) (default: `raise`)
         * @param int<1, 86400000> $requestMemoryMs how long a call with a request id is remembered, and at least as
         *     long as the timeout (1 ms to 1 day; default: 60,000 ms)
         * @param (callable(): string)|null $password a function that returns the password, if the URL has none. It is
         *     called when a connection first logs in, and again when the server refuses the password. Calls wait for
         *     it, and if it throws, they fail with its error. Clients with the same settings share connections, even if
         *     another one logged in
         * @param int<0, 60000>|null $denyCacheMaxMs after Redis has denied a call, this process denies the same call
         *     itself until it can be admitted, for at most this time; 0 asks Redis every time (0 ms to 1 minute;
         *     default: 1,000 ms). The processes of a host share these denials
         * @param (callable(Decision, \Stringable|string|int): mixed)|null $onDecision a function that is called after
         *     each decision of this client's limiters that charges or denies, with the key as it was given, right
         *     before the call ends. Not for calls that only look, fail or are aborted. An error of the function does
         *     not affect the call. PHP logs the error as a warning
         * @param (callable(Lock): mixed)|null $onLost a function that is called when a lock of this client is found to
         *     be lost, once for each grant; otherwise as `$onDecision`. It is called when a method of the lock finds
         *     the loss
         * @param bool|null $report whether this process reports to Redis once per second, in the background, what the
         *     client's limiters decided, and which keys they denied most often, for `quotalock top` (default: false).
         *     Decisions that have no room or cannot be sent are dropped and counted
         * @throws InvalidArgumentException for an invalid URL or option; no error shows a password
         */
        public function __construct(
            #[\SensitiveParameter] ?string $url = null,
            ?string $prefix = null,
            ?int $timeoutMs = null,
            ?string $onError = null,
            int $requestMemoryMs = 60000,
            #[\SensitiveParameter] ?callable $password = null,
            ?int $denyCacheMaxMs = null,
            ?callable $onDecision = null,
            ?callable $onLost = null,
            ?bool $report = null
        ) {
        }

        /**
         * Makes a limiter.
         *
         * @param non-empty-string $name part of its Redis keys: all of one kind, name and prefix share their state
         * @param Rule|non-empty-list<Rule>|non-empty-string $policy the rules that it decides by, such as
         *     `10/minute;100/hour`
         * @param \Stringable|string|int|null $scope the hash tag that all keys of the limiter share (1 to 1,024 bytes):
         *     they are in one slot of a cluster, and Client::consumeAll() can charge them together with those of other
         *     limiters of that scope (default: null, each key is its own)
         * @param bool $enforce whether the policy is enforced (default: true). If not, every call is allowed, and
         *     Decision::$wouldDeny marks those that would have been denied, which are not charged. Use it to try a
         *     policy on real traffic
         * @param positive-int|null $prefetch how many permits are taken from Redis at once at most, to be spent in this
         *     process without a call: 2 to the smallest capacity of the policy. Sliding windows and logs do not support
         *     it (default: null, each call asks Redis)
         * @throws InvalidArgumentException for an empty or too long name or scope, and an invalid `$prefetch`
         * @throws InvalidPolicyException for an invalid policy
         */
        public function limiter(
            string $name,
            Rule|array|string $policy,
            \Stringable|string|int|null $scope = null,
            bool $enforce = true,
            ?int $prefetch = null
        ): Limiter {
        }

        /**
         * Charges several keys, each by its own limiter and with its own cost, if all of them admit it, else none: one
         * atomic call. No key may occur twice for one limiter. In a cluster the limiters need a common `$scope`.
         *
         * @param non-empty-list<array{Limiter, \Stringable|string|int, 2?: int<1, 4503599627370496>}> $charges at most
         *     100, each with a limiter of this client, a key, and a cost if it is not 1 (1 to 2^52)
         * @param \Stringable|string|int|null $requestId charges once for this id, which is remembered under the first
         *     key
         * @throws InvalidArgumentException for an invalid charge
         * @throws CrossSlotException for limiters without a common scope in a cluster
         */
        public function consumeAll(array $charges, \Stringable|string|int|null $requestId = null): CombinedDecision
        {
        }

        /**
         * Makes a handle for a mutex: a lease that one handle has at a time, and that ends by itself. Does not ask
         * Redis.
         *
         * @param non-empty-string $name 1 to 1,024 bytes of anything
         * @param int<10, 604800000> $ttlMs how long a grant lasts if it is not extended (10 ms to 7 days; default:
         *     30,000 ms). PHP does not renew it: make it at least as long as the work
         * @param int<0, 3153600000000> $waitMs how long an acquisition waits by default; 0 asks once (0 ms to 36,500
         *     days; default: 0 ms)
         * @param bool $fair whether waiters are served in order of arrival (default: false)
         * @param int<0, 4503599627370496> $tokenAbove every fencing token is larger than this (0 to 2^52; default: 0)
         * @param string $label the text that Lock::inspect() shows of the holder next to its host and process: up to
         *     128 bytes of UTF-8, no control characters (default: empty)
         * @param int<0, 4294967295> $replicasAck how many replicas must have a grant before it counts; 0 asks none (0
         *     to 2^32 - 1; default: 0). On `memory://`, which has no replicas, only 0 is valid
         * @param int<1, 60000> $ackTimeoutMs how long an acquisition waits for the replicas (1 ms to 1 minute; default:
         *     100 ms)
         * @throws InvalidArgumentException for an empty name, one over 1,024 bytes, or an invalid option
         */
        public function lock(
            string $name,
            int $ttlMs = 30000,
            int $waitMs = 0,
            bool $fair = false,
            int $tokenAbove = 0,
            string $label = '',
            int $replicasAck = 0,
            int $ackTimeoutMs = 100
        ): Lock {
        }

        /**
         * Makes a handle for several mutexes that are granted all or none, in one call: no order of names can deadlock.
         * In a cluster the names must be in one slot, else acquiring fails with CrossSlotException.
         *
         * The other options are those of lock().
         *
         * @param non-empty-list<non-empty-string> $names at most 100, none twice
         * @param int<10, 604800000> $ttlMs
         * @param int<0, 3153600000000> $waitMs
         * @param int<0, 4503599627370496> $tokenAbove
         * @param int<0, 4294967295> $replicasAck
         * @param int<1, 60000> $ackTimeoutMs
         * @throws InvalidArgumentException for invalid names or options
         */
        public function lockAll(
            array $names,
            int $ttlMs = 30000,
            int $waitMs = 0,
            bool $fair = false,
            int $tokenAbove = 0,
            string $label = '',
            int $replicasAck = 0,
            int $ackTimeoutMs = 100
        ): Lock {
        }

        /**
         * Makes a handle for `$weight` of a semaphore's `$permits`; at most 1,024 hold it at once. All users of a
         * semaphore must give the same `$permits`.
         *
         * The other options are those of lock().
         *
         * @param non-empty-string $name 1 to 1,024 bytes of anything
         * @param int<1, 2147483647> $permits the same number wherever this semaphore is used (1 to 2^31 - 1)
         * @param int<1, 2147483647> $weight how many permits to take, all or none; at most as many as there are (1 to
         *     2^31 - 1; default: 1)
         * @param int<10, 604800000> $ttlMs
         * @param int<0, 3153600000000> $waitMs
         * @param int<0, 4503599627370496> $tokenAbove
         * @param int<0, 4294967295> $replicasAck
         * @param int<1, 60000> $ackTimeoutMs
         * @throws InvalidArgumentException for an invalid name, number or option
         */
        public function semaphore(
            string $name,
            int $permits,
            int $weight = 1,
            int $ttlMs = 30000,
            int $waitMs = 0,
            bool $fair = false,
            int $tokenAbove = 0,
            string $label = '',
            int $replicasAck = 0,
            int $ackTimeoutMs = 100
        ): Lock {
        }

        /**
         * Makes a handle to read under a read-write lock: up to 1,024 readers hold it at once, but none while a writer
         * holds it or waits.
         *
         * The other options are those of lock().
         *
         * @param non-empty-string $name 1 to 1,024 bytes of anything
         * @param int<10, 604800000> $ttlMs
         * @param int<0, 3153600000000> $waitMs
         * @param int<0, 4503599627370496> $tokenAbove
         * @param int<0, 4294967295> $replicasAck
         * @param int<1, 60000> $ackTimeoutMs
         * @throws InvalidArgumentException for an invalid name or option
         */
        public function readLock(
            string $name,
            int $ttlMs = 30000,
            int $waitMs = 0,
            bool $fair = false,
            int $tokenAbove = 0,
            string $label = '',
            int $replicasAck = 0,
            int $ackTimeoutMs = 100
        ): Lock {
        }

        /**
         * Makes a handle to write under a read-write lock: one writer holds it alone.
         *
         * The other options are those of lock().
         *
         * @param non-empty-string $name 1 to 1,024 bytes of anything
         * @param int<10, 604800000> $ttlMs
         * @param int<0, 3153600000000> $waitMs
         * @param int<0, 4503599627370496> $tokenAbove
         * @param int<0, 4294967295> $replicasAck
         * @param int<1, 60000> $ackTimeoutMs
         * @throws InvalidArgumentException for an invalid name or option
         */
        public function writeLock(
            string $name,
            int $ttlMs = 30000,
            int $waitMs = 0,
            bool $fair = false,
            int $tokenAbove = 0,
            string $label = '',
            int $replicasAck = 0,
            int $ackTimeoutMs = 100
        ): Lock {
        }

        /**
         * Takes over a lock that Lock::handover() gave away, in any process or language. The new handle has the ttl,
         * the label and the fencing token of the first. Only one process can adopt a lock.
         *
         * @param non-empty-string|null $name the name that the lock must have: the text of another lock is refused, and
         *     that lock is not changed (default: null, any lock)
         * @param int<10, 604800000>|null $ttlMs a new ttl: the lease then ends that long from now, even if that is
         *     sooner (10 ms to 7 days; default: null, the giver's)
         * @throws LostException if the lease has ended, was adopted before, or is on another server
         * @throws InvalidArgumentException for a text of another kind, a damaged one, or one of a client with another
         *     prefix
         */
        public function adopt(string $text, ?string $name = null, ?int $ttlMs = null): Lock
        {
        }

        /**
         * Makes a handle for the units of a sale. Does not ask Redis; Stock::open() makes the sale itself.
         *
         * @param non-empty-string $name 1 to 1,024 bytes of anything
         * @param \Stringable|string|int|null $scope the hash tag that all keys of the stock share: stocks of one scope
         *     are in one slot of a cluster, and Client::takeAll() can take from them together (default: null, each
         *     stock is its own). It is part of the keys, so all handles of a sale must have the same scope
         * @param int<1000, 100000000> $ledgerCap how many entries the ledger keeps, approximately (1,000 to
         *     100,000,000; default: 100,000). Fixed when the sale is opened
         * @param int<60000, 3153600000000> $retentionMs how long the sale and its ledger are kept, and at least for
         *     half of it, after its end, its last hold and the last call that wrote (1 minute to 36,500 days; default:
         *     2,592,000,000 ms, 30 days). Fixed when the sale is opened
         * @throws InvalidArgumentException for an empty name, one over 1,024 bytes, or an invalid option
         */
        public function stock(
            string $name,
            \Stringable|string|int|null $scope = null,
            int $ledgerCap = 100000,
            int $retentionMs = 2592000000
        ): Stock {
        }

        /**
         * Holds units of several stocks for one buyer, or of none: one atomic call. Each reservation is an ordinary one
         * of its stock. In a cluster the stocks need a common `$scope`.
         *
         * @param non-empty-list<array{Stock, int<1, 4503599627370496>}> $takes at most 100 stocks of this client, none
         *     twice, each with a quantity
         * @param \Stringable|string|int $buyer 1 to 1,024 bytes
         * @param int<1, 2592000000> $holdMs how long they are held (1 ms to 30 days; default: 600,000 ms, 10 minutes)
         * @param \Stringable|string|int|null $requestId takes once for this id, which belongs to the buyer and the
         *     stock; of several stocks, to the first by their Redis keys
         * @throws InvalidArgumentException for an invalid stock, quantity or buyer
         * @throws CrossSlotException for stocks without a common scope in a cluster
         */
        public function takeAll(
            array $takes,
            \Stringable|string|int $buyer,
            int $holdMs = 600000,
            \Stringable|string|int|null $requestId = null
        ): TakenAll {
        }

        /**
         * Sells the units of several reservations in one atomic call, or nothing (false) if one of them has ended.
         * Otherwise as Stock::confirm().
         *
         * @param non-empty-list<array{Stock, non-empty-string}> $reservations at most 100, none twice, each a stock and
         *     an id
         * @throws InvalidArgumentException for an invalid reservation
         * @throws CrossSlotException for stocks without a common scope in a cluster
         */
        public function confirmAll(array $reservations): bool
        {
        }

        /**
         * Gives the units of several reservations back to their stocks, in one atomic call, even if some of them have
         * ended. Returns true if none had ended or was confirmed.
         *
         * @param non-empty-list<array{Stock, non-empty-string}> $reservations at most 100, none twice, each a stock and
         *     an id
         * @throws InvalidArgumentException for an invalid reservation
         * @throws CrossSlotException for stocks without a common scope in a cluster
         */
        public function cancelAll(array $reservations): bool
        {
        }

        /**
         * Lengthens several holds, or none (false) if one of them has ended: one atomic call. Otherwise as
         * Stock::extend().
         *
         * @param non-empty-list<array{Stock, non-empty-string}> $reservations at most 100, none twice, each a stock and
         *     an id
         * @param int<1, 2592000000> $holdMs 1 ms to 30 days; default: 600,000 ms, 10 minutes
         * @throws InvalidArgumentException for an invalid reservation
         * @throws CrossSlotException for stocks without a common scope in a cluster
         */
        public function extendAll(array $reservations, int $holdMs = 600000): bool
        {
        }

        /**
         * Makes a Once: work that is done once for each id, across all processes.
         *
         * @param non-empty-string $name part of its Redis keys: all of one kind, name and prefix share their state
         * @param int<1, 315360000000> $ttlMs how long a claim or a result is remembered (1 ms to 3,650 days; default:
         *     86,400,000 ms, 1 day)
         * @param int<10, 3600000> $leaseMs how long the others wait for a caller that dies (10 ms to 1 hour; default:
         *     10,000 ms). It is not renewed, so make it longer than the function runs
         * @param int<0, 3600000> $errorTtlMs how long the error of a run is remembered; with 0 the next caller runs the
         *     function at once (0 ms to 1 hour; default: 0 ms)
         * @throws InvalidArgumentException for an empty name, one over 1,024 bytes, or an invalid option
         */
        public function once(string $name, int $ttlMs = 86400000, int $leaseMs = 10000, int $errorTtlMs = 0): Once
        {
        }

        /**
         * Makes a cache: on a miss, one caller across all processes loads the value.
         *
         * @param non-empty-string $name part of its Redis keys: all of one kind, name and prefix share their state
         * @param int<1, 315360000000> $freshMs how long a value is fresh (1 ms to 3,650 days; default: 60,000 ms)
         * @param int<0, 315360000000> $staleMs how long it is served after that while one caller loads a new one (0 ms
         *     to 3,650 days; default: 0 ms)
         * @param int<10, 3600000> $leaseMs how long a loader keeps the others from loading (10 ms to 1 hour; default:
         *     10,000 ms). It is not renewed: a loader that takes longer is joined by another, and the newer value wins
         * @param int<0, 315360000000>|null $negativeMs how long the answer that there is no value is fresh; 0 does not
         *     store it (0 ms to 3,650 days; default: null, as `$freshMs`)
         * @param int<0, 3600000> $errorTtlMs how long the error of a loader is remembered, and no other caller loads (0
         *     ms to 1 hour; default: 1,000 ms)
         * @param float $beta how early values are refreshed before they are stale: 0 (never) to 100 (default: 1.0)
         * @param 'raise'|'load' $whenAway the behaviour of a `get` when Redis cannot answer: fail (`raise`), or `load`
         *     as if there were no cache (default: `raise`). If Redis goes down during a load, `raise` fails even though
         *     the value was loaded, and `load` returns the value
         * @throws InvalidArgumentException for an empty name, one over 1,024 bytes, or an invalid option
         */
        public function cache(
            string $name,
            int $freshMs = 60000,
            int $staleMs = 0,
            int $leaseMs = 10000,
            ?int $negativeMs = null,
            int $errorTtlMs = 1000,
            float $beta = 1.0,
            string $whenAway = 'raise'
        ): Cache {
        }

        /**
         * Releases the locks and permits of the client, within its `$timeoutMs`, and closes the connections. Later
         * calls fail with ClosedException, and handles that held a lock are `lost`. Closing twice does nothing. The
         * connections stay open while another client object of this process shares them. There is no need to call it.
         */
        public function close(): void
        {
        }
    }

    /**
     * The answer of a limiter for one key. With several rules, `$limit`, `$remaining`, `$retryAfterMs` and
     * `$resetAfterMs` are those of the binding rule: the denying rule with the longest `$retryAfterMs`, or if none
     * denies, the rule with the least `$remaining`.
     */
    final class Decision
    {
        /** The name of the limiter. */
        public readonly string $name;

        /** Whether the call was admitted. A denied call is not charged. */
        public readonly bool $allowed;

        /**
         * Whether the policy denies the call, which is allowed only because of `enforce: false`. It was not charged.
         */
        public readonly bool $wouldDeny;

        /** The limit of the binding rule. */
        public readonly int $limit;

        /** How much could be consumed now; 0 while the key is blocked. */
        public readonly int $remaining;

        /**
         * After how many milliseconds the same call would be admitted if nothing else called: 0 when admitted, null
         * when never.
         */
        public readonly ?int $retryAfterMs;

        /**
         * In how many milliseconds the binding rule is full again and a block has ended; `$rules` has the other rules.
         */
        public readonly int $resetAfterMs;

        /** The cost of the call; with Limiter::consumeUpTo(), the amount that was taken. */
        public readonly int $cost;

        /**
         * The source of the answer: `redis`, `memory`, `lease` (prefetched permits), `deny-cache` (this process, by
         * what Redis denied a moment ago), or, while Redis cannot answer, `local`, `open` or `closed`.
         *
         * @var 'redis'|'memory'|'lease'|'local'|'open'|'closed'|'deny-cache'
         */
        public readonly string $source;

        /** Whether a damaged or foreign value at the key was replaced. */
        public readonly bool $healed;

        /**
         * The answer of each rule, in the order of the policy.
         *
         * @var non-empty-list<RuleDecision>
         */
        public readonly array $rules;

        private function __construct()
        {
        }

        /**
         * The header fields for the response, in their order. A denial has `Retry-After`: whole seconds, rounded up, at
         * least 1. If the call can never be admitted, it is the longest period of the rules that can never admit it.
         *
         * @param 'draft-11'|'none' $syntax how quotas are written: `draft-11` is `RateLimit-Policy` and `RateLimit` of
         *     draft-ietf-httpapi-ratelimit-headers-11, with an item for each rule; `none` leaves them out (default:
         *     `draft-11`)
         * @param bool $legacy whether `X-RateLimit-Limit`, `-Remaining` and `-Reset` (seconds from now) of the rule
         *     that binds are added (default: false)
         * @return array<string, string>
         */
        public function headers(string $syntax = 'draft-11', bool $legacy = false): array
        {
        }

        /**
         * The body of the response to a denied request, by RFC 9457 (`application/problem+json`). Its `status` is 429,
         * or 503 if Redis could not be asked and `onError: 'closed'` denied.
         *
         * @return array{type: string, title: string, status: int, detail: string, 'violated-policies': list<string>}
         * @throws InvalidArgumentException if the call was allowed
         */
        public function problem(): array
        {
        }
    }

    /** The answer of Client::consumeAll() about several keys, charged all or none. */
    final class CombinedDecision
    {
        /** Whether all were admitted. If not, none was charged. */
        public readonly bool $allowed;

        /** Whether a limiter that is not enforced denies. */
        public readonly bool $wouldDeny;

        /**
         * The index in `$decisions` of the binding one: the one that denies with the longest `$retryAfterMs`, or if
         * none denies, the one with the least Decision::$remaining.
         */
        public readonly int $binding;

        /**
         * After how many milliseconds the same call would be admitted if nothing else called: 0 when admitted, null
         * when never.
         */
        public readonly ?int $retryAfterMs;

        /**
         * The source of the answer: `redis`, `memory`, `lease` (prefetched permits), `deny-cache` (this process, by
         * what Redis denied a moment ago), or, while Redis cannot answer, `local`, `open` or `closed`.
         *
         * @var 'redis'|'memory'|'lease'|'local'|'open'|'closed'|'deny-cache'
         */
        public readonly string $source;

        /**
         * The decision about each key, in the order given.
         *
         * @var non-empty-list<Decision>
         */
        public readonly array $decisions;

        private function __construct()
        {
        }

        /**
         * The header fields for the response, in their order. A denial has `Retry-After`: whole seconds, rounded up, at
         * least 1. If the call can never be admitted, it is the longest period of the rules that can never admit it.
         *
         * @param 'draft-11'|'none' $syntax how quotas are written: `draft-11` is `RateLimit-Policy` and `RateLimit` of
         *     draft-ietf-httpapi-ratelimit-headers-11, with an item for each rule; `none` leaves them out (default:
         *     `draft-11`)
         * @param bool $legacy whether `X-RateLimit-Limit`, `-Remaining` and `-Reset` (seconds from now) of the rule
         *     that binds are added (default: false)
         * @return array<string, string>
         */
        public function headers(string $syntax = 'draft-11', bool $legacy = false): array
        {
        }

        /**
         * The body of the response to a denied request, by RFC 9457 (`application/problem+json`). Its `status` is 429,
         * or 503 if Redis could not be asked and `onError: 'closed'` denied.
         *
         * @return array{type: string, title: string, status: int, detail: string, 'violated-policies': list<string>}
         * @throws InvalidArgumentException if the call was allowed
         */
        public function problem(): array
        {
        }
    }

    /** The answer of Stock::take(). */
    final class Taken
    {
        /**
         * The outcome: `held`, `sold_out`, `buyer_limit`, `not_open` or `ended`.
         *
         * @var 'held'|'sold_out'|'buyer_limit'|'not_open'|'ended'
         */
        public readonly string $outcome;

        /** The units that are held; null unless the outcome is `held`. */
        public readonly ?StockReservation $reservation;

        /** How many units are available after it. */
        public readonly int $available;

        private function __construct()
        {
        }
    }

    /** The answer of Client::takeAll(). If not all the units are held, none is. */
    final class TakenAll
    {
        /**
         * The outcome; if the take was refused, that of the first stock that refuses.
         *
         * @var 'held'|'sold_out'|'buyer_limit'|'not_open'|'ended'
         */
        public readonly string $outcome;

        /** The index of the stock that refuses, from 0; null if none does. */
        public readonly ?int $refused;

        /**
         * The units that are held of each stock, in the order given; empty unless the outcome is `held`.
         *
         * @var list<StockReservation>
         */
        public readonly array $reservations;

        /**
         * How many units of each stock are available after it, in the order given.
         *
         * @var non-empty-list<int>
         */
        public readonly array $available;

        private function __construct()
        {
        }
    }

    /** Units of a stock that are held for a buyer. */
    final class StockReservation
    {
        /** The id, with which any process can confirm, cancel or extend it. It is printable and cannot be guessed. */
        public readonly string $id;

        /** How many units. */
        public readonly int $quantity;

        /** The buyer. */
        public readonly string $buyer;

        /**
         * The prizes of the units; empty if the sale has none.
         *
         * @var list<non-empty-string>
         */
        public readonly array $prizes;

        /** When the hold ends, in milliseconds since the epoch by the server's clock. */
        public readonly int $untilMs;

        private function __construct()
        {
        }
    }

    /** Some reservations of a stock: the answer of Stock::reservations(). */
    final class StockPage
    {
        /**
         * The reservations, in the order in which they end.
         *
         * @var list<StockReservation>
         */
        public readonly array $reservations;

        /** The cursor of the next page; null if there is none. */
        public readonly ?string $next;

        private function __construct()
        {
        }
    }

    /**
     * The numbers of a sale: the answer of Stock::status(). `available + held + sold` are `quantity`; all 0 if it is
     * not open.
     */
    final class StockStatus
    {
        /**
         * The phase: `not_open`, `open` or `ended`, when holds can still be confirmed.
         *
         * @var 'not_open'|'open'|'ended'
         */
        public readonly string $phase;

        /** All units there are. */
        public readonly int $quantity;

        /** Those that can be taken. */
        public readonly int $available;

        /** Those of reservations that are neither confirmed nor cancelled nor returned. */
        public readonly int $held;

        /** Those of confirmed reservations. */
        public readonly int $sold;

        /** How many buyers hold or have bought. */
        public readonly int $buyers;

        /** The most units of one buyer; null: no limit. */
        public readonly ?int $perBuyer;

        /**
         * When takes end, in milliseconds since the epoch by the server's clock, or when it was closed; null: never.
         */
        public readonly ?int $endsMs;

        private function __construct()
        {
        }
    }

    /** One change of a sale, with the numbers after it, so that a program that replays the ledger can check itself. */
    final class LedgerEntry
    {
        /** The id to continue reading after. */
        public readonly string $id;

        /** Its number in the sale, from 1 without a gap: one that is missing is no longer kept. */
        public readonly int $number;

        /**
         * The change: `opened`, `restocked`, `held`, `confirmed`, `cancelled`, `expired`, `extended` or `closed`.
         *
         * @var 'opened'|'restocked'|'held'|'confirmed'|'cancelled'|'expired'|'extended'|'closed'
         */
        public readonly string $kind;

        /**
         * The id of the reservation; null for an opening, a restock and a closing, and for units that expired after the
         * key of their holds was deleted.
         */
        public readonly ?string $reservation;

        /** The buyer; null without a reservation. */
        public readonly ?string $buyer;

        /** How many units; 0 for a closing. */
        public readonly int $quantity;

        /** When, in milliseconds since the epoch by the server's clock. */
        public readonly int $timeMs;

        /** Units available after it. */
        public readonly int $available;

        /** Units held after it. */
        public readonly int $held;

        /** Units sold after it. */
        public readonly int $sold;

        /**
         * The prizes of what was held or confirmed; empty if the sale has none.
         *
         * @var list<non-empty-string>
         */
        public readonly array $prizes;

        private function __construct()
        {
        }
    }

    /** The answer of Once::claim(). */
    final class Claimed
    {
        /** Whether this caller is the first. */
        public readonly bool $first;

        /** The value of the first caller; null if there is none, or no result yet. */
        public readonly ?string $value;

        /** Whether a function is running for the id, without a result yet. */
        public readonly bool $running;

        /** How many milliseconds are left until the claim ends, or the lease of the running function. */
        public readonly int $remainingMs;

        /** How many milliseconds ago it was claimed. */
        public readonly int $ageMs;

        private function __construct()
        {
        }
    }

    /** A value that Cache::peek() found. */
    final class Seen
    {
        /** The value; null if it is known that there is none. */
        public readonly ?string $value;

        /** Whether it is not fresh any more. */
        public readonly bool $stale;

        /** How old it is in milliseconds. */
        public readonly int $ageMs;

        private function __construct()
        {
        }
    }

    /** The holders of a lock and how many callers wait for it: the answer of Lock::inspect(). */
    final class Inspection
    {
        /** The last fencing token given; 0 if none is remembered. */
        public readonly int $token;

        /** How many wait, as the server knows it: one of each process. */
        public readonly int $waiters;

        /**
         * The holders, in the order of their grants.
         *
         * @var list<Holder>
         */
        public readonly array $holders;

        /** Whether the key holds a value that is not a lock of Quotalock's: it counts as none. */
        public readonly bool $healed;

        private function __construct()
        {
        }
    }

    /** A holder of a lock. */
    final class Holder
    {
        /** The host it runs on; empty if it is not known. */
        public readonly string $host;

        /** Its process there; 0 if it is not known. */
        public readonly int $pid;

        /** The label that it gave. */
        public readonly string $label;

        /** Its fencing token. */
        public readonly int $token;

        /** How many permits it has. */
        public readonly int $permits;

        /** When it was granted, in milliseconds since the epoch by the server's clock. */
        public readonly int $sinceMs;

        /** When it ends unless it is renewed, by the same clock. */
        public readonly int $untilMs;

        private function __construct()
        {
        }
    }

    /** The answer of one rule of a policy. */
    final class RuleDecision
    {
        /** Whether this rule admits by itself. */
        public readonly bool $allowed;

        /** The most that this rule admits at once: its capacity. */
        public readonly int $limit;

        /** How much this rule would let be consumed now. */
        public readonly int $remaining;

        /** After how many milliseconds this rule would admit the same call: 0 now, null never. */
        public readonly ?int $retryAfterMs;

        /** In how many milliseconds this rule is full again. */
        public readonly int $resetAfterMs;

        /**
         * How this rule counts.
         *
         * @var 'fixed-window'|'calendar-window'|'sliding-window'|'token-bucket'|'sliding-log'
         */
        public readonly string $algorithm;

        /** How much this rule admits per period. */
        public readonly int $quota;

        /** The period in milliseconds. */
        public readonly int $periodMs;

        /** The most that this rule admits at once: the quota, except for a token bucket with another capacity. */
        public readonly int $capacity;

        private function __construct()
        {
        }
    }

    /** One rule of a policy: at most `$limit` per `$periodMs`. */
    final class Rule
    {
        /** The amount per period. */
        public readonly int $limit;

        /** The period in milliseconds. */
        public readonly int $periodMs;

        /** How the rule counts, such as `fixed-window`. */
        public readonly string $algorithm;

        /** The most that may be consumed at once: the limit, unless another capacity was given. */
        public readonly int $capacity;

        /**
         * @param int<1, 4503599627370496> $limit the amount per period; of a `sliding-log` at most 2^39, and of a token
         *     bucket less if it takes decades to fill (1 to 2^52)
         * @param int<1, 3153600000000> $periodMs the period, in whole milliseconds (1 ms to 36,500 days)
         * @param 'fixed-window'|'calendar-window'|'sliding-window'|'token-bucket'|'sliding-log' $algorithm how the rule
         *     counts: `fixed-window`, `calendar-window`, `sliding-window`, `token-bucket` or `sliding-log` (default:
         *     `fixed-window`)
         * @param int<1, 4503599627370496>|null $capacity for a token bucket only: the most that may be consumed at once
         *     (1 to 2^52; default: null, the limit)
         * @throws InvalidArgumentException for an argument that is not a number
         * @throws InvalidPolicyException for a number out of these bounds
         */
        public function __construct(
            int $limit,
            int $periodMs,
            string $algorithm = 'fixed-window',
            ?int $capacity = null
        ) {
        }
    }

    /** For your own tests: set the time of a client, and read or plant raw values under a key. */
    final class Testing
    {
        private function __construct()
        {
        }

        /**
         * Sets the time, in microseconds since the epoch (from 1973 to 2^52), at which every later call of this client
         * is decided, also on a real server; null goes back to the server's clock. Other clients of the same server or
         * memory keep theirs. It holds for all client objects that share these settings: give the client of a test its
         * own prefix.
         *
         * @param int<100000000000000, 4503599627370496>|null $micros
         */
        public static function setTime(Client $client, ?int $micros = null): void
        {
        }

        /**
         * Moves the client's time on, in milliseconds as every duration. The first call stops the clock; between calls
         * it stands still.
         *
         * @param non-negative-int $byMs
         */
        public static function advance(Client $client, int $byMs): void
        {
        }

        /**
         * Replaces the value at a raw Redis key: `string` puts the value without a TTL, `list` a list of another
         * program, `persist` removes the TTL of what is there.
         *
         * @param 'string'|'list'|'persist' $kind
         */
        public static function put(Client $client, string $redisKey, string $kind, string $value): bool
        {
        }

        /**
         * Reads the value at a raw Redis key, and the milliseconds until it expires (null: no TTL); null without a key.
         *
         * @return array{value: string, ttlMs: int|null}|null
         */
        public static function get(Client $client, string $redisKey): ?array
        {
        }
    }

    /**
     * Charges a key, and returns whether it was admitted. It is the one-line form of a limiter, with a client by the
     * ini settings and the environment.
     *
     * @param non-empty-string $name part of its Redis keys: all of one kind, name and prefix share their state
     * @param Rule|non-empty-list<Rule>|non-empty-string $policy the rules that it decides by, such as
     *     `10/minute;100/hour`
     * @param int<0, 4503599627370496> $cost
     * @throws QuotalockException whatever the error is
     */
    function limit(string $name, \Stringable|string|int $key, Rule|array|string $policy, int $cost = 1): bool
    {
    }

    /**
     * Makes a handle for a mutex over several independent servers: held if most of them granted it within its ttl, so
     * it survives the loss of the others. Does not ask Redis. The handle works for as long as all the clients are open.
     *
     * Each server has a twentieth of the `$ttlMs` to answer. Waiters ask again every 10 to 50 ms. A server that was
     * started less than a ttl ago and keeps no append-only file has no vote.
     *
     * The other options are those of Client::lock().
     *
     * @param non-empty-list<Client> $clients 3 to 15, better an odd number, each with its own server
     * @param non-empty-string $name 1 to 1,024 bytes of anything
     * @param int<10, 604800000> $ttlMs
     * @param int<0, 3153600000000> $waitMs
     * @param int<0, 4503599627370496> $tokenAbove
     * @throws InvalidArgumentException as Client::lock(), for too few or too many clients, and for one that is given
     *     twice
     */
    function quorum_lock(
        array $clients,
        string $name,
        int $ttlMs = 30000,
        int $waitMs = 0,
        int $tokenAbove = 0,
        string $label = ''
    ): Lock {
    }

    /**
     * The address of the client that sent a request, as a text to be used as a key.
     *
     * The header counts only if the peer is trusted. It is read from its right end, and the first address that is not
     * trusted is the client's: entries further left were written by that client. An entry that is not an address ends
     * the reading; then the address is that of the proxy which sent it. An IPv6 address stands for its network, such as
     * `2001:db8:1:2::/64`.
     *
     * @param string|null $peer the address of the socket; null or an empty text is a Unix socket. On the web it is
     *     `$_SERVER['REMOTE_ADDR']`
     * @param list<string>|string|null $forwarded the value of `X-Forwarded-For` or `Forwarded` (RFC 7239), or one for
     *     each line of it
     * @param list<string> $trusted the proxies: addresses, networks (`10.0.0.0/8`), and the words `loopback`, `private`
     *     and `unix`
     * @param int<32, 128> $ipv6Prefix how many leading bits of an IPv6 address stand for a client; 128: the address
     *     itself (32 to 128; default: 64)
     * @throws InvalidArgumentException for an invalid address or network, for one that contains all addresses, and if
     *     there is no address at all: a Unix socket, and nothing in the header
     */
    function client_address(?string $peer, array|string|null $forwarded, array $trusted, int $ipv6Prefix = 64): string
    {
    }

    /**
     * The counters until now, of this process and those that count with it; empty where `QUOTALOCK_METRICS=off`.
     *
     * Each metric has its `name` as Prometheus calls it, a `help` in one sentence, its `kind` (`counter`, `gauge` or
     * `histogram`), and `samples`, each with `labels` and a `value`; of a histogram instead of that `buckets` (pairs of
     * a bound in seconds and how many took no longer; the last bound is infinite), `sum` in seconds and `count`.
     * Metrics that were never counted are left out. No key shows: labels are the names of limiters, stocks, caches and
     * servers. The workers of php-fpm count together, and all processes that name the same `ratelimit.metrics_file`.
     *
     * @return list<array{name: string, help: string, kind: 'counter'|'gauge'|'histogram', samples: list<array{
     *     labels: array<string, string>, value?: int, buckets?: list<array{float, int}>, sum?: float, count?: int}>}>
     */
    function metrics(): array
    {
    }

    /** The same as text that Prometheus reads: serve it as `text/plain; version=0.0.4; charset=utf-8`. */
    function prometheus(): string
    {
    }
}

namespace Quotalock\Exception {
    use Quotalock\Decision;

    /** The interface of all that this extension throws, except for the TypeErrors of PHP. */
    interface QuotalockException extends \Throwable
    {
        /** The stable code, the same in every language: `invalid_argument`, `unavailable`, ... */
        public function getErrorCode(): string;
    }

    /** A value that is never valid: an empty key, a negative cost, an invalid URL. */
    final class InvalidArgumentException extends \InvalidArgumentException implements QuotalockException
    {
        public function getErrorCode(): string
        {
        }
    }

    /** A policy that does not parse or has an impossible amount, period or unit. */
    final class InvalidPolicyException extends \InvalidArgumentException implements QuotalockException
    {
        public function getErrorCode(): string
        {
        }
    }

    /** Redis could not be reached, closed the connection, or refused to work for now. */
    final class UnavailableException extends \RuntimeException implements QuotalockException
    {
        public function getErrorCode(): string
        {
        }
    }

    /** No answer came in time. */
    final class TimeoutException extends \RuntimeException implements QuotalockException
    {
        public function getErrorCode(): string
        {
        }
    }

    /** The key in Redis holds another Redis type. */
    final class WrongTypeException extends \RuntimeException implements QuotalockException
    {
        public function getErrorCode(): string
        {
        }
    }

    /** A newer version of Quotalock wrote the value of the key. */
    final class NewerVersionException extends \RuntimeException implements QuotalockException
    {
        public function getErrorCode(): string
        {
        }
    }

    /** The keys of one call are in different slots of a cluster. */
    final class CrossSlotException extends \RuntimeException implements QuotalockException
    {
        public function getErrorCode(): string
        {
        }
    }

    /** Redis refused the password, the user or a command. */
    final class NotPermittedException extends \RuntimeException implements QuotalockException
    {
        public function getErrorCode(): string
        {
        }
    }

    /** Limiter::require() was denied. */
    final class RateLimitedException extends \RuntimeException implements QuotalockException
    {
        private readonly Decision $decision;

        public function getErrorCode(): string
        {
        }

        /** The decision that denied. */
        public function getDecision(): Decision
        {
        }
    }

    /** A lock was not acquired in time. The message names the holder. */
    final class NotAcquiredException extends \RuntimeException implements QuotalockException
    {
        public function getErrorCode(): string
        {
        }
    }

    /** A lock was lost, or is not held. */
    final class LostException extends \RuntimeException implements QuotalockException
    {
        public function getErrorCode(): string
        {
        }
    }

    /** A loader of a cache, or the function of Once::run(), failed a short time ago. */
    final class LoadFailedException extends \RuntimeException implements QuotalockException
    {
        public function getErrorCode(): string
        {
        }
    }

    /** The client was closed. */
    final class ClosedException extends \RuntimeException implements QuotalockException
    {
        public function getErrorCode(): string
        {
        }
    }

    /** A fault of Quotalock's own. */
    final class InternalException extends \RuntimeException implements QuotalockException
    {
        public function getErrorCode(): string
        {
        }
    }
}
