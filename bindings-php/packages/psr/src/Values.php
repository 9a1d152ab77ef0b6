<?php

declare(strict_types=1);

namespace Quotalock\Psr;

use Quotalock\Cache;
use Quotalock\Client;

/** Values of any type in a cache of Quotalock's, each with a time to live of its own: what the caches here share. */
final class Values
{
    /** What PSR-6 and PSR-16 reserve. */
    private const RESERVED = '{}()/\@:';

    /** Ten years, the longest that Quotalock keeps a value. */
    private const LONGEST_S = 315_360_000;

    private readonly Cache $cache;

    /**
     * @param non-empty-string $name part of the keys in Redis
     * @param int $seconds how long a value is kept that has no time to live
     */
    public function __construct(
        private readonly Client $client,
        private readonly string $name,
        private readonly int $seconds,
    ) {
        $this->cache = $client->cache($name, freshMs: $seconds * 1000);
    }

    /** @return array{mixed}|null the value, in a list so that it may be null */
    public function find(string $key): ?array
    {
        $seen = $this->cache->peek($key);
        return $seen?->value === null || $seen->stale ? null : [unserialize($seen->value)];
    }

    /** @param int|null $seconds null is the time of the cache; what is over is forgotten */
    public function put(string $key, mixed $value, ?int $seconds): void
    {
        $seconds = min($seconds ?? $this->seconds, self::LONGEST_S);
        if ($seconds <= 0) {
            $this->cache->invalidate($key);
            return;
        }
        $this->cacheOf($seconds)->put($key, serialize($value));
    }

    public function forget(string $key): void
    {
        $this->cache->invalidate($key);
    }

    /** The cache whose values are fresh for so long. */
    public function cacheOf(int $seconds, float $beta = 1.0): Cache
    {
        return $this->client->cache($this->name, freshMs: $seconds * 1000, beta: $beta);
    }

    /** The seconds of a time to live. */
    public static function seconds(mixed $ttl): ?int
    {
        return match (true) {
            $ttl === null, is_int($ttl) => $ttl,
            $ttl instanceof \DateInterval => self::until((new \DateTimeImmutable())->add($ttl)),
            default => throw new InvalidArgument('A time to live is a number of seconds, a DateInterval or null'),
        };
    }

    /** The seconds until then. */
    public static function until(\DateTimeInterface $time): int
    {
        return (int) ceil((float) $time->format('U.u') - microtime(true));
    }

    /** Checks a key as PSR-6 and PSR-16 want it. */
    public static function key(mixed $key): string
    {
        if (!is_string($key) || $key === '') {
            throw new InvalidArgument('A key is a string that is not empty: ' . get_debug_type($key) . ' given');
        }
        if (strpbrk($key, self::RESERVED) !== false) {
            throw new InvalidArgument("The key \"$key\" has one of the reserved characters " . self::RESERVED);
        }
        return $key;
    }
}
