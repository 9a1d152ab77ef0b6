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
    use Quotalock\Exception\LostException;
    use Quotalock\Exception\NotAcquiredException;
    use Quotalock\Exception\RateLimitedException;
    use Quotalock\Exception\UnavailableException;

    /**
     * A client of one Redis, or of this process' memory.
     *
     * Objects with the same settings share one client and its connections, also with later requests of the same
     * process, so making one anew in each request costs next to nothing. Nothing is sent before the first call. After
     * a fork every process has connections of its own.
     */
    final class Client
    {
        /** The host and port, socket path or `memory://` that it talks to; never a password. */
        public readonly string $server;

        /** What every Redis key starts with. */
        public readonly string $prefix;

        /**
         * What is null comes from the ini settings `ratelimit.url`, `ratelimit.prefix`, `ratelimit.timeout_ms` and
         * `ratelimit.on_error`, then, for the URL, from the environment variable `QUOTALOCK_URL`, then from the
         * default.
         *
         * @param string|null $url `redis://[user:password@]host[:port][/database]`, `rediss://`, `unix://` or
         *     `memory://`; default `redis://127.0.0.1:6379`
         * @param non-empty-string|null $prefix no braces; default `ql`
         * @param int<1, 3600000>|null $timeoutMs the time a call may take, connecting included; default 500
         * @param 'raise'|'open'|'closed'|'local'|null $onError what is answered when Redis cannot: an exception, yes,
         *     no, or what the same policy says in this process' memory; default `raise`
         * @param int<1, 86400000> $requestMemoryMs how long a call with a request id is remembered
         * @throws InvalidArgumentException
         */
        public function __construct(
            #[\SensitiveParameter] ?string $url = null,
            ?string $prefix = null,
            ?int $timeoutMs = null,
            ?string $onError = null,
            int $requestMemoryMs = 60000
        ) {
        }

        /**
         * Makes a limiter.
         *
         * @param non-empty-string $name part of its Redis keys
         * @param Rule|non-empty-list<Rule>|non-empty-string $policy such as `10/minute;100/hour`
         * @param \Stringable|string|int|null $scope what all its keys share as their hash tag: they lie in one slot of
         *     a cluster, and consumeAll() can charge them together with those of other limiters of that scope
         * @param bool $enforce if false every call passes, and Decision::$wouldDeny tells which would have been denied,
         *     and was charged nothing: for trying a policy out on real traffic
         * @throws InvalidArgumentException
         * @throws InvalidPolicyException
         */
        public function limiter(
            string $name,
            Rule|array|string $policy,
            \Stringable|string|int|null $scope = null,
            bool $enforce = true
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
         * Makes a handle for a mutex. Nothing is asked before Lock::acquire().
         *
         * @param non-empty-string $name any bytes, at most 1 KiB
         * @param int<10, 604800000> $ttlMs how long a grant lasts unless it is extended: at least as long as the work.
         *     PHP has no thread that would renew it
         * @param int<0, 3153600000000> $waitMs how long Lock::acquire() and Lock::run() wait if they are not told
         * @param bool $fair whether those who wait are served in the order in which they came
         * @param int<0, 4503599627370496> $floor every fencing token is larger than this
         * @param string $label what Holder::$label shows of this holder: at most 128 bytes of UTF-8, no line breaks
         * @param int<0, 4294967295> $replicasAck how many replicas must have a grant before it counts; 0 asks none
         * @param int<0, 60000> $ackTimeoutMs how long an acquisition waits for them
         * @throws InvalidArgumentException
         */
        public function lock(
            string $name,
            int $ttlMs = 30000,
            int $waitMs = 0,
            bool $fair = false,
            int $floor = 0,
            string $label = '',
            int $replicasAck = 0,
            int $ackTimeoutMs = 100
        ): Lock {
        }

        /**
         * Makes a handle for several mutexes that are granted all or none, in one call: no order of names can
         * dead-lock. In a cluster the names must lie in one slot. The other parameters are those of lock().
         *
         * @param non-empty-list<non-empty-string> $names at most 100, none twice
         * @throws InvalidArgumentException
         */
        public function lockAll(
            array $names,
            int $ttlMs = 30000,
            int $waitMs = 0,
            bool $fair = false,
            int $floor = 0,
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
            int $floor = 0,
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
            int $floor = 0,
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
            int $floor = 0,
            string $label = '',
            int $replicasAck = 0,
            int $ackTimeoutMs = 100
        ): Lock {
        }

        /**
         * Closes this object: its locks are released, and later calls of it, its limiters and its locks throw
         * ClosedException. The connections are closed too, unless another open client object of this process shares
         * them. There is no need to call it.
         */
        public function close(): void
        {
        }
    }

    /** Decides for keys by one policy. Made by Client::limiter(). */
    final class Limiter
    {
        public readonly string $name;

        /** The policy in its canonical form. */
        public readonly string $policy;

        public readonly ?string $scope;

        /** Whether the policy is enforced. */
        public readonly bool $enforce;

        private function __construct()
        {
        }

        /**
         * Charges `$cost` to every rule if all admit it, else to none. A cost of 0 only looks; one above a limit is
         * denied for ever.
         *
         * @param int<0, 4503599627370496> $cost
         * @param \Stringable|string|int|null $requestId 1 to 256 bytes, such as a UUID: the same id for the same key
         *     gets the first answer again while it is remembered, and is charged once. A denied call is decided anew
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
         * Charges `$estimate` and holds it until Reservation::settle() puts the actual amount in its place, or `$ttlMs`
         * is over. Nothing is held if the call was denied, as `$decision` of the reservation tells.
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
         * The reservation of this id, which reserve() made here or in another process. Nobody is asked whether there is
         * one.
         *
         * @param non-empty-string $id
         * @throws InvalidArgumentException
         */
        public function reservation(\Stringable|string|int $key, string $id): Reservation
        {
        }

        /**
         * Tells what consume() would answer, and never writes.
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
         * chance lies behind `$timeoutMs`. Signal handlers of pcntl_async_signals() run meanwhile.
         *
         * @param int<0, 3153600000000> $timeoutMs
         * @param int<0, 4503599627370496> $cost
         */
        public function wait(\Stringable|string|int $key, int $timeoutMs, int $cost = 1): Decision
        {
        }

        /**
         * Gives back what was consumed; no rule falls below zero. Answers what a peek() right after it would.
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
         * Denies everything for `$durationMs`, in place of an earlier block. Answers what a peek() right after it
         * would. Fails whatever `$onError` says: a block that was not stored must not look like one.
         *
         * @param int<1, 3153600000000> $durationMs
         * @throws UnavailableException
         */
        public function block(\Stringable|string|int $key, int $durationMs): Decision
        {
        }

        /** Forgets everything about the key, a block included; true if there was anything. */
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
     * The answer of a limiter for one key. Of several rules it shows the one that binds: of the denied ones the one
     * with the longest wait, else the one with the least remaining.
     */
    final class Decision
    {
        /** Whether the call was admitted. A denied call was charged nothing. */
        public readonly bool $allowed;

        /** Whether the policy denies, and only its limiter's `$enforce` lets the call pass: it was charged nothing. */
        public readonly bool $wouldDeny;

        public readonly int $limit;

        /** What could be consumed now; 0 while the key is blocked. */
        public readonly int $remaining;

        /** After how long the same call would be admitted if nobody else called: 0 when admitted, null for never. */
        public readonly ?int $retryAfterMs;

        /** After how long the rule that binds is as new, and a block over; `rules` has the others'. */
        public readonly int $resetAfterMs;

        /** The cost that was asked for, or what consumeUpTo() took. */
        public readonly int $cost;

        /**
         * Who answered.
         *
         * @var 'redis'|'memory'|'local'|'open'|'closed'
         */
        public readonly string $source;

        /** Whether a value that was not ours stood at the key and was replaced. */
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
    }

    /** The answer about several keys, charged all or none. */
    final class CombinedDecision
    {
        /** Whether all were admitted, and charged. If not, none was. */
        public readonly bool $allowed;

        /** Whether a limiter that is not enforced denies. */
        public readonly bool $wouldDeny;

        /**
         * The place of the decision that binds: of the denied ones the one with the longest wait, else the one with the
         * least remaining.
         */
        public readonly int $binding;

        /** After how long the same call would be admitted if nobody else called: 0 when admitted, null for never. */
        public readonly ?int $retryAfterMs;

        /**
         * Who answered.
         *
         * @var 'redis'|'memory'|'local'|'open'|'closed'
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
    }

    /** An amount held by Limiter::reserve(). Any process that knows its limiter, key and id can settle it. */
    final class Reservation
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
         * Puts the actual amount in the place of the estimate: what was too much is given back, what was too little is
         * charged whatever the limit. False if the reservation had ended, or was settled with another amount: then
         * nothing changed. Settling again with the same amount is true and changes nothing, so it may be repeated after
         * an error. Fails whatever `$onError` says.
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

    /**
     * A handle for a lock. Made by Client::lock() and its neighbours.
     *
     * A lock is a lease: it ends `$ttlMs` after it was granted or last extended, also if its holder is still at work.
     * Where two holders would do harm, give `$token` to what is protected, and let that refuse smaller ones.
     *
     * It is released by release(), at the end of run(), when this object is freed or its client closed, and at the end
     * of the request, however that ends; of a process that is killed it ends by itself. What is left at the end of a
     * request costs at most 100 ms in all when Redis is away. A handle is not re-entrant; after a fork the child holds
     * nothing of what its parent holds, and releases nothing of it.
     */
    final class Lock
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
         * acquired, or is released. It stays after a loss. This and what follows is what is so at each reading: nobody
         * is asked for it.
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
         * waits; what they throw ends it, as the time limit of the request does. A wait that ends without the lock
         * leaves nothing behind.
         *
         * @param int<0, 3153600000000>|null $waitMs how long to wait for it; null is what the handle was made with
         * @throws InvalidArgumentException if this handle holds it
         * @throws CrossSlotException
         */
        public function acquire(?int $waitMs = null): bool
        {
        }

        /**
         * Releases the lock; false if it was not held any more. After an exception it ends with its ttl at the latest.
         *
         * @throws UnavailableException
         */
        public function release(): bool
        {
        }

        /**
         * Has the lock last for at least `$ttlMs` from now, never for less than it would; false if it was lost.
         *
         * @param int<10, 604800000>|null $ttlMs null is the handle's own
         * @throws UnavailableException
         */
        public function extend(?int $ttlMs = null): bool
        {
        }

        /**
         * Throws unless the lock is held for certain now. Nobody is asked.
         *
         * @throws LostException
         */
        public function assertHeld(): void
        {
        }

        /**
         * Has every later token of this handle be larger than `$floor`: for when what is protected has seen a larger
         * one than the lock gave.
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
         * Takes the lock away from whoever holds it, and tells from how many. For operators: the holders learn of it
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

    /** Who holds a lock, and who waits. */
    final class Inspection
    {
        /** The last fencing token given; 0 if none is remembered. */
        public readonly int $token;

        /** How many wait. */
        public readonly int $waiters;

        /**
         * Those who hold it, the first first.
         *
         * @var list<Holder>
         */
        public readonly array $holders;

        /** Whether a value that is not ours stands at the key: it counts as none. */
        public readonly bool $healed;

        private function __construct()
        {
        }
    }

    /** One who holds a lock. */
    final class Holder
    {
        /** The host it runs on; empty if it did not say. */
        public readonly string $host;

        /** Its process there; 0 if it did not say. */
        public readonly int $pid;

        /** What it calls itself. */
        public readonly string $label;

        /** Its fencing token. */
        public readonly int $token;

        /** How many permits it has. */
        public readonly int $permits;

        /** When it was granted, in milliseconds since the epoch by the server's clock. */
        public readonly int $sinceMs;

        /** When it ends, likewise. */
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

        public readonly int $limit;

        /** What this rule would let be consumed now. */
        public readonly int $remaining;

        /** When this rule would admit the same call: 0 now, null never. */
        public readonly ?int $retryAfterMs;

        /** When this rule is as new. */
        public readonly int $resetAfterMs;

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

    /** For tests of what uses a limiter: a time of one's own, and raw values under its keys. */
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
         * @param int<1, 4503599627370496>|null $micros
         */
        public static function setTime(Client $client, ?int $micros = null): void
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
     * Each server has a twentieth of the ttl to answer. Who waits asks again every 10 to 50 ms. A server that was
     * started less than a ttl ago and keeps no append-only file has no vote.
     *
     * @param non-empty-list<Client> $clients 3 to 15, better an odd number, each of a server of its own
     * @param non-empty-string $name any bytes, at most 1 KiB
     * @param int<10, 604800000> $ttlMs how long a grant lasts unless it is extended
     * @param int<0, 3153600000000> $waitMs how long Lock::acquire() and Lock::run() wait if they are not told
     * @param int<0, 4503599627370496> $floor every fencing token is larger than this
     * @param string $label what Holder::$label shows of this holder: at most 128 bytes of UTF-8, no line breaks
     * @throws InvalidArgumentException
     */
    function quorum_lock(
        array $clients,
        string $name,
        int $ttlMs = 30000,
        int $waitMs = 0,
        int $floor = 0,
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

    /** A value that can never be right: an empty key, a negative cost, a URL that cannot be. */
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

    /** The key in Redis is of a type that is not ours. */
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

        /** The decision behind it. */
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

    /** Whoever was loading the value of a cache has failed, a short time ago. */
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
