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

        /** The answer of Limiter::reserve(); null if Limiter::reservation() made this handle. */
        public readonly ?Decision $decision;

        private function __construct()
        {
        }

        /**
         * Replaces the estimate by the `$actual` amount. If the estimate was too high, the difference is given back to
         * the rules that still count it. If it was too low, the difference is charged, even above the limit. Returns
         * false and changes nothing if the reservation had ended, or was settled with another amount.
         *
         * After an error you can repeat the call with the same amount: if the first call took effect, the second one
         * returns true and changes nothing. This is remembered for ten seconds, but not after the end of the
         * reservation's `$ttlMs`.
         *
         * @param int<0, 4503599627370496> $actual the actual cost (0 to 2^52)
         * @throws UnavailableException if Redis cannot answer, whatever `$onError` is
         */
        public function settle(int $actual): bool
        {
        }

        /**
         * Gives back the whole estimate, like settle() with 0.
         *
         * @throws UnavailableException if Redis cannot answer, whatever `$onError` is
         */
        public function cancel(): bool
        {
        }
    }

    /**
     * A limiter, which decides for each key by one policy. Client::limiter() makes it.
     *
     * A key is 1 to 1,024 bytes; text is encoded as UTF-8. All calls can fail with UnavailableException,
     * TimeoutException, NotPermittedException, WrongTypeException, NewerVersionException and ClosedException, and with
     * InvalidArgumentException before anything is sent. UnavailableException and TimeoutException occur only if the
     * client's `$onError` is `raise`, unless the method states otherwise.
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
         * The largest number of permits that the limiter takes from Redis at once; null if each call asks Redis.
         *
         * @var positive-int|null
         */
        public readonly ?int $prefetch;

        private function __construct()
        {
        }

        /**
         * Charges `$cost` to every rule if all rules allow it, otherwise to none. A call with the cost 0 only reads the
         * state. A cost above a limit is always denied.
         *
         * @param int<0, 4503599627370496> $cost the cost of the call (0 to 2^52; default: 1). A call with the cost 0
         *     only reads the state
         * @param \Stringable|string|int|null $requestId an id that makes the call safe to repeat: 1 to 256 bytes, such
         *     as a UUID. While the id is remembered, a call with the same id and key returns the first answer and is
         *     not charged again. A denial is not remembered: the next call with its id is decided again
         */
        public function consume(
            \Stringable|string|int $key,
            int $cost = 1,
            \Stringable|string|int|null $requestId = null
        ): Decision {
        }

        /**
         * Charges as much as the rules allow now, up to `$most`. Decision::$cost is the amount that was charged. If the
         * rules allow nothing, the call is denied, with the decision that consume() would return for a cost of 1.
         *
         * @param int<1, 4503599627370496> $most the largest amount to charge (1 to 2^52)
         */
        public function consumeUpTo(\Stringable|string|int $key, int $most): Decision
        {
        }

        /**
         * Charges `$estimate` in the same way as consume(), and holds it until Reservation::settle() replaces it by the
         * actual amount, or until `$ttlMs` ends. If the call is denied, nothing is held; Reservation::$decision has the
         * answer. If the reply is lost, the estimate may stay held until `$ttlMs` ends.
         *
         * @param int<1, 4503599627370496> $estimate the estimated cost (1 to 2^52)
         * @param int<1, 3153600000000> $ttlMs the longest time for which the estimate is held (1 ms to 36,500 days)
         * @param 'spent'|'returned' $unsettled the treatment of an estimate that is not settled within `$ttlMs`: it
         *     stays charged (`spent`), or it is given back (`returned`) (default: `spent`)
         */
        public function reserve(
            \Stringable|string|int $key,
            int $estimate,
            int $ttlMs,
            string $unsettled = 'spent'
        ): Reservation {
        }

        /**
         * Returns a handle for the reservation with this id, which reserve() made in this process or another one. This
         * call does not ask Redis whether the reservation exists.
         *
         * @param non-empty-string $id
         * @throws InvalidArgumentException for an invalid key, or an id that is not 32 hexadecimal digits
         */
        public function reservation(\Stringable|string|int $key, string $id): Reservation
        {
        }

        /**
         * Decides like consume(), but charges and writes nothing. Decision::$remaining is the amount that could be
         * consumed now.
         *
         * @param int<0, 4503599627370496> $cost
         */
        public function peek(\Stringable|string|int $key, int $cost = 1): Decision
        {
        }

        /**
         * Works like consume(), but throws an error if the call is denied.
         *
         * @param int<0, 4503599627370496> $cost
         * @throws RateLimitedException if the call is denied; the error has the decision
         */
        public function require(\Stringable|string|int $key, int $cost = 1): Decision
        {
        }

        /**
         * Works like consume(), but after a denial it sleeps for Decision::$retryAfterMs and tries again. If the call
         * cannot be allowed within `$timeoutMs`, it returns the denial at once. Signal handlers of
         * pcntl_async_signals() run during the wait.
         *
         * @param int<0, 3153600000000> $timeoutMs the longest time to wait (0 ms to 36,500 days)
         * @param int<0, 4503599627370496> $cost
         */
        public function wait(\Stringable|string|int $key, int $timeoutMs, int $cost = 1): Decision
        {
        }

        /**
         * Gives back `$amount` of the consumed cost; the count of a rule does not fall below zero. Returns the new
         * state of the key, as a peek() does.
         *
         * @param int<1, 4503599627370496> $amount the amount to give back (1 to 2^52)
         * @param \Stringable|string|int|null $requestId an id that makes the call safe to repeat: 1 to 256 bytes. While
         *     the id is remembered, a second call with the same id and key gives nothing back
         */
        public function refund(
            \Stringable|string|int $key,
            int $amount,
            \Stringable|string|int|null $requestId = null
        ): Decision {
        }

        /**
         * Denies all calls of `$key` for `$durationMs`, and replaces an earlier block. Returns the new state of the
         * key, as a peek() does. If Redis cannot store the block, the call fails, whatever `$onError` is.
         *
         * @param int<1, 3153600000000> $durationMs how long calls are denied, from now (1 ms to 36,500 days)
         * @throws UnavailableException if Redis cannot store it
         */
        public function block(\Stringable|string|int $key, int $durationMs): Decision
        {
        }

        /**
         * Removes all state of `$key`: counts, a block and reservations. Returns true if anything was stored. If Redis
         * cannot answer, the call fails, whatever `$onError` is.
         */
        public function reset(\Stringable|string|int $key): bool
        {
        }

        /**
         * Returns the Redis key that holds the state of `$key`: `<prefix>:limit:<name>:{<key>}`, or with a scope
         * `<prefix>:limit:<name>:{<scope>}:{<key>}`.
         */
        public function redisKey(\Stringable|string|int $key): string
        {
        }
    }

    /**
     * A handle for a lock. Client::lock() and similar methods make it. Only one caller at a time can use a handle, and
     * it can be acquired again after its release. A handle is not re-entrant.
     *
     * A lock is a lease: it ends by itself if it is not extended. `$state`, `$held` and `$remainingMs` are computed
     * with the clock of the process: the deadline is `ttl` after the request was sent, less 1 % and 2 ms. After the
     * deadline the lock is lost, even if Redis still has it. To be safe from a holder that continues after a pause, let
     * the resource refuse every fencing `$token` smaller than the largest that it has seen. A forked child does not
     * hold the locks of its parent.
     *
     * Calls that ask Redis can fail with UnavailableException, TimeoutException, NotPermittedException,
     * WrongTypeException, NewerVersionException and ClosedException, whatever `$onError` is.
     *
     * The lock is released by release(), at the end of run(), when this object is freed or its client is closed, and at
     * the end of the request, even after a fatal error. If the process is killed, the lock ends with its ttl. If Redis
     * is down, the releases at the end of a request take at most 100 ms in total. `$token`, `$state`, `$held` and
     * `$remainingMs` are computed each time they are read, without asking Redis.
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
         * The Redis keys, one for each name: `<prefix>:lock:{<name>}`, for a semaphore `<prefix>:sem:{<name>}`, for a
         * read-write lock `<prefix>:rw:{<name>}`.
         *
         * @var non-empty-list<non-empty-string>
         */
        public readonly array $redisKeys;

        /** How long a grant lasts if it is not extended, in milliseconds. */
        public readonly int $ttlMs;

        /**
         * The fencing token of the grant, larger than the token of every earlier grant of the name. null if the lock
         * was never acquired, or is released. The token stays readable after a loss.
         */
        public readonly ?int $token;

        /**
         * The state as the handle knows it, without asking Redis: `released` (or never acquired), `held`, `uncertain`
         * (held, but the last renewal failed) or `lost`.
         *
         * @var 'released'|'held'|'uncertain'|'lost'
         */
        public readonly string $state;

        /** Whether the lock is certainly held now. */
        public readonly bool $held;

        /**
         * The number of milliseconds for which the lock is certainly held, if it is not extended. 0 if the lock is not
         * held.
         */
        public readonly int $remainingMs;

        private function __construct()
        {
        }

        /**
         * Acquires the lock. Returns true if the lock is held now, and false if it was not granted within `$waitMs`.
         * Except for quorum locks, a waiting caller does not poll Redis. If the wait ends without a grant, the caller
         * holds nothing and leaves the queue. Signal handlers of pcntl_async_signals() run during the wait. An
         * exception from a handler ends the wait, and so does the time limit of the request.
         *
         * @param int<0, 3153600000000>|null $waitMs the longest time to wait (0 ms to 36,500 days; default: null, the
         *     `$waitMs` of the handle). With 0, the call asks Redis once and does not wait
         * @throws InvalidArgumentException if this handle already holds the lock, or another call is acquiring it
         * @throws CrossSlotException for names in several slots of a cluster
         */
        public function acquire(?int $waitMs = null): bool
        {
        }

        /**
         * Releases the lock. Returns true if the lock was held until now, and false if it was lost or is not held. If
         * the release fails, the lock ends with its ttl at the latest.
         *
         * @throws UnavailableException if Redis cannot answer
         */
        public function release(): bool
        {
        }

        /**
         * Extends the lease to at least `$ttlMs` from now, and never shortens it. Returns false if the lock was lost.
         *
         * @param int<10, 604800000>|null $ttlMs how long the lease lasts, from now (10 ms to 7 days; default: null, the
         *     ttl of the lock)
         * @throws UnavailableException if Redis cannot answer
         */
        public function extend(?int $ttlMs = null): bool
        {
        }

        /**
         * Returns a short text with which another process can take over the lock (Client::adopt()). This handle then
         * counts as released: the lock is no longer extended, and release() returns false. This call does not ask
         * Redis.
         *
         * The lease is not extended until the lock is adopted, so the lock must be adopted within the time that
         * `$remainingMs` returned before this call. Anyone who has the text can take over the lock, so treat the text
         * as a secret. It contains no password.
         *
         * @return non-empty-string
         * @throws LostException if it is not certain that the lock is held
         * @throws InvalidArgumentException for a quorum lock
         */
        public function handover(): string
        {
        }

        /**
         * Fails unless the lock is certainly held now. This call does not ask Redis.
         *
         * @throws LostException if it is not certain that the lock is held
         */
        public function assertHeld(): void
        {
        }

        /**
         * Makes every later fencing token of this handle larger than `$floor`. Use it if the resource has seen a larger
         * token than the lock returned. This call does not ask Redis.
         *
         * @param int<0, 4503599627370496> $floor the largest token that the resource has seen (0 to 2^52)
         * @throws InvalidArgumentException for a `$floor` outside its bounds
         */
        public function raiseFloor(int $floor): void
        {
        }

        /**
         * Returns the holders of the lock, and how many processes wait for it. With several names or servers, the
         * answer is about the first one.
         */
        public function inspect(): Inspection
        {
        }

        /**
         * Takes the lock away from all holders, and returns how many holders there were. This is for operators: a
         * holder notices the loss when it next renews, extends or releases.
         */
        public function forceRelease(): int
        {
        }

        /**
         * Acquires the lock, calls `$function` with this handle, and returns its result. The lock is released even if
         * `$function` fails. The lock is released after a return, an exception, an exit, a fatal error, and at the time
         * limit.
         *
         * @param callable(Lock): mixed $function
         * @param int<0, 3153600000000>|null $waitMs
         * @throws NotAcquiredException if the lock is not granted in time; `$function` is then not called
         * @throws LostException if `$function` did not fail, but the lock was lost in the meantime
         * @throws UnavailableException if Redis cannot answer
         */
        public function run(callable $function, ?int $waitMs = null): mixed
        {
        }
    }

    /**
     * A handle for the units of a sale. Client::stock() makes it. The sale does not oversell as long as Redis loses no
     * data.
     *
     * Units that are not confirmed before their hold ends return to the stock at the next call that writes. At any
     * time, `available + held + sold` is the number of all units. If a reply is lost, the client repeats the call
     * within its timeout, and nothing is taken, sold or added twice. All calls can fail with UnavailableException,
     * TimeoutException, NotPermittedException, WrongTypeException, NewerVersionException and ClosedException, whatever
     * `$onError` is.
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
         * The three Redis keys of the sale: `<prefix>:stock:{<name>}` (with a scope
         * `<prefix>:stock:{<scope>}:{<name>}`), and the same key with `:holds` and with `:ledger` at its end.
         *
         * @var non-empty-list<non-empty-string>
         */
        public readonly array $redisKeys;

        private function __construct()
        {
        }

        /**
         * Opens the sale. Returns true if this call opened the sale. If the sale is already open with the same numbers
         * and prizes, returns false and changes nothing.
         *
         * @param int<1, 4503599627370496> $quantity the number of units (1 to 2^52)
         * @param int<1, 4503599627370496>|null $perBuyer the largest number of units for one buyer, held and bought
         *     units together (1 to 2^52; default: null, no limit)
         * @param int<1, 3153600000000>|null $endsMs the end of the sale, in milliseconds since the epoch by the
         *     server's clock (default: null, never). After it, nothing can be taken, but holds can still be confirmed
         * @param list<\Stringable|string|int>|null $prizes a prize for each unit, such as a coupon code or a seat: 1 to
         *     1,024 bytes each, at most 10,000 in one call. Stock::restock() adds more. Reservations get the prizes in
         *     this order
         * @throws InvalidArgumentException if the sale is open with other numbers or prizes; the message names them
         */
        public function open(int $quantity, ?int $perBuyer = null, ?int $endsMs = null, ?array $prizes = null): bool
        {
        }

        /**
         * Ends the sale now and for good. Returns true if this call ended the sale, and false if it had ended before.
         * Later takes are refused with the outcome `ended`. Units that are held can still be confirmed, cancelled and
         * extended. The sale is kept for its `$retentionMs`, which begins when its last hold ends, or now if there are
         * no holds. As long as it is kept, its name cannot be used again.
         *
         * @throws InvalidArgumentException if the sale was never opened
         */
        public function close(): bool
        {
        }

        /**
         * Adds units to a sale, even after its end, and returns the number of all units, including sold ones. A sale
         * with prizes needs a prize for each new unit.
         *
         * @param int<1, 4503599627370496> $quantity the number of units (1 to 2^52)
         * @param list<\Stringable|string|int>|null $prizes a prize for each new unit, if the sale has prizes
         * @param \Stringable|string|int|null $requestId an id that makes the call safe to repeat: 1 to 256 bytes. The
         *     id is remembered for at least a day. In this time, a second call with the same id adds nothing and
         *     returns the first answer
         * @throws InvalidArgumentException if the sale was never opened, or for a wrong number of prizes
         */
        public function restock(
            int $quantity,
            ?array $prizes = null,
            \Stringable|string|int|null $requestId = null
        ): int {
        }

        /**
         * Holds units for a buyer. If the take is refused, nothing is held, and Taken::$outcome is the reason. Units
         * that are not confirmed in time return to the stock.
         *
         * A call with the same request id and buyer returns the first reservation again, even if that reservation has
         * ended. The id is remembered as long as the hold, or for the client's `$requestMemoryMs` if that is longer. A
         * refusal is not remembered: the next call with its id is decided again.
         *
         * @param \Stringable|string|int $buyer the buyer: 1 to 1,024 bytes
         * @param int<1, 4503599627370496> $quantity how many units to take, all or none (1 to 2^52; default: 1). A call
         *     takes at most 1,000 units with prizes
         * @param int<1, 2592000000> $holdMs how long the units are held (1 ms to 30 days; default: 600,000 ms, 10
         *     minutes)
         * @param \Stringable|string|int|null $requestId an id that makes the call safe to repeat: 1 to 256 bytes. It
         *     belongs to the buyer and the stock. With Client::takeAll(), use a new id for each basket
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
         * Sells the units of a reservation. Returns true if the units are sold, even if an earlier call confirmed the
         * reservation (this is remembered for at least a day). If the hold had ended or was cancelled, returns false
         * and sells nothing. A hold can be confirmed even after the end of the sale.
         *
         * @param non-empty-string $id
         * @throws InvalidArgumentException for an id of another stock
         */
        public function confirm(string $id): bool
        {
        }

        /**
         * Returns the units of a reservation to the stock. The result is true, even if an earlier call cancelled the
         * reservation, as long as that is remembered. The result is false if the hold had ended or was confirmed.
         *
         * @param non-empty-string $id
         * @throws InvalidArgumentException for an id of another stock
         */
        public function cancel(string $id): bool
        {
        }

        /**
         * Extends a hold to at least `$holdMs` from now, and never shortens it. Returns false if the hold had ended, or
         * was confirmed or cancelled.
         *
         * @param non-empty-string $id
         * @param int<1, 2592000000> $holdMs how long the units are held, from now (1 ms to 30 days; default:
         *     600,000 ms, 10 minutes)
         * @throws InvalidArgumentException for an id of another stock
         */
        public function extend(string $id, int $holdMs = 600000): bool
        {
        }

        /**
         * Returns the numbers of the sale. The call also writes: it first puts the units of up to 256 expired holds
         * back into the stock.
         */
        public function status(): StockStatus
        {
        }

        /**
         * Lists open holds in the order in which they end. No open hold is left out, but a hold that is extended in the
         * meantime may appear twice.
         *
         * @param string|null $cursor the StockPage::$next of the previous page (default: null, the first page)
         * @param int<1, 1000> $count the largest number of reservations to return (1 to 1,000; default: 100)
         * @throws InvalidArgumentException for an invalid cursor or count
         */
        public function reservations(?string $cursor = null, int $count = 100): StockPage
        {
        }

        /**
         * Returns entries of the ledger, in order. To miss no entry, store the id of the last entry that you read in
         * the same transaction as your own changes, and read the entries before the ledger removes them.
         *
         * @param string|null $after the LedgerEntry::$id of the last entry that you have read (default: null, the call
         *     begins with the oldest entry that is kept). The call returns the entries after it
         * @param int<1, 1000> $count the largest number of entries to return (1 to 1,000; default: 100)
         * @return list<LedgerEntry>
         * @throws InvalidArgumentException for an invalid id or count
         */
        public function ledger(?string $after = null, int $count = 100): array
        {
        }
    }

    /**
     * A handle for work that is done once for each id. Client::once() makes it. An id is 1 to 1,024 bytes.
     *
     * All calls can fail with UnavailableException, TimeoutException, NotPermittedException, WrongTypeException,
     * NewerVersionException and ClosedException, whatever `$onError` is, because the work might otherwise be done
     * twice.
     */
    final class Once implements OnceInterface
    {
        /** The name given. */
        public readonly string $name;

        private function __construct()
        {
        }

        /**
         * Claims an id. Claimed::$first shows whether this caller is the first, and Claimed::$value is the value of the
         * first caller. If the reply is lost, the client asks again, and the claim stays with this caller. While a
         * run() of the id is in progress, Claimed::$first is false for every caller.
         *
         * @param \Stringable|string|int $id the id of the work: 1 to 1,024 bytes
         * @param string|null $value the value that later callers get: any bytes, at most 64 MiB
         * @throws InvalidArgumentException for an invalid id or value
         */
        public function claim(\Stringable|string|int $id, ?string $value = null): Claimed
        {
        }

        /**
         * Removes an id, even if another caller claimed it. The next caller is then the first. Returns true if the id
         * was stored. A function that runs for the id continues, but its result is not stored.
         *
         * @param \Stringable|string|int $id the id of the work: 1 to 1,024 bytes
         */
        public function release(\Stringable|string|int $id): bool
        {
        }

        /**
         * Returns the result of the first run for this id. If there is no result and no run in progress, this call runs
         * `$function`, and the other callers wait for the result.
         *
         * If the function fails, the caller that ran it gets the error. The next caller runs the function again, unless
         * the error is still remembered (`$errorTtlMs`). If the process that runs the function dies, the next caller
         * runs it when the lease has ended, so the function must be safe to run twice. After an exit or a fatal error,
         * the next caller runs the function at once.
         *
         * @param \Stringable|string|int $id the id of the work: 1 to 1,024 bytes
         * @param callable(): ?string $function a function that returns the result: up to 64 MiB of bytes, text (stored
         *     as UTF-8), or null
         * @param int<0, 3153600000000>|null $waitMs the longest time to wait for another caller's result (0 ms to
         *     36,500 days; default: null, the lease plus 5,000 ms, so that callers wait longer than the lease of a
         *     caller that died). After it, the call fails with TimeoutException
         * @throws TimeoutException if the result did not come in time
         * @throws LoadFailedException if the function failed a moment ago and the error is remembered
         */
        public function run(\Stringable|string|int $id, callable $function, ?int $waitMs = null): ?string
        {
        }

        /**
         * Returns the Redis key of an id: `<prefix>:once:<name>:{<id>}`.
         *
         * @param \Stringable|string|int $id the id of the work: 1 to 1,024 bytes
         */
        public function redisKey(\Stringable|string|int $id): string
        {
        }
    }

    /**
     * A cache without stampedes (many callers that load the same value at once). Client::cache() makes it. On a miss,
     * only one caller across all processes loads the value. When a value is stale, and sometimes a little earlier, one
     * caller loads a new value, and the others get the old one.
     *
     * A key is 1 to 1,024 bytes. A value is up to 64 MiB, or null, which means that there is no value. All calls can
     * fail with UnavailableException, TimeoutException, NotPermittedException, WrongTypeException,
     * NewerVersionException and ClosedException, whatever `$onError` is. With `whenAway: 'load'`, a get() runs its
     * loader while Redis is down, instead of failing.
     */
    final class Cache implements CacheInterface
    {
        /** The name given. */
        public readonly string $name;

        private function __construct()
        {
        }

        /**
         * Returns the value of `$key`, fresh or stale. If it is this caller's turn to load, the call runs `$load`,
         * stores the value and returns it. On a miss while another caller loads, the call waits for that value. If
         * `$load` fails, the caller that ran it gets the error, and for `$errorTtlMs` the other callers get the stale
         * value or LoadFailedException. `$load` must not get the same key from the cache, because it would wait for
         * itself. After an exit or a fatal error in `$load`, another caller loads at once. If this process is killed,
         * another caller loads when the lease has ended.
         *
         * @param \Stringable|string|int $key the key: 1 to 1,024 bytes
         * @param callable(): ?string $load
         * @param int<0, 3153600000000>|null $waitMs the longest time to wait for another caller's result (0 ms to
         *     36,500 days; default: null, the lease plus 5,000 ms, so that callers wait longer than the lease of a
         *     caller that died). After it, the call fails with TimeoutException
         * @throws TimeoutException if the value did not come in time
         * @throws LoadFailedException if a loader failed a short time ago
         */
        public function get(\Stringable|string|int $key, callable $load, ?int $waitMs = null): ?string
        {
        }

        /**
         * Returns the values of several keys, in their order, with one call to Redis for up to 250 keys and 1 MiB.
         * `$load` gets the missing keys that no other caller loads. A key that `$load` leaves out has no value; a key
         * that it adds is ignored. Then the call waits for the keys that other callers load, and if such a load fails,
         * it loads those keys one by one. In a cluster, the keys may be in any slots, and each slot takes a round trip.
         *
         * @param non-empty-list<\Stringable|string|int> $keys at most 1,000 keys, without duplicates
         * @param callable(non-empty-list<string>): array<string|int, ?string> $load
         * @param int<0, 3153600000000>|null $waitMs the longest time to wait for another caller's result (0 ms to
         *     36,500 days; default: null, the lease plus 5,000 ms, so that callers wait longer than the lease of a
         *     caller that died). After it, the call fails with TimeoutException
         * @return array<string|int, ?string>
         * @throws TimeoutException if a value did not come in time
         * @throws LoadFailedException if the last load of a key failed a short time ago; the values that this call has
         *     loaded are stored nevertheless
         */
        public function getMany(array $keys, callable $load, ?int $waitMs = null): array
        {
        }

        /**
         * Works like get(), with a value that is stored as JSON. Every caller, including the one that loads, gets the
         * decoded JSON. null means that there is no value. The value is decoded by json_decode(), with objects as
         * arrays.
         *
         * @param callable(): mixed $load
         * @param int<0, 3153600000000>|null $waitMs the longest time to wait for another caller's result (0 ms to
         *     36,500 days; default: null, the lease plus 5,000 ms, so that callers wait longer than the lease of a
         *     caller that died). After it, the call fails with TimeoutException
         * @throws \JsonException for a value that json_encode() or json_decode() refuses
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
         * Stores a value that you already have. It counts as newer than the value of any load that is running.
         *
         * @param string|null $value the value, up to 64 MiB. null means that there is no value; if `$negativeMs` is 0,
         *     this is not stored, and the call only removes the old value
         * @throws InvalidArgumentException for an invalid value
         */
        public function put(\Stringable|string|int $key, ?string $value): bool
        {
        }

        /**
         * Removes the value of a key. A value that is being loaded now is not stored. Returns true if there was a
         * value.
         */
        public function invalidate(\Stringable|string|int $key): bool
        {
        }

        /** Returns the Redis key of `$key`: `<prefix>:cache:<name>:{<key>}`. */
        public function redisKey(\Stringable|string|int $key): string
        {
        }
    }

    /**
     * A client of one Redis, or of a store in the memory of this process (`memory://`). Creating a client does no I/O:
     * the client connects at its first call, and again in each forked process.
     *
     * Objects with the same settings share one client and its connections, even in later requests of the same process.
     * So you can create an object in each request at almost no cost.
     *
     * If a parameter is null, its value comes from the ini setting of the same name (`ratelimit.url`,
     * `ratelimit.prefix`, `ratelimit.timeout_ms`, `ratelimit.on_error`, `ratelimit.deny_cache_max_ms`,
     * `ratelimit.report`), then, for the URL, from the environment variable `QUOTALOCK_URL`, then from the default.
     */
    final class Client implements ClientInterface
    {
        /** The host and port, socket path or `memory://` of the server, never with a password. */
        public readonly string $server;

        /** The first part of every Redis key. */
        public readonly string $prefix;

        /**
         * @param string|null $url the URL of the server: `redis://[user:password@]host[:port][/database]`, `rediss://`,
         *     `unix://`, `redis+cluster://`, `redis+sentinel://`, `memory://` or `memory://name` (default: null, the
         *     environment variable `QUOTALOCK_URL`, otherwise `redis://127.0.0.1:6379`). `memory://` is a store in the
         *     memory of this process, which all its clients share. `memory://name` is a separate store, which is
         *     removed when the last of its clients is closed
         * @param non-empty-string|null $prefix the first part of every Redis key, without braces (default: `ql`)
         * @param int<1, 3600000>|null $timeoutMs the longest time that a call may take, including the connection to
         *     Redis (1 ms to 1 hour; default: 500 ms)
         * @param 'raise'|'open'|'closed'|'local'|null $onError the answer of a limiter while Redis cannot answer: an
         *     error (`raise`), an allowed call (`open`), a denied call (`closed`), or the decision of the same policy
         *     in the memory of this process (`local`) (default: `raise`)
         * @param int<1, 86400000> $requestMemoryMs how long a call with a request id is remembered; never shorter than
         *     `$timeoutMs` (1 ms to 1 day; default: 60,000 ms)
         * @param (callable(): string)|null $password a function that returns the password, if the URL has none.
         *     Quotalock calls the function when a connection first logs in, and again when the server refuses the
         *     password. Calls to Redis wait for the function. If the function throws, they fail with its error. Clients
         *     with the same settings share connections, so a client may use a connection that another client logged in
         * @param int<0, 60000>|null $denyCacheMaxMs the longest time for which this process remembers a denial (0 ms to
         *     1 minute; default: 1,000 ms). After Redis has denied a call, the process denies the same call without
         *     asking Redis, until the call could be allowed. With 0, every call asks Redis. The processes of a host
         *     share these denials
         * @param (callable(Decision, \Stringable|string|int): mixed)|null $onDecision a function that is called after
         *     each decision that charges or denies, by any limiter of this client, right before the call ends. It gets
         *     the decision and the key as it was given. It is not called for calls that only read the state, fail or
         *     are aborted. An error in the function does not affect the call. PHP logs the error as a warning
         * @param (callable(Lock): mixed)|null $onLost a function that is called when a lock of this client is found to
         *     be lost, once for each grant. It gets the handle. An error in it is treated like one in `$onDecision`.
         *     The function is called when a method of the handle notices the loss
         * @param bool|null $report whether this process sends a report to Redis once per second, in the background, for
         *     `quotalock top` (default: false). The report has the number of decisions of each limiter, and the keys
         *     that were denied most often. Decisions that do not fit or that are not sent are dropped, and their number
         *     is reported
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
         * @param non-empty-string $name the name, which is a part of the Redis keys. Objects of the same kind with the
         *     same name and prefix share their state
         * @param Rule|non-empty-list<Rule>|non-empty-string $policy the rules of the limiter, such as
         *     `10/minute;100/hour`
         * @param \Stringable|string|int|null $scope the hash tag of all keys of the limiter, 1 to 1,024 bytes (default:
         *     null, each key is its own hash tag). In a cluster, all keys with one scope are in the same slot, so
         *     Client::consumeAll() can charge keys of several limiters with that scope
         * @param bool $enforce whether the policy is enforced (default: true). With false, every call is allowed. A
         *     call that the policy would deny has Decision::$wouldDeny set, and is not charged. Use this to try a
         *     policy on real traffic
         * @param positive-int|null $prefetch the largest number of permits that the limiter takes from Redis at once,
         *     from 2 to the smallest capacity of the policy (default: null, each call asks Redis). Calls of this
         *     process then spend these permits without asking Redis. `sliding-window` and `sliding-log` do not support
         *     this option
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
         * Charges several keys in one atomic call, each with its own limiter and cost. If one limiter denies, no key is
         * charged. A key may occur only once for each limiter. In a cluster, the limiters need a common `$scope`.
         *
         * @param non-empty-list<array{Limiter, \Stringable|string|int, 2?: int<1, 4503599627370496>}> $charges at most
         *     100 charges: for each a limiter of this client, a key, and a cost from 1 to 2^52, which you can omit if
         *     it is 1
         * @param \Stringable|string|int|null $requestId an id that makes the call safe to repeat, as in
         *     Limiter::consume(). It belongs to this set of keys, in any order: use another id for other keys
         * @throws InvalidArgumentException for an invalid charge
         * @throws CrossSlotException for limiters without a common scope in a cluster
         */
        public function consumeAll(array $charges, \Stringable|string|int|null $requestId = null): CombinedDecision
        {
        }

        /**
         * Makes a handle for a mutex, which only one handle holds at a time. A grant is a lease: it ends by itself
         * after its `$ttlMs`, unless it is extended. This call does not ask Redis.
         *
         * @param non-empty-string $name the name: 1 to 1,024 bytes of any value
         * @param int<10, 604800000> $ttlMs how long a grant lasts if it is not extended (10 ms to 7 days; default:
         *     30,000 ms). The lock is not renewed, so make the ttl at least as long as the work
         * @param int<0, 3153600000000> $waitMs how long an acquisition waits by default (0 ms to 36,500 days; default:
         *     0 ms). With 0, it asks Redis once and does not wait
         * @param bool $fair whether waiters are served in order of arrival (default: false)
         * @param int<0, 4503599627370496> $tokenAbove every fencing token is larger than this (0 to 2^52; default: 0)
         * @param string $label a text about the holder that Lock::inspect() shows next to its host and process: up to
         *     128 bytes of UTF-8, without control characters (default: empty)
         * @param int<0, 4294967295> $replicasAck how many replicas must confirm a grant before it counts (0 to 2^32 -
         *     1; default: 0). With 0, no replica is asked. On `memory://`, which has no replicas, only 0 is valid
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
         * Makes a handle for several mutexes. One call acquires all of them or none, so callers cannot deadlock,
         * whatever the order of the names. In a cluster, the names must be in one slot; otherwise the acquisition fails
         * with CrossSlotException.
         *
         * The other options are those of lock().
         *
         * @param non-empty-list<non-empty-string> $names at most 100 names, without duplicates
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
         * Makes a handle for a semaphore that has `$permits` permits. The handle acquires `$weight` of them. At most
         * 1,024 handles hold permits at once. All users of a semaphore must give the same `$permits`.
         *
         * The other options are those of lock().
         *
         * @param non-empty-string $name the name: 1 to 1,024 bytes of any value
         * @param int<1, 2147483647> $permits the number of permits of the semaphore: the same number wherever this
         *     semaphore is used (1 to 2^31 - 1)
         * @param int<1, 2147483647> $weight how many permits to acquire, all or none; at most all permits of the
         *     semaphore (1 to 2^31 - 1; default: 1)
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
         * Makes a handle for reading under a read-write lock. Up to 1,024 readers hold the lock at once. While a writer
         * holds it or waits for it, no new reader gets the lock.
         *
         * The other options are those of lock().
         *
         * @param non-empty-string $name the name: 1 to 1,024 bytes of any value
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
         * Makes a handle for writing under a read-write lock. Only one writer holds the lock at a time, without
         * readers.
         *
         * The other options are those of lock().
         *
         * @param non-empty-string $name the name: 1 to 1,024 bytes of any value
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
         * Takes over a lock from the text that Lock::handover() returned, in any process or language. The new handle
         * has the ttl, the label and the fencing token of the first handle. Only one process can adopt a lock.
         *
         * @param non-empty-string|null $name the name that the lock must have (default: null, any lock). The text of a
         *     lock with another name is refused, and that lock is not changed
         * @param int<10, 604800000>|null $ttlMs a new ttl, which begins at the adoption (10 ms to 7 days; default:
         *     null, the ttl of the first handle). It can make the lease end earlier than the first handle's ttl would
         * @throws LostException if the lease has ended, or the lock was adopted before or is on another server
         * @throws InvalidArgumentException for a text that is damaged or is not from Lock::handover(), and for a text
         *     from a client with another prefix
         */
        public function adopt(string $text, ?string $name = null, ?int $ttlMs = null): Lock
        {
        }

        /**
         * Makes a handle for the units of a sale. This call does not ask Redis; Stock::open() opens the sale.
         *
         * @param non-empty-string $name the name: 1 to 1,024 bytes of any value
         * @param \Stringable|string|int|null $scope the hash tag of all keys of the stock, 1 to 1,024 bytes (default:
         *     null, each stock is its own hash tag). In a cluster, all stocks with one scope are in the same slot, so
         *     one Client::takeAll() can take from several of them. The scope is a part of the keys, so all handles of a
         *     sale must have the same scope
         * @param int<1000, 100000000> $ledgerCap how many entries the ledger keeps, approximately (1,000 to
         *     100,000,000; default: 100,000). The value is fixed when the sale is opened
         * @param int<60000, 3153600000000> $retentionMs about how long the sale and its ledger are kept; they are never
         *     removed before half of this time (1 minute to 36,500 days; default: 2,592,000,000 ms, 30 days). The time
         *     begins at the latest of three moments: the end of the sale, the end of its last hold, and the last call
         *     that wrote. The value is fixed when the sale is opened
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
         * Holds units of several stocks for one buyer in one atomic call: all the units, or none. Each stock has an
         * ordinary reservation, which can also be confirmed or cancelled alone. In a cluster, the stocks need a common
         * `$scope`.
         *
         * @param non-empty-list<array{Stock, int<1, 4503599627370496>}> $takes at most 100 stocks of this client,
         *     without duplicates, each with a quantity
         * @param \Stringable|string|int $buyer the buyer: 1 to 1,024 bytes
         * @param int<1, 2592000000> $holdMs how long the units are held (1 ms to 30 days; default: 600,000 ms, 10
         *     minutes)
         * @param \Stringable|string|int|null $requestId an id that makes the call safe to repeat: 1 to 256 bytes. It
         *     belongs to the buyer and the stock. With Client::takeAll(), use a new id for each basket
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
         * Sells the units of several reservations in one atomic call. If one of the reservations has ended or was
         * cancelled, nothing is sold, and the call returns false. Otherwise it works like Stock::confirm().
         *
         * @param non-empty-list<array{Stock, non-empty-string}> $reservations at most 100 pairs of a stock and a
         *     reservation id, without duplicates
         * @throws InvalidArgumentException for an invalid reservation
         * @throws CrossSlotException for stocks without a common scope in a cluster
         */
        public function confirmAll(array $reservations): bool
        {
        }

        /**
         * Returns the units of several reservations to their stocks in one atomic call, except those that have ended or
         * were confirmed. Returns true if the units of all the reservations were returned.
         *
         * @param non-empty-list<array{Stock, non-empty-string}> $reservations at most 100 pairs of a stock and a
         *     reservation id, without duplicates
         * @throws InvalidArgumentException for an invalid reservation
         * @throws CrossSlotException for stocks without a common scope in a cluster
         */
        public function cancelAll(array $reservations): bool
        {
        }

        /**
         * Extends several holds in one atomic call. If one of the holds has ended, or was confirmed or cancelled, none
         * is extended, and the call returns false. Otherwise it works like Stock::extend().
         *
         * @param non-empty-list<array{Stock, non-empty-string}> $reservations at most 100 pairs of a stock and a
         *     reservation id, without duplicates
         * @param int<1, 2592000000> $holdMs how long the units are held, from now (1 ms to 30 days; default:
         *     600,000 ms, 10 minutes)
         * @throws InvalidArgumentException for an invalid reservation
         * @throws CrossSlotException for stocks without a common scope in a cluster
         */
        public function extendAll(array $reservations, int $holdMs = 600000): bool
        {
        }

        /**
         * Makes a Once handle, for work that is done once for each id, across all processes.
         *
         * @param non-empty-string $name the name, which is a part of the Redis keys. Objects of the same kind with the
         *     same name and prefix share their state
         * @param int<1, 315360000000> $ttlMs how long a claim or a result is remembered (1 ms to 3,650 days; default:
         *     86,400,000 ms, 1 day)
         * @param int<10, 3600000> $leaseMs how long one caller runs the function alone (10 ms to 1 hour; default:
         *     10,000 ms). If this caller dies, the next caller runs the function when the lease ends. The lease is not
         *     renewed, so make it longer than the function takes
         * @param int<0, 3600000> $errorTtlMs how long the error of a run is remembered (0 ms to 1 hour; default: 0 ms).
         *     With 0, the next caller runs the function at once
         * @throws InvalidArgumentException for an empty name, one over 1,024 bytes, or an invalid option
         */
        public function once(string $name, int $ttlMs = 86400000, int $leaseMs = 10000, int $errorTtlMs = 0): Once
        {
        }

        /**
         * Makes a cache. On a miss, only one caller across all processes loads the value.
         *
         * @param non-empty-string $name the name, which is a part of the Redis keys. Objects of the same kind with the
         *     same name and prefix share their state
         * @param int<1, 315360000000> $freshMs how long a value is fresh (1 ms to 3,650 days; default: 60,000 ms)
         * @param int<0, 315360000000> $staleMs how long a stale value is still served after `$freshMs`, while one
         *     caller loads a new value (0 ms to 3,650 days; default: 0 ms)
         * @param int<10, 3600000> $leaseMs how long one caller loads alone (10 ms to 1 hour; default: 10,000 ms). The
         *     lease is not renewed: if a load takes longer, another caller loads too, and the value of the load that
         *     began last is kept
         * @param int<0, 315360000000>|null $negativeMs how long null, the result of a loader that found no value, is
         *     fresh (0 ms to 3,650 days; default: null, the value of `$freshMs`). With 0, null is not stored
         * @param int<0, 3600000> $errorTtlMs how long the error of a loader is remembered (0 ms to 1 hour; default:
         *     1,000 ms). During this time no other caller loads
         * @param float $beta how early a value is refreshed before it is stale, from 0 (never) to 100 (default: 1.0). A
         *     larger number refreshes earlier
         * @param 'raise'|'load' $whenAway the behaviour of a `get` while Redis cannot answer: with `raise` it fails,
         *     with `load` it runs the loader as if there were no cache (default: `raise`). If Redis goes down during a
         *     load, `get` cannot store the loaded value: with `raise` it fails even then, with `load` it returns the
         *     value
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
         * calls fail with ClosedException, and handles that held a lock are `lost`. A second `close` does nothing. The
         * release takes at most 100 ms. The connections stay open while another client object of this process shares
         * them. You do not need to call `close`.
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

        /** Whether the call is allowed. A denied call is not charged. */
        public readonly bool $allowed;

        /**
         * Whether the call is allowed only because of `enforce: false`: the policy would deny it, and it was not
         * charged.
         */
        public readonly bool $wouldDeny;

        /** The limit of the binding rule. */
        public readonly int $limit;

        /** The amount that can be consumed after this call; 0 while the key is blocked. */
        public readonly int $remaining;

        /**
         * The number of milliseconds until the same call would be allowed, if there are no other calls. 0 if the policy
         * allowed the call, null if it can never be allowed.
         */
        public readonly ?int $retryAfterMs;

        /**
         * The number of milliseconds until the binding rule has its whole limit again, and a block has ended. `$rules`
         * has the other rules.
         */
        public readonly int $resetAfterMs;

        /** The cost of the call; with Limiter::consumeUpTo(), the amount that was taken. */
        public readonly int $cost;

        /**
         * The source of the answer: `redis`, `memory`, `lease` (prefetched permits) or `deny-cache` (a recent denial by
         * Redis that this process remembers). While Redis cannot answer: `local`, `open` or `closed`.
         *
         * @var 'redis'|'memory'|'lease'|'local'|'open'|'closed'|'deny-cache'
         */
        public readonly string $source;

        /** Whether the call replaced a value at the key that was damaged, or that another program wrote. */
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
         * Returns the header fields for the response, in their order. If the call was denied, they include
         * `Retry-After`, in whole seconds, rounded up, at least 1. If the cost is above a limit, so that waiting never
         * helps, `Retry-After` is the period of the rule with that limit (the longest, if there are several).
         *
         * @param 'draft-11'|'none' $syntax the format of the quota fields (default: `draft-11`). `draft-11` returns
         *     `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11, with an item for each
         *     rule; `none` leaves them out
         * @param bool $legacy whether `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` (in seconds
         *     from now) of the binding rule are added (default: false)
         * @return array<string, string>
         */
        public function headers(string $syntax = 'draft-11', bool $legacy = false): array
        {
        }

        /**
         * Returns the body of the response to a denied request, in the format of RFC 9457 (`application/problem+json`).
         * Its `status` is 429, or 503 if Redis could not be asked and `onError: 'closed'` denied the call.
         *
         * @return array{type: string, title: string, status: int, detail: string, 'violated-policies': list<string>}
         * @throws InvalidArgumentException if the call was allowed
         */
        public function problem(): array
        {
        }
    }

    /** The answer of Client::consumeAll() about several keys. All keys are charged, or none. */
    final class CombinedDecision
    {
        /** Whether all charges are allowed. If not, no key was charged. */
        public readonly bool $allowed;

        /** Whether a limiter with `enforce: false` would deny. */
        public readonly bool $wouldDeny;

        /**
         * The index in `$decisions` of the binding decision: the denial with the longest `$retryAfterMs`, or if there
         * is no denial, the decision with the least Decision::$remaining.
         */
        public readonly int $binding;

        /**
         * The number of milliseconds until the same call would be allowed, if there are no other calls. 0 if the policy
         * allowed the call, null if it can never be allowed.
         */
        public readonly ?int $retryAfterMs;

        /**
         * The source of the answer: `redis`, `memory`, `lease` (prefetched permits) or `deny-cache` (a recent denial by
         * Redis that this process remembers). While Redis cannot answer: `local`, `open` or `closed`.
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
         * Returns the header fields for the response, in their order. If the call was denied, they include
         * `Retry-After`, in whole seconds, rounded up, at least 1. If the cost is above a limit, so that waiting never
         * helps, `Retry-After` is the period of the rule with that limit (the longest, if there are several).
         *
         * @param 'draft-11'|'none' $syntax the format of the quota fields (default: `draft-11`). `draft-11` returns
         *     `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11, with an item for each
         *     rule; `none` leaves them out
         * @param bool $legacy whether `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` (in seconds
         *     from now) of the binding rule are added (default: false)
         * @return array<string, string>
         */
        public function headers(string $syntax = 'draft-11', bool $legacy = false): array
        {
        }

        /**
         * Returns the body of the response to a denied request, in the format of RFC 9457 (`application/problem+json`).
         * Its `status` is 429, or 503 if Redis could not be asked and `onError: 'closed'` denied the call.
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

        /** How many units are available after the take. */
        public readonly int $available;

        private function __construct()
        {
        }
    }

    /** The answer of Client::takeAll(). Either all the units are held, or none. */
    final class TakenAll
    {
        /**
         * The outcome. If the take was refused, it is the outcome of the first stock that refused.
         *
         * @var 'held'|'sold_out'|'buyer_limit'|'not_open'|'ended'
         */
        public readonly string $outcome;

        /** The index of the first stock that refused, from 0; null if no stock refused. */
        public readonly ?int $refused;

        /**
         * The units that are held of each stock, in the order given; empty unless the outcome is `held`.
         *
         * @var list<StockReservation>
         */
        public readonly array $reservations;

        /**
         * How many units of each stock are available after the take, in the order given.
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
        /**
         * The id, with which any process can confirm, cancel or extend the reservation. The id is printable and cannot
         * be guessed.
         */
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
     * The numbers of a sale: the answer of Stock::status(). `available + held + sold` is `quantity`. All numbers are 0
     * if the phase is `not_open`.
     */
    final class StockStatus
    {
        /**
         * The phase: `not_open`, `open` or `ended`. In the phase `ended`, holds can still be confirmed.
         *
         * @var 'not_open'|'open'|'ended'
         */
        public readonly string $phase;

        /** The number of all units. */
        public readonly int $quantity;

        /** Units that can be taken. */
        public readonly int $available;

        /** Units of reservations that are not confirmed, cancelled or returned. */
        public readonly int $held;

        /** Units of confirmed reservations. */
        public readonly int $sold;

        /** How many buyers hold or have bought units. */
        public readonly int $buyers;

        /** The largest number of units for one buyer; null if there is no limit. */
        public readonly ?int $perBuyer;

        /**
         * The end of the sale, or the time at which it was closed, in milliseconds since the epoch by the server's
         * clock; null if the sale has no end.
         */
        public readonly ?int $endsMs;

        private function __construct()
        {
        }
    }

    /**
     * One change of a sale, with the numbers after the change. A program that replays the ledger can compare its own
     * numbers with them.
     */
    final class LedgerEntry
    {
        /** The id of the entry. Give the last one as `$after` to read the next entries. */
        public readonly string $id;

        /**
         * The number of the entry in the sale, from 1 without a gap. A missing number means that its entry is no longer
         * kept.
         */
        public readonly int $number;

        /**
         * The change: `opened`, `restocked`, `held`, `confirmed`, `cancelled`, `expired`, `extended` or `closed`.
         *
         * @var 'opened'|'restocked'|'held'|'confirmed'|'cancelled'|'expired'|'extended'|'closed'
         */
        public readonly string $kind;

        /**
         * The id of the reservation; null for an opening, a restock and a closing, and for units that came back after
         * another program deleted the Redis key with the holds.
         */
        public readonly ?string $reservation;

        /** The buyer; null without a reservation. */
        public readonly ?string $buyer;

        /** How many units the change is about; 0 for a closing. */
        public readonly int $quantity;

        /** The time of the change, in milliseconds since the epoch by the server's clock. */
        public readonly int $timeMs;

        /** Units available after the change. */
        public readonly int $available;

        /** Units held after the change. */
        public readonly int $held;

        /** Units sold after the change. */
        public readonly int $sold;

        /**
         * The prizes of the units that were held or confirmed; empty if the sale has none.
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

        /** The value of the first caller; null if that caller gave none, or its function has no result yet. */
        public readonly ?string $value;

        /** Whether a function is running for the id, without a result yet. */
        public readonly bool $running;

        /** The number of milliseconds until the claim ends, or until the lease of the running function ends. */
        public readonly int $remainingMs;

        /** How many milliseconds ago the id was claimed. */
        public readonly int $ageMs;

        private function __construct()
        {
        }
    }

    /** A value that Cache::peek() found. */
    final class Seen
    {
        /** The value; null if the cache has stored that there is no value. */
        public readonly ?string $value;

        /** Whether the value is no longer fresh. */
        public readonly bool $stale;

        /** How old the value is, in milliseconds. */
        public readonly int $ageMs;

        private function __construct()
        {
        }
    }

    /** The holders of a lock, and how many processes wait for it: the answer of Lock::inspect(). */
    final class Inspection
    {
        /** The fencing token of the last grant; 0 if none is remembered. */
        public readonly int $token;

        /** How many processes wait. The server counts one waiter for each process. */
        public readonly int $waiters;

        /**
         * The holders, in the order of their grants.
         *
         * @var list<Holder>
         */
        public readonly array $holders;

        /**
         * Whether the key holds a value that is not a lock of Quotalock. Such a value counts as no lock, and the next
         * grant replaces it.
         */
        public readonly bool $healed;

        private function __construct()
        {
        }
    }

    /** A holder of a lock. */
    final class Holder
    {
        /** The host that the holder runs on; empty if it is not known. */
        public readonly string $host;

        /** The process id on that host; 0 if it is not known. */
        public readonly int $pid;

        /** The label that the holder gave. */
        public readonly string $label;

        /** The holder's fencing token. */
        public readonly int $token;

        /** How many permits the holder has. */
        public readonly int $permits;

        /** When the lock was granted, in milliseconds since the epoch by the server's clock. */
        public readonly int $sinceMs;

        /** When the lease ends if it is not renewed, by the same clock. */
        public readonly int $untilMs;

        private function __construct()
        {
        }
    }

    /** The answer of one rule of a policy. */
    final class RuleDecision
    {
        /** Whether this rule alone allows the call. */
        public readonly bool $allowed;

        /** The largest amount that this rule allows at once: its capacity. */
        public readonly int $limit;

        /** The amount that this rule would allow now. */
        public readonly int $remaining;

        /**
         * The number of milliseconds until this rule would allow the same call: 0 if it allows the call now, null if
         * never.
         */
        public readonly ?int $retryAfterMs;

        /** The number of milliseconds until this rule has its whole limit again. */
        public readonly int $resetAfterMs;

        /**
         * How this rule counts.
         *
         * @var 'fixed-window'|'calendar-window'|'sliding-window'|'token-bucket'|'sliding-log'
         */
        public readonly string $algorithm;

        /** How much this rule allows per period. */
        public readonly int $quota;

        /** The period in milliseconds. */
        public readonly int $periodMs;

        /**
         * The largest amount that this rule allows at once: the quota, except for a token bucket with another capacity.
         */
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

        /** The largest amount that may be consumed at once (default: the limit). */
        public readonly int $capacity;

        /**
         * @param int<1, 4503599627370496> $limit the amount per period (1 to 2^52). With `sliding-log`, it is at most
         *     2^39. A token bucket that would take decades to fill is invalid
         * @param int<1, 3153600000000> $periodMs the period, in whole milliseconds (1 ms to 36,500 days)
         * @param 'fixed-window'|'calendar-window'|'sliding-window'|'token-bucket'|'sliding-log' $algorithm how the rule
         *     counts: `fixed-window`, `calendar-window`, `sliding-window`, `token-bucket` or `sliding-log` (default:
         *     `fixed-window`)
         * @param int<1, 4503599627370496>|null $capacity the largest amount that may be consumed at once (1 to 2^52;
         *     default: null, the limit). Only a token bucket has this parameter
         * @throws InvalidArgumentException for an argument that is not a number
         * @throws InvalidPolicyException for a number outside its bounds
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
     * Charges a key, and returns whether the call is allowed. This is the one-line form of a limiter, with a client
     * from the ini settings and the environment.
     *
     * @param non-empty-string $name the name, which is a part of the Redis keys. Objects of the same kind with the same
     *     name and prefix share their state
     * @param Rule|non-empty-list<Rule>|non-empty-string $policy the rules of the limiter, such as `10/minute;100/hour`
     * @param int<0, 4503599627370496> $cost
     * @throws QuotalockException for any error
     */
    function limit(string $name, \Stringable|string|int $key, Rule|array|string $policy, int $cost = 1): bool
    {
    }

    /**
     * Makes a handle for a quorum lock: a mutex over several independent servers. The lock is held if more than half of
     * the servers granted it within its ttl, so it survives the loss of fewer than half of them. This call does not ask
     * Redis. The handle works as long as all its clients are open.
     *
     * Each server has a twentieth of the `$ttlMs` to answer. Callers that wait ask again every 10 to 50 ms. A server
     * that started less than a ttl ago and has no append-only file has no vote.
     *
     * The other options are those of Client::lock().
     *
     * @param non-empty-list<Client> $clients 3 to 15 clients, each with its own server. An odd number is better
     * @param non-empty-string $name the name: 1 to 1,024 bytes of any value
     * @param int<10, 604800000> $ttlMs
     * @param int<0, 3153600000000> $waitMs
     * @param int<0, 4503599627370496> $tokenAbove
     * @throws InvalidArgumentException in the same cases as Client::lock(), for too few or too many clients, and for a
     *     client that is given twice
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
     * Returns the address of the client that sent a request, as a text that can be the key of a limiter.
     *
     * The header is used only if `$peer` is trusted. Its entries are read from right to left, and the first address
     * that is not trusted is the result. The client with that address may have invented the entries further left.
     * Reading stops at an entry that is not an address; the result is then the address of the proxy that sent this
     * entry. For an IPv6 address, the result is its network, such as `2001:db8:1:2::/64`.
     *
     * @param string|null $peer the address of the other end of the connection. null or an empty text means a Unix
     *     socket. In a web request, this is `$_SERVER['REMOTE_ADDR']`
     * @param list<string>|string|null $forwarded the value of the header `X-Forwarded-For` or `Forwarded` (RFC 7239).
     *     If the request has the header several times, a list of all values
     * @param list<string> $trusted the proxies to trust: addresses, networks (`10.0.0.0/8`), and the words `loopback`,
     *     `private` and `unix`
     * @param int<32, 128> $ipv6Prefix how many leading bits of an IPv6 address identify a client (32 to 128; default:
     *     64). With 128, the result is the whole address
     * @throws InvalidArgumentException for an invalid address or network, for a network that contains all addresses,
     *     and if there is no address: `$peer` is a Unix socket, and the header has none
     */
    function client_address(?string $peer, array|string|null $forwarded, array $trusted, int $ipv6Prefix = 64): string
    {
    }

    /**
     * Returns the metrics of this process, and of the processes that share its counters. The list is empty with
     * `QUOTALOCK_METRICS=off`.
     *
     * Each metric has the `name` that Prometheus shows, a `help` text of one sentence, its `kind` (`counter`, `gauge`
     * or `histogram`), and `samples`. A sample has `labels` and a `value`. A sample of a histogram has no `value`, but
     * a `sum` in seconds, a `count`, and `buckets`: pairs of a bound in seconds and the number of durations up to that
     * bound, where the last bound is infinite. Metrics that were never counted are left out. Labels contain names of
     * limiters, stocks, caches and servers, but no keys. The workers of php-fpm share their counters, and so do all
     * processes with the same `ratelimit.metrics_file`.
     *
     * @return list<array{name: string, help: string, kind: 'counter'|'gauge'|'histogram', samples: list<array{
     *     labels: array<string, string>, value?: int, buckets?: list<array{float, int}>, sum?: float, count?: int}>}>
     */
    function metrics(): array
    {
    }

    /**
     * Returns the metrics() as a text that Prometheus reads. Serve it as `text/plain; version=0.0.4; charset=utf-8`.
     */
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

    /** An invalid value, such as an empty key, a negative cost or an invalid URL. */
    final class InvalidArgumentException extends \InvalidArgumentException implements QuotalockException
    {
        public function getErrorCode(): string
        {
        }
    }

    /** A policy that does not parse, or that has an invalid amount, period or unit. */
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

    /** A fault of Quotalock. */
    final class InternalException extends \RuntimeException implements QuotalockException
    {
        public function getErrorCode(): string
        {
        }
    }
}
