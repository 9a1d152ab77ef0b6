<?php

declare(strict_types=1);

namespace Quotalock\Symfony\Semaphore;

use Quotalock\Client;
use Quotalock\Lock;
use Quotalock\Symfony\Lease;
use Symfony\Component\Semaphore\Exception\InvalidArgumentException;
use Symfony\Component\Semaphore\Exception\SemaphoreAcquiringException;
use Symfony\Component\Semaphore\Exception\SemaphoreExpiredException;
use Symfony\Component\Semaphore\Key;
use Symfony\Component\Semaphore\PersistingStoreInterface;

/** A store for Symfony's Semaphore. Each resource is a semaphore of Quotalock's, `$client->semaphore($resource, ...)`. */
final class SemaphoreStore implements PersistingStoreInterface
{
    public function __construct(private readonly Client $client)
    {
    }

    public function save(Key $key, float $ttlInSecond): void
    {
        if ($this->exists($key)) {
            return;
        }
        $lock = $this->semaphore($key, self::milliseconds($ttlInSecond));
        if (!$lock->acquire()) {
            throw new SemaphoreAcquiringException($key, 'its permits are taken');
        }
        $key->setState(self::class, new Lease($lock));
    }

    public function delete(Key $key): void
    {
        $lease = self::lease($key);
        $key->removeState(self::class);
        $lease?->release($this->client, (string) $key);
    }

    public function exists(Key $key): bool
    {
        return self::lease($key)?->isHeld($this->semaphore($key)) ?? false;
    }

    public function putOffExpiration(Key $key, float $ttlInSecond): void
    {
        $lease = self::lease($key) ?? throw new SemaphoreExpiredException($key, 'it is not held');
        if (!$lease->renew($this->client, (string) $key, self::milliseconds($ttlInSecond))) {
            $key->removeState(self::class);
            throw new SemaphoreExpiredException($key, 'it was lost');
        }
    }

    private function semaphore(Key $key, int $ttlMs = 30_000): Lock
    {
        return $this->client->semaphore((string) $key, $key->getLimit(), $key->getWeight(), $ttlMs);
    }

    private static function lease(Key $key): ?Lease
    {
        return $key->hasState(self::class) ? $key->getState(self::class) : null;
    }

    private static function milliseconds(float $ttl): int
    {
        if ($ttl < 0) {
            throw new InvalidArgumentException("The TTL should be greater than 0, '$ttl' given.");
        }
        return max((int) ceil($ttl * 1000), 10);
    }
}
