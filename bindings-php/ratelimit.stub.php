<?php

/**
 * What the extension `ratelimit` adds to PHP, for IDEs and PHPStan. The extension itself does not read this file;
 * tests/php compares the two.
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
            ?int $lease = null
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
        public readonly string $key;

        /** 32 hexadecimal digits. */
        public readonly string $id;

        /** What reserve() was answered; null if this object was made by Limiter::reservation(). */
        public readonly ?Decision $decision;

        private function __construct()
        {
        }

        /**
         * Replaces the estimate by the actual amount. An excess is given back, a shortfall is charged whatever the
         * limit. False if the reservation had ended, or was settled with another amount: then nothing changed. Settling
         * again with the same amount is true and changes nothing, so you may repeat it after an error. Fails whatever
         * `$onError` says.
         *
         * @param int<0, 4503599627370496> $actual
         * @throws UnavailableException
         */
        public function settle(int $actual): bool
        {
        }

        /**
         * Gives the whole estimate back: settle() with 0.
         *
         * @throws UnavailableException
         */
        public function cancel(): bool
        {
        }
    }

    /** Decides for keys by one policy. Made by Client::limiter(). */
    final class Limiter implements LimiterInterface
    {
        public readonly string $name;

        /** The policy in its canonical form. */
        public readonly string $policy;

        public readonly ?string $scope;

        /** Whether the policy is enforced. */
        public readonly bool $enforce;

        /** How many permits it takes from Redis at once at most; null if each call asks. */
        public readonly ?int $lease;

        private function __construct()
        {
        }

        /**
         * Charges `$cost` to every rule if all admit it, else to none. A cost of 0 only looks; one above a limit is
         * always denied.
         *
         * @param int<0, 4503599627370496> $cost
         * @param \Stringable|string|int|null $requestId 1 to 256 bytes, such as a UUID: the same id for the same key
         *     gets the first answer again while it is remembered, and is charged once. A denied call is decided again
         */
        public function consume(
            \Stringable|string|int $key,
            int $cost = 1,
            \Stringable|string|int|null $requestId = null
        ): Decision {
        }

        /**
         * Charges as much as is admitted now, up to `$most`; Decision::$cost tells how much. Denied if that is nothing.
         *
         * @param int<1, 4503599627370496> $most
         */
        public function consumeUpTo(\Stringable|string|int $key, int $most): Decision
        {
        }

        /**
         * Charges `$estimate` and holds it until Reservation::settle() replaces it by the actual amount, or `$ttlMs` is
         * over. Nothing is held if the call was denied, as `$decision` of the reservation tells.
         *
         * @param int<1, 4503599627370496> $estimate
         * @param int<1, 3153600000000> $ttlMs
         * @param 'spent'|'returned' $unsettled what becomes of the estimate if nobody settles it in time
         */
        public function reserve(
            \Stringable|string|int $key,
            int $estimate,
            int $ttlMs,
            string $unsettled = 'spent'
        ): Reservation {
        }

        /**
         * The reservation of this id, which reserve() made here or in another process. Does not ask Redis whether there
         * is one.
         *
         * @param non-empty-string $id
         * @throws InvalidArgumentException
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
         * As consume(), but a denial is thrown.
         *
         * @param int<0, 4503599627370496> $cost
         * @throws RateLimitedException
         */
        public function require(\Stringable|string|int $key, int $cost = 1): Decision
        {
        }

        /**
         * As consume(), and after a denial sleeps as it says and tries again. Ends with a denial at once when the next
         * chance comes after `$timeoutMs`. Signal handlers of pcntl_async_signals() run meanwhile.
         *
         * @param int<0, 3153600000000> $timeoutMs
         * @param int<0, 4503599627370496> $cost
         */
        public function wait(\Stringable|string|int $key, int $timeoutMs, int $cost = 1): Decision
        {
        }

        /**
         * Gives back what was consumed; no rule falls below zero. Returns what a peek() right after it would return.
         *
         * @param int<1, 4503599627370496> $amount
         * @param \Stringable|string|int|null $requestId as for consume(): given back once
         */
        public function refund(
            \Stringable|string|int $key,
            int $amount,
            \Stringable|string|int|null $requestId = null
        ): Decision {
        }

        /**
         * Denies everything for `$durationMs`, in place of an earlier block. Returns what a peek() right after it would
         * return. Fails whatever `$onError` says: a block that was not stored must not look like one.
         *
         * @param int<1, 3153600000000> $durationMs
         * @throws UnavailableException
         */
        public function block(\Stringable|string|int $key, int $durationMs): Decision
        {
        }

        /** Forgets everything about the key, including a block and reservations; true if there was anything. */
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
     * The answer of a limiter for one key. With several rules it shows the one that binds: of the rules that deny the
     * one with the longest wait, else the one with the least remaining.
     */
    final class Decision
    {
        /** The name of the limiter. */
        public readonly string $name;

        /** Whether the call was admitted. A denied call was charged nothing. */
        public readonly bool $allowed;

        /** Whether the policy denies, and only its limiter's `$enforce` lets the call pass: it was charged nothing. */
        public readonly bool $wouldDeny;

        public readonly int $limit;

        /** What could be consumed now; 0 while the key is blocked. */
        public readonly int $remaining;

        /** After how long the same call would be admitted if nobody else called: 0 when admitted, null for never. */
        public readonly ?int $retryAfterMs;

        /** After how long the rule that binds is as new and a block is over; `rules` has the other rules. */
        public readonly int $resetAfterMs;

        /** The cost that was asked for, or what consumeUpTo() took. */
        public readonly int $cost;

        /**
         * Who answered; `deny-cache` is this host, by what Redis denied a moment ago.
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

        /**
         * The header fields of an answer to the request that was decided, in their order: `RateLimit-Policy` and
         * `RateLimit` with an item for each rule (draft-ietf-httpapi-ratelimit-headers-11), unless `$syntax` is `none`;
         * `X-RateLimit-Limit`, `-Remaining` and `-Reset` (seconds from now) of the rule that binds, if `$legacy`; and
         * on a denial `Retry-After`: whole seconds, rounded up, at least 1. If the call can never be admitted it is
         * the longest period of the rules that say so.
         *
         * @param 'draft-11'|'none' $syntax
         * @return array<string, string>
         */
        public function headers(string $syntax = 'draft-11', bool $legacy = false): array
        {
        }

        /**
         * The body of the answer to the request that was denied, as RFC 9457 has it (`application/problem+json`): its
         * `status` is 429, or 503 if Redis could not be asked and `onError: 'closed'` denied.
         *
         * @return array{type: string, title: string, status: int, detail: string, 'violated-policies': list<string>}
         * @throws Exception\InvalidArgumentException if the call was allowed
         */
        public function problem(): array
        {
        }

        private function __construct()
        {
        }
    }

    /** The answer about several keys, charged all or none. */
    final class CombinedDecision
    {
        /** Whether all were admitted, and charged. If not, none was. */
        public readonly bool $allowed;

        /** Whether a limiter that is not enforced denies. */
        public readonly bool $wouldDeny;

        /**
         * The index of the decision that binds: of the rules that deny the one with the longest wait, else the one with
         * the least remaining.
         */
        public readonly int $binding;

        /** After how long the same call would be admitted if nobody else called: 0 when admitted, null for never. */
        public readonly ?int $retryAfterMs;

        /**
         * Who answered.
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

        /**
         * The header fields of an answer to the request that was decided, in their order: `RateLimit-Policy` and
         * `RateLimit` with an item for each rule (draft-ietf-httpapi-ratelimit-headers-11), unless `$syntax` is `none`;
         * `X-RateLimit-Limit`, `-Remaining` and `-Reset` (seconds from now) of the rule that binds, if `$legacy`; and
         * on a denial `Retry-After`: whole seconds, rounded up, at least 1. If the call can never be admitted it is
         * the longest period of the rules that say so.
         *
         * @param 'draft-11'|'none' $syntax
         * @return array<string, string>
         */
        public function headers(string $syntax = 'draft-11', bool $legacy = false): array
        {
        }

        /**
         * The body of the answer to the request that was denied, as RFC 9457 has it (`application/problem+json`): its
         * `status` is 429, or 503 if Redis could not be asked and `onError: 'closed'` denied.
         *
         * @return array{type: string, title: string, status: int, detail: string, 'violated-policies': list<string>}
         * @throws Exception\InvalidArgumentException if the call was allowed
         */
        public function problem(): array
        {
        }

        private function __construct()
        {
        }
    }

    /**
     * A handle for a lock. Made by Client::lock() and its neighbours.
     *
     * A lock is a lease: it ends `$ttlMs` after it was granted or last extended, also if its holder is still at work.
     * Where two holders would do harm, send `$token` to the protected resource and let it refuse smaller tokens.
     *
     * It is released by release(), at the end of run(), when this object is freed or its client closed, and at the end
     * of the request, however that ends. If the process is killed, it ends with its ttl. If Redis is away, releasing at
     * the end of a request takes at most 100 ms in total. A handle is not re-entrant; after a fork the child does not
     * hold, and does not release, what its parent holds.
     */
    final class Lock implements LockInterface
    {
        /**
         * The names, as they were given.
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

        public readonly int $ttlMs;

        /**
         * The fencing token of the grant, larger than that of every grant of the name before; null if it was never
         * acquired, or is released. It stays after a loss. This and the following properties are computed at each
         * reading, without asking Redis.
         */
        public readonly ?int $token;

        /**
         * What the handle knows.
         *
         * @var 'released'|'held'|'uncertain'|'lost'
         */
        public readonly string $state;

        /** Whether it is held for certain now. */
        public readonly bool $held;

        /** For how long it is held for certain; 0 if it is not. */
        public readonly int $remainingMs;

        private function __construct()
        {
        }

        /**
         * Acquires the lock; false if it was not granted in time. Signal handlers of pcntl_async_signals() run while it
         * waits. What they throw ends the wait, and so does the time limit of the request. A wait that ends without the
         * lock leaves nothing behind.
         *
         * @param int<0, 3153600000000>|null $waitMs how long to wait for it; null is what the handle was made with
         * @throws InvalidArgumentException if this handle holds it
         * @throws CrossSlotException
         */
        public function acquire(?int $waitMs = null): bool
        {
        }

        /**
         * Releases the lock; false if it was no longer held. After an exception it ends with its ttl at the latest.
         *
         * @throws UnavailableException
         */
        public function release(): bool
        {
        }

        /**
         * Makes the lock last for at least `$ttlMs` from now, and never shortens it; false if it was lost.
         *
         * @param int<10, 604800000>|null $ttlMs null is the handle's own
         * @throws UnavailableException
         */
        public function extend(?int $ttlMs = null): bool
        {
        }

        /**
         * Writes the lease down as a short text, by which another process adopts it (Client::adopt()), and ends this
         * handle: it is released, and release() is false. Asks nothing.
         *
         * Nobody extends it until it is adopted, so the text must arrive within what $remainingMs says. Whoever has
         * the text can take the lease: treat it as a secret. It holds no password.
         *
         * @return non-empty-string
         * @throws Exception\LostException unless the lock is held for certain now
         * @throws Exception\InvalidArgumentException for a lock over several servers
         */
        public function handover(): string
        {
        }

        /**
         * Throws unless the lock is held for certain now. Does not ask Redis.
         *
         * @throws LostException
         */
        public function assertHeld(): void
        {
        }

        /**
         * Makes every later token of this handle larger than `$floor`: for a resource that has seen a larger token than
         * the lock gave.
         *
         * @param int<0, 4503599627370496> $floor
         * @throws InvalidArgumentException
         */
        public function raiseFloor(int $floor): void
        {
        }

        /** Who holds the lock, of several names the first, and how many wait for it. */
        public function inspect(): Inspection
        {
        }

        /**
         * Takes the lock away from all holders, and returns how many there were. For operators: the holders learn of it
         * when they extend or release it.
         */
        public function forceRelease(): int
        {
        }

        /**
         * Acquires the lock, calls the function with this object and returns what it returned. The lock is released
         * however the function ends: by returning, by an exception, by exit, by a fatal error or for lack of time.
         *
         * @param callable(Lock): mixed $function
         * @param int<0, 3153600000000>|null $waitMs as for acquire()
         * @throws NotAcquiredException if it was not granted in time; then the function was not called
         * @throws LostException if the lock was lost before the function returned
         * @throws UnavailableException
         */
        public function run(callable $function, ?int $waitMs = null): mixed
        {
        }
    }

    /**
     * The units of a sale: held, then sold or returned. Made by Client::stock(). It does not oversell as long as Redis
     * forgets nothing.
     *
     * In every state that anyone can see, `available + held + sold` is the number of all units. A hold that is over
     * returns to stock by the next calls that write. You may repeat every call after an exception that leaves its
     * outcome unknown; the client itself does so within its timeout. Nothing is sold or added twice, and with a request
     * id nothing is taken twice.
     */
    final class Stock implements StockInterface
    {
        public readonly string $name;

        public readonly ?string $scope;

        /**
         * Hash, holds and ledger: `<prefix>:stock:{<name>}`, with a scope `<prefix>:stock:{<scope>}:{<name>}`, then the
         * same with `:holds` and `:ledger`.
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
         * @param int<1, 4503599627370496> $quantity
         * @param int<1, 4503599627370496>|null $perBuyer the most that one buyer holds and has bought; null: all
         * @param int<1, 3153600000000>|null $endsMs when takes end, in milliseconds since the epoch by the server's
         *     clock; null: never
         * @param list<\Stringable|string|int>|null $prizes a payload of 1 to 1,024 bytes for each unit, such as a
         *     coupon code or a seat: at most 10,000, more by restock()
         * @throws InvalidArgumentException if it is open with others, which are named
         */
        public function open(int $quantity, ?int $perBuyer = null, ?int $endsMs = null, ?array $prizes = null): bool
        {
        }

        /**
         * Ends the sale now, for good: true if this call did, false if it had ended before. Takes are refused as
         * `ended`; what is held can still be confirmed, cancelled and extended. The sale is kept for its memory after
         * the last of its holds has ended, or from now; until then its name is taken.
         *
         * @throws InvalidArgumentException if it is not open
         */
        public function close(): bool
        {
        }

        /**
         * Adds units to an open sale; returns how many units there are now, including sold ones.
         *
         * @param int<1, 4503599627370496> $quantity
         * @param list<\Stringable|string|int>|null $prizes as many, if the sale has prizes
         * @param \Stringable|string|int|null $requestId 1 to 256 bytes: units are added once for it while it is
         *     remembered, at least a day
         * @throws InvalidArgumentException
         */
        public function restock(
            int $quantity,
            ?array $prizes = null,
            \Stringable|string|int|null $requestId = null
        ): int {
        }

        /**
         * Holds units for a buyer, or says why not: Taken::$outcome. What is not confirmed in time returns to stock.
         *
         * @param \Stringable|string|int $buyer at most 1 KiB
         * @param int<1, 4503599627370496> $quantity of units with prizes at most 1,000
         * @param int<1, 2592000000> $holdMs
         * @param \Stringable|string|int|null $requestId 1 to 256 bytes, such as a UUID: the same id for the same buyer
         *     gets the first reservation again while it is remembered (as long as the hold, or requestMemoryMs if that
         *     is longer), whatever happened to it. A refused call took nothing, so it is decided again
         * @throws InvalidArgumentException
         */
        public function take(
            \Stringable|string|int $buyer,
            int $quantity = 1,
            int $holdMs = 600000,
            \Stringable|string|int|null $requestId = null
        ): Taken {
        }

        /**
         * Sells what a reservation holds: true, also if it was confirmed before (that is remembered for a day at
         * least); false, and nothing is sold, if the hold was over or cancelled. The end of the sale does not matter.
         *
         * @param non-empty-string $id StockReservation::$id
         * @throws InvalidArgumentException if it is no id of this stock
         */
        public function confirm(string $id): bool
        {
        }

        /**
         * Returns what a reservation holds to stock: true, also if it was cancelled before and that is remembered;
         * false if the hold was over or confirmed.
         *
         * @param non-empty-string $id
         * @throws InvalidArgumentException if it is no id of this stock
         */
        public function cancel(string $id): bool
        {
        }

        /**
         * Makes a hold last for at least `$holdMs` from now, and never shortens it; false if it was over, confirmed or
         * cancelled.
         *
         * @param non-empty-string $id
         * @param int<1, 2592000000> $holdMs
         * @throws InvalidArgumentException if it is no id of this stock
         */
        public function extend(string $id, int $holdMs = 600000): bool
        {
        }

        /** The numbers of the sale. */
        public function status(): StockStatus
        {
        }

        /**
         * Lists holds that are not over in the order in which they end. What is extended meanwhile may be seen twice;
         * nothing is left out.
         *
         * @param string|null $cursor StockPage::$next of the page before; null for the first page
         * @param int<1, 1000> $count
         * @throws InvalidArgumentException
         */
        public function reservations(?string $cursor = null, int $count = 100): StockPage
        {
        }

        /**
         * Reads entries of the ledger, those after the one with the id `$after`, or from the first that is kept. If you
         * store the last id together with your own changes, you read every entry at least once, as long as the ledger
         * keeps them.
         *
         * @param string|null $after LedgerEntry::$id
         * @param int<1, 1000> $count
         * @return list<LedgerEntry>
         * @throws InvalidArgumentException
         */
        public function ledger(?string $after = null, int $count = 100): array
        {
        }
    }

    /** The answer of Stock::take(). */
    final class Taken
    {
        /**
         * The outcome.
         *
         * @var 'held'|'sold_out'|'buyer_limit'|'not_open'|'ended'
         */
        public readonly string $outcome;

        /** What is held; null unless the outcome is `held`. */
        public readonly ?StockReservation $reservation;

        /** How many units are available after it. */
        public readonly int $available;

        private function __construct()
        {
        }
    }

    /** The answer of Client::takeAll(). */
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
         * What is held of each stock, in the order given; empty unless the outcome is `held`.
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

    /** Units that are held for a buyer. */
    final class StockReservation
    {
        /** The id, by which every process knows it. It cannot be guessed. Anyone who knows it can confirm or cancel. */
        public readonly string $id;

        public readonly int $quantity;

        public readonly string $buyer;

        /**
         * The payloads of its units; empty if the sale has none.
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

    /** Some reservations of a stock. */
    final class StockPage
    {
        /**
         * In the order in which they end.
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

    /** The numbers of a sale: `available + held + sold` are `quantity`. All 0 if it is not open. */
    final class StockStatus
    {
        /**
         * Where it stands; when it has ended holds can still be confirmed.
         *
         * @var 'not_open'|'open'|'ended'
         */
        public readonly string $phase;

        /** All units there are. */
        public readonly int $quantity;

        public readonly int $available;

        public readonly int $held;

        public readonly int $sold;

        /** How many buyers hold or have bought. */
        public readonly int $buyers;

        /** The most units of one buyer; null: no limit. */
        public readonly ?int $perBuyer;

        /** When takes end, in milliseconds since the epoch by the server's clock; null: never. */
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
         * What was done.
         *
         * @var 'opened'|'restocked'|'held'|'confirmed'|'cancelled'|'expired'|'extended'|'closed'
         */
        public readonly string $kind;

        /**
         * The id of the reservation; null, as the buyer, for an opening, a restock and a closing, and for units that
         * expired since somebody deleted the key of their holds.
         */
        public readonly ?string $reservation;

        public readonly ?string $buyer;

        /** With how many units. */
        public readonly int $quantity;

        /** When, in milliseconds since the epoch by the server's clock. */
        public readonly int $timeMs;

        public readonly int $available;

        public readonly int $held;

        public readonly int $sold;

        /**
         * The payloads of the units that are meant; empty if they have none.
         *
         * @var list<non-empty-string>
         */
        public readonly array $prizes;

        private function __construct()
        {
        }
    }

    /** What is done once for each id. Made by Client::once(). */
    final class Once implements OnceInterface
    {
        public readonly string $name;

        private function __construct()
        {
        }

        /**
         * Claims an id: Claimed::$first tells whether this caller is the first. A claim whose reply was lost is asked
         * for again and stays the caller's. While run() runs for the id nobody is the first.
         *
         * @param \Stringable|string|int $id at most 1 KiB
         * @param string|null $value what later callers are told: any bytes, at most 64 MiB
         * @throws InvalidArgumentException
         */
        public function claim(\Stringable|string|int $id, ?string $value = null): Claimed
        {
        }

        /**
         * Forgets an id, whoever claimed it: the next caller is the first. A function that runs for it continues, but
         * its result is not stored. True if there was anything.
         */
        public function release(\Stringable|string|int $id): bool
        {
        }

        /**
         * The result of the first run for the id. If there was none, this call runs the function; the others get its
         * result, at once or when it comes. If the function throws, its caller gets the exception and the next caller
         * runs, as after an exit or a fatal error. If the first is killed, the next one runs when its lease is over.
         *
         * @param callable(): ?string $function any bytes, at most 64 MiB, or null
         * @param int<0, 3153600000000>|null $waitMs how long to wait for another caller's result; null is 5,000 more
         *     than the lease, so that a waiter outlasts a caller that dies
         * @throws TimeoutException if it did not come in time
         * @throws LoadFailedException if the function failed a moment ago and `$errorTtlMs` remembers it
         */
        public function run(\Stringable|string|int $id, callable $function, ?int $waitMs = null): ?string
        {
        }

        /** The Redis key of an id: `<prefix>:once:<name>:{<id>}`. */
        public function redisKey(\Stringable|string|int $id): string
        {
        }
    }

    /** The answer of Once::claim(). */
    final class Claimed
    {
        /** Whether the caller is the first. */
        public readonly bool $first;

        /** The value of the first caller; null if there is none, or no result yet. */
        public readonly ?string $value;

        /** Whether a function is running for it, without a result yet. */
        public readonly bool $running;

        /** How long the claim lasts, or the lease of the running function. */
        public readonly int $remainingMs;

        /** How long ago it was claimed. */
        public readonly int $ageMs;

        private function __construct()
        {
        }
    }

    /**
     * A cache that never stampedes: on a miss one caller loads the value, in whatever process. Made by Client::cache().
     *
     * Values are strings of any bytes, at most 64 MiB, or null: it is known that there is none. When a value is stale,
     * and sometimes a little earlier, one caller loads a new one, and the others are served the old one.
     */
    final class Cache implements CacheInterface
    {
        public readonly string $name;

        private function __construct()
        {
        }

        /**
         * The value of a key. On a miss the function is called, unless another caller loads: then this call waits for
         * that value. If the function throws, its caller gets the exception; others get LoadFailedException for a
         * while, or the old value. After an exit or a fatal error another caller loads at once; if this process is
         * killed, when its lease is over. A function must not get its own key: it would wait for itself.
         *
         * @param \Stringable|string|int $key at most 1 KiB
         * @param callable(): ?string $load
         * @param int<0, 3153600000000>|null $waitMs how long to wait for another caller's load; null is 5,000 more than
         *     the lease, so that a waiter outlasts a caller that dies
         * @throws TimeoutException if it did not come in time
         * @throws LoadFailedException
         */
        public function get(\Stringable|string|int $key, callable $load, ?int $waitMs = null): ?string
        {
        }

        /**
         * The values of several keys, in their order, found by one call. The function gets the keys that are missing
         * and that nobody else loads. A key that it leaves out has no value; a key that it adds is ignored. In a
         * cluster the keys may lie in any slots; the call then takes a round trip for each slot.
         *
         * @param non-empty-list<\Stringable|string|int> $keys at most 1,000, none twice
         * @param callable(non-empty-list<string>): array<string|int, ?string> $load
         * @param int<0, 3153600000000>|null $waitMs as for get()
         * @return array<string|int, ?string> by the keys
         * @throws TimeoutException
         * @throws LoadFailedException
         */
        public function getMany(array $keys, callable $load, ?int $waitMs = null): array
        {
        }

        /**
         * As get(), for values that are stored as JSON. The answer is what json_decode() makes of it, with objects as
         * arrays, also for the caller who loaded it; null is no value.
         *
         * @param callable(): mixed $load
         * @param int<0, 3153600000000>|null $waitMs as for get()
         * @throws TimeoutException
         * @throws LoadFailedException
         * @throws \JsonException
         */
        public function getJson(\Stringable|string|int $key, callable $load, ?int $waitMs = null): mixed
        {
        }

        /** The value of a key, fresh or stale, if there is one. Loads nothing and waits for nobody. */
        public function peek(\Stringable|string|int $key): ?Seen
        {
        }

        /**
         * Stores a value that you already have. It counts as newer than whatever is being loaded.
         *
         * @param string|null $value null means that there is none; if `$negativeMs` is 0 that only forgets the key
         * @throws InvalidArgumentException
         */
        public function put(\Stringable|string|int $key, ?string $value): bool
        {
        }

        /**
         * Forgets a key: what was loaded or is being loaded now is no longer served. True if there was a value.
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
     * A client of one Redis, or of this process' memory.
     *
     * Objects with the same settings share one client and its connections, also with later requests of the same
     * process, so you can make one in each request at almost no cost. Nothing is sent before the first call. After a
     * fork every process has connections of its own.
     */
    final class Client implements ClientInterface
    {
        /** The host and port, socket path or `memory://` that it talks to; never a password. */
        public readonly string $server;

        /** What every Redis key starts with. */
        public readonly string $prefix;

        /**
         * What is null comes from the ini settings `ratelimit.url`, `ratelimit.prefix`, `ratelimit.timeout_ms`,
         * `ratelimit.on_error`, `ratelimit.deny_cache_max_ms` and `ratelimit.report`, then, for the URL, from the
         * environment variable `QUOTALOCK_URL`, then from the default.
         *
         * @param string|null $url `redis://[user:password@]host[:port][/database]`, `rediss://`, `unix://` or
         *     `memory://`, which all clients of this process share, or `memory://name`, one of its own that is gone
         *     when its clients are closed; default `redis://127.0.0.1:6379`
         * @param non-empty-string|null $prefix no braces; default `ql`
         * @param int<1, 3600000>|null $timeoutMs the time a call may take, connecting included; default 500
         * @param 'raise'|'open'|'closed'|'local'|null $onError what a limiter answers when Redis cannot: an exception,
         *     yes, no, or what the same policy says in this process' memory; default `raise`
         * @param int<1, 86400000> $requestMemoryMs how long a call with a request id is remembered; as long
         *     as the timeout at least
         * @param (callable(): string)|null $password tells the password, where the URL gives none: called while a
         *     call waits for it, when a connection first logs in, and again when the server refuses what it returned.
         *     What it throws, the call throws. Clients with the same settings share connections, whoever logged in
         * @param int<0, 60000>|null $denyCacheMaxMs after Redis has denied a call, the processes of this host answer
         *     the same one themselves until it can be admitted, for so long at most; 0 asks every time; default 1000
         * @param (callable(Decision, \Stringable|string|int): mixed)|null $onDecision is called after each decision of
         *     this client's limiters that charges or denies, with the key as it was given, before the call returns or
         *     throws. What it throws changes nothing: PHP logs a warning
         * @param (callable(Lock): mixed)|null $onLost is called when a method of a lock of this client finds that the
         *     lock was lost, once for each grant; otherwise as $onDecision
         * @param bool|null $report whether this process tells Redis once a second, in the background, what its limiters
         *     decided, and which keys they denied most often: for `quotalock top`; default false
         * @throws InvalidArgumentException
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
         * @param non-empty-string $name part of its Redis keys
         * @param Rule|non-empty-list<Rule>|non-empty-string $policy such as `10/minute;100/hour`
         * @param \Stringable|string|int|null $scope what all its keys share as their hash tag: they lie in one slot of
         *     a cluster, and consumeAll() can charge them together with those of other limiters of that scope
         * @param bool $enforce if false every call passes, and Decision::$wouldDeny tells which would have been denied;
         *     those were charged nothing. Use it to try a policy on real traffic
         * @param positive-int|null $lease how many permits are taken from Redis at once at most, to be spent in this
         *     process without a call: 2 to the smallest capacity of the policy. Sliding windows and logs refuse one
         * @throws InvalidArgumentException
         * @throws InvalidPolicyException
         */
        public function limiter(
            string $name,
            Rule|array|string $policy,
            \Stringable|string|int|null $scope = null,
            bool $enforce = true,
            ?int $lease = null
        ): Limiter {
        }

        /**
         * Charges several keys, each by its own limiter and with its own cost, if all of them admit it, else none: one
         * atomic call. No key twice for one limiter. In a cluster the limiters need a common scope.
         *
         * @param non-empty-list<array{Limiter, \Stringable|string|int, 2?: int<1, 4503599627370496>}> $charges at most
         *     100, each with a limiter of this client, a key, and a cost if it is not 1
         * @param \Stringable|string|int|null $requestId as for Limiter::consume()
         * @throws InvalidArgumentException
         * @throws CrossSlotException
         */
        public function consumeAll(array $charges, \Stringable|string|int|null $requestId = null): CombinedDecision
        {
        }

        /**
         * Makes a handle for a mutex. It does not ask Redis before Lock::acquire().
         *
         * @param non-empty-string $name any bytes, at most 1 KiB
         * @param int<10, 604800000> $ttlMs how long a grant lasts unless it is extended: at least as long as the work.
         *     PHP has no thread that could renew it
         * @param int<0, 3153600000000> $waitMs how long Lock::acquire() and Lock::run() wait unless you say otherwise
         * @param bool $fair whether waiters are served in order of arrival
         * @param int<0, 4503599627370496> $tokenAbove every fencing token is larger than this
         * @param string $label what Holder::$label shows of this holder: at most 128 bytes of UTF-8, no line breaks
         * @param int<0, 4294967295> $replicasAck how many replicas must have a grant before it counts; 0 asks none
         * @param int<1, 60000> $ackTimeoutMs how long an acquisition waits for them
         * @throws InvalidArgumentException
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
         * In a cluster the names must lie in one slot. The other parameters are those of lock().
         *
         * @param non-empty-list<non-empty-string> $names at most 100, none twice
         * @throws InvalidArgumentException
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
         * Makes a handle for `$weight` of a semaphore's `$permits`; at most 1,024 hold it at once. The other parameters
         * are those of lock().
         *
         * @param non-empty-string $name
         * @param int<1, 2147483647> $permits the same number wherever this semaphore is used
         * @param int<1, 2147483647> $weight at most the permits
         * @throws InvalidArgumentException
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
         * Makes a handle for the reading side of a read-write lock: up to 1,024 readers at once, none beside a writer
         * or after one that waits. The other parameters are those of lock().
         *
         * @param non-empty-string $name
         * @throws InvalidArgumentException
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
         * Makes a handle for the writing side of a read-write lock: alone. The other parameters are those of lock().
         *
         * @param non-empty-string $name
         * @throws InvalidArgumentException
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
         * Makes a handle of what Lock::handover() wrote, in this process or another one, in any language, and takes the
         * lease over: it has the ttl, the label and the fencing token of the giver. Only one adopts.
         *
         * @param string|null $name the lock that it must be: the text of another one is refused, and that lock is not
         *     touched
         * @param int<10, 604800000>|null $ttlMs another ttl than the giver's: the lease ends that long from now, even
         *     if that is sooner
         * @throws Exception\LostException if the lease is over, was adopted before, or is on another server
         * @throws Exception\InvalidArgumentException for a text that is none, is damaged, or comes from a client with
         *     another prefix
         * @throws QuotalockException
         */
        public function adopt(string $text, ?string $name = null, ?int $ttlMs = null): Lock
        {
        }

        /**
         * Makes a handle for the units of a sale. It does not ask Redis; Stock::open() creates the sale.
         *
         * @param non-empty-string $name any bytes, at most 1 KiB
         * @param \Stringable|string|int|null $scope what all its keys share as their hash tag: stocks of one scope lie
         *     in one slot of a cluster, and takeAll() can take from them together. Part of where the sale is kept: all
         *     handles of a sale have the same
         * @param int<1000, 100000000> $ledgerCap how many entries the ledger keeps, approximately; counts when the sale
         *     is opened
         * @param int<60000, 3153600000000> $retentionMs how long the sale is kept after its end, its last hold or the
         *     last call that wrote, ledger included; half of that for certain. Counts when the sale is opened
         * @throws InvalidArgumentException
         */
        public function stock(
            string $name,
            \Stringable|string|int|null $scope = null,
            int $ledgerCap = 100000,
            int $retentionMs = 2592000000
        ): Stock {
        }

        /**
         * Holds units of several stocks for one buyer, or of none: one atomic call. In a cluster the stocks need a
         * common scope. Each reservation is an ordinary one of its stock.
         *
         * @param non-empty-list<array{Stock, int<1, 4503599627370496>}> $takes at most 100 stocks of this client, none
         *     twice, each with a quantity
         * @param \Stringable|string|int $buyer as for Stock::take(), like the other parameters
         * @param int<1, 2592000000> $holdMs
         * @param \Stringable|string|int|null $requestId belongs to the first of the stocks, by their Redis keys, and
         *     the buyer
         * @throws InvalidArgumentException
         * @throws CrossSlotException
         */
        public function takeAll(
            array $takes,
            \Stringable|string|int $buyer,
            int $holdMs = 600000,
            \Stringable|string|int|null $requestId = null
        ): TakenAll {
        }

        /**
         * Sells what several reservations hold, or nothing if one of them is over: one atomic call. Otherwise as
         * Stock::confirm().
         *
         * @param non-empty-list<array{Stock, non-empty-string}> $reservations at most 100, none twice, each with its
         *     stock
         * @throws InvalidArgumentException
         * @throws CrossSlotException
         */
        public function confirmAll(array $reservations): bool
        {
        }

        /**
         * Returns what several reservations hold to their stocks: one atomic call. Those that hold return even if
         * others are over; true if all of them held, or had been cancelled.
         *
         * @param non-empty-list<array{Stock, non-empty-string}> $reservations as for confirmAll()
         * @throws InvalidArgumentException
         * @throws CrossSlotException
         */
        public function cancelAll(array $reservations): bool
        {
        }

        /**
         * Lengthens several holds, or none if one of them is over: one atomic call. Otherwise as Stock::extend().
         *
         * @param non-empty-list<array{Stock, non-empty-string}> $reservations as for confirmAll()
         * @param int<1, 2592000000> $holdMs
         * @throws InvalidArgumentException
         * @throws CrossSlotException
         */
        public function extendAll(array $reservations, int $holdMs = 600000): bool
        {
        }

        /**
         * Makes a Once: work that is done once for each id.
         *
         * @param non-empty-string $name part of its Redis keys
         * @param int<1, 315360000000> $ttlMs for how long a claim or a result is remembered
         * @param int<10, 3600000> $leaseMs how long the others wait for a caller that dies. It is not renewed, so make
         *     it longer than the function runs
         * @param int<0, 3600000> $errorTtlMs for how long the exception of a run is remembered; 0: the next caller runs
         *     at once
         * @throws InvalidArgumentException
         */
        public function once(string $name, int $ttlMs = 86400000, int $leaseMs = 10000, int $errorTtlMs = 0): Once
        {
        }

        /**
         * Makes a cache.
         *
         * @param non-empty-string $name part of its Redis keys
         * @param int<1, 315360000000> $freshMs how long a value is fresh
         * @param int<0, 315360000000> $staleMs how long it is served after that, while one caller loads a new one
         * @param int<10, 3600000> $leaseMs how long a loader keeps the others from loading. It is not renewed: a loader
         *     that takes longer is joined by another
         * @param int<0, 315360000000>|null $negativeMs how long the answer that there is no value is fresh; 0 does not
         *     store it, null is `$freshMs`
         * @param int<0, 3600000> $errorTtlMs for how long the exception of a loader is remembered, and nobody else
         *     loads
         * @param float $beta how eagerly values are refreshed before they are stale: 0 (never) to
         *     100
         * @param 'raise'|'load' $whenAway what happens when Redis cannot answer: an exception, or the caller loads,
         *     as if there were no cache. If it goes away during a load, `raise` throws although there is a value, and
         *     `load` returns the value
         * @throws InvalidArgumentException
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
         * Closes this object: its locks are released and `lost`, and later calls of it and of what it made throw
         * ClosedException. The connections are closed too, unless another open client object of this process shares
         * them. There is no need to call it.
         */
        public function close(): void
        {
        }
    }

    /** What Cache::peek() found. */
    final class Seen
    {
        /** The value; null if it is known that there is none. */
        public readonly ?string $value;

        /** Whether it is not fresh any more. */
        public readonly bool $stale;

        public readonly int $ageMs;

        private function __construct()
        {
        }
    }

    /** Who holds a lock, and who waits. */
    final class Inspection
    {
        /** The last fencing token given; 0 if none is remembered. */
        public readonly int $token;

        /** How many wait. */
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
        /** The host it runs on; empty if it did not say. */
        public readonly string $host;

        /** Its process there; 0 if it did not say. */
        public readonly int $pid;

        /** The label that it gave. */
        public readonly string $label;

        /** Its fencing token. */
        public readonly int $token;

        /** How many permits it has. */
        public readonly int $permits;

        /** When it was granted, in milliseconds since the epoch by the server's clock. */
        public readonly int $sinceMs;

        /** When it ends, by the same clock. */
        public readonly int $untilMs;

        private function __construct()
        {
        }
    }

    /** What one rule of a policy says. */
    final class RuleDecision
    {
        /** Whether this rule admits by itself. */
        public readonly bool $allowed;

        /** The most that this rule admits at once: its capacity. */
        public readonly int $limit;

        /** What this rule would let be consumed now. */
        public readonly int $remaining;

        /** When this rule would admit the same call: 0 now, null never. */
        public readonly ?int $retryAfterMs;

        /** When this rule is as new. */
        public readonly int $resetAfterMs;

        /**
         * How this rule counts.
         *
         * @var 'fixed-window'|'calendar-window'|'sliding-window'|'token-bucket'|'sliding-log'
         */
        public readonly string $algorithm;

        /** How much this rule admits per period. */
        public readonly int $quota;

        public readonly int $periodMs;

        /** The most that this rule admits at once: the quota, but for a token bucket that says another capacity. */
        public readonly int $capacity;

        private function __construct()
        {
        }
    }

    /** One rule of a policy. */
    final class Rule
    {
        public readonly int $limit;

        public readonly int $periodMs;

        public readonly string $algorithm;

        /** The most that may be consumed at once: the limit, unless another capacity was given. */
        public readonly int $capacity;

        /**
         * @param int<1, 4503599627370496> $limit the amount per period
         * @param int<1, 3153600000000> $periodMs
         * @param 'fixed-window'|'calendar-window'|'sliding-window'|'token-bucket'|'sliding-log' $algorithm
         * @param int<1, 4503599627370496>|null $capacity for a token bucket only: the most at once; null is the limit
         * @throws InvalidArgumentException
         * @throws InvalidPolicyException
         */
        public function __construct(
            int $limit,
            int $periodMs,
            string $algorithm = 'fixed-window',
            ?int $capacity = null,
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
         * Sets the time, in microseconds since the epoch, at which every later call of this client is decided, also on
         * a real server; null goes back to the server's clock. It holds for all client objects that share these
         * settings: give the client of a test a prefix of its own.
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
         * Replaces what stands at a raw Redis key.
         *
         * @param 'string'|'list'|'persist' $kind a raw string without a TTL, a list, or nothing but the end of the TTL
         */
        public static function put(Client $client, string $redisKey, string $kind, string $value): bool
        {
        }

        /**
         * Reads what stands at a raw Redis key; null if there is no key. `ttlMs` is null if it has no TTL.
         *
         * @return array{value: string, ttlMs: int|null}|null
         */
        public static function get(Client $client, string $redisKey): ?array
        {
        }
    }

    /**
     * The address of the client that sent a request, as a text to be used as a key.
     *
     * The header counts only if the peer is trusted. It is read from its right end, and the first address that is not
     * trusted is the client's: what stands further left was written by that client. What is no address ends the
     * reading; then it is that of the proxy which sent it. An IPv6 address stands for its network, such as
     * `2001:db8:1:2::/64`.
     *
     * @param string|null $peer the address of the socket (`$_SERVER['REMOTE_ADDR']`); null or empty for a Unix socket
     * @param list<string>|string|null $forwarded the value of `X-Forwarded-For` or `Forwarded`, or one for each line
     * @param list<string> $trusted the proxies: addresses, networks (`10.0.0.0/8`), `loopback`, `private` and `unix`
     * @param int<32, 128> $ipv6Prefix how many leading bits of an IPv6 address stand for a client; 128: the address
     *     itself
     * @throws InvalidArgumentException for what is no address or network, and if there is no address at all: a Unix
     *     socket, and nothing in the header
     */
    function client_address(?string $peer, array|string|null $forwarded, array $trusted, int $ipv6Prefix = 64): string
    {
    }

    /**
     * What was counted until now, by this process and those that count with it: the workers of php-fpm, or all who
     * name the same `ratelimit.metrics_file`. Empty where the environment says `QUOTALOCK_METRICS=off`.
     *
     * An array for each metric: its `name` as Prometheus is to call it, a `help` in one sentence, its `kind`, and
     * `samples`: each with `labels` and a `value`; of a histogram in place of that `buckets` (pairs of a bound in
     * seconds and how many took no longer; the last bound is infinite), `sum` in seconds and `count`. What never
     * happened is left out. No key shows: labels are the names of limiters, stocks, caches and servers.
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

    /**
     * Whether the key is admitted, charged if so: one line, with the client that the ini settings and the environment
     * describe.
     *
     * @param non-empty-string $name
     * @param Rule|non-empty-list<Rule>|non-empty-string $policy such as `10/minute;100/hour`
     * @param int<0, 4503599627370496> $cost
     * @throws Exception\QuotalockException
     */
    function limit(string $name, \Stringable|string|int $key, Rule|array|string $policy, int $cost = 1): bool
    {
    }

    /**
     * Makes a handle for a mutex over several independent servers: held if most of them granted it within its ttl, so
     * it survives the loss of the others. Nothing is asked before Lock::acquire(). The handle works for as long as all
     * the clients are open.
     *
     * Each server has a twentieth of the ttl to answer. Waiters ask again every 10 to 50 ms. A server that was started
     * less than a ttl ago and keeps no append-only file has no vote.
     *
     * @param non-empty-list<Client> $clients 3 to 15, better an odd number, each of a server of its own
     * @param non-empty-string $name any bytes, at most 1 KiB
     * @param int<10, 604800000> $ttlMs how long a grant lasts unless it is extended
     * @param int<0, 3153600000000> $waitMs how long Lock::acquire() and Lock::run() wait unless you say otherwise
     * @param int<0, 4503599627370496> $tokenAbove every fencing token is larger than this
     * @param string $label what Holder::$label shows of this holder: at most 128 bytes of UTF-8, no line breaks
     * @throws InvalidArgumentException
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
}

namespace Quotalock\Exception {
    use Quotalock\Decision;

    /** Everything that this extension throws, but for the TypeErrors of PHP. */
    interface QuotalockException extends \Throwable
    {
        /** The stable code, the same in every language: `invalid_argument`, `unavailable`, ... */
        public function getErrorCode(): string;
    }

    /** A value that can never be right: an empty key, a negative cost, an invalid URL. */
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

    /** Redis could not be reached, went away, or refused to work for now. */
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

    /** The keys of one call lie in different slots of a cluster. */
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

    /** A lock was not acquired in time. */
    final class NotAcquiredException extends \RuntimeException implements QuotalockException
    {
        public function getErrorCode(): string
        {
        }
    }

    /** A lock was lost. */
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
