<?php

declare(strict_types=1);

namespace Quotalock\Symfony\Lock;

use Quotalock\Client;
use Quotalock\Symfony\Lease;
use Symfony\Component\Lock\BlockingSharedLockStoreInterface;
use Symfony\Component\Lock\BlockingStoreInterface;
use Symfony\Component\Lock\Exception\InvalidArgumentException;
use Symfony\Component\Lock\Exception\InvalidTtlException;
use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\Exception\LockExpiredException;
use Symfony\Component\Lock\Key;

/**
 * A store for Symfony's Lock. Each resource is a read-write lock of Quotalock's, `$client->writeLock($resource)` and
 * `readLock($resource)`, which programs in every language share.
 *
 * Waiting does not poll. A key can be serialised while it is held: whoever uses the copy first takes the lock over, and
 * the other copies have lost it.
 */
final class LockStore implements BlockingSharedLockStoreInterface, BlockingStoreInterface
{
    /** A hundred years. */
    private const FOREVER_MS = 3_153_600_000_000;

    private readonly int $initialMs;

    /** @param float $initialTtl seconds that a lock lasts unless it was made with a ttl; 0.01 to a week */
    public function __construct(private readonly Client $client, float $initialTtl = 300.0)
    {
        $this->initialMs = self::milliseconds($initialTtl);
        if ($initialTtl < 0.01 || $initialTtl > 604_800) {
            throw new InvalidTtlException("The initial ttl of a lock is 0.01 s to 604800 s: not $initialTtl s.");
        }
    }

    public function save(Key $key): void
    {
        $this->acquire($key, true, 0);
    }

    public function saveRead(Key $key): void
    {
        $this->acquire($key, false, 0);
    }

    public function waitAndSave(Key $key): void
    {
        $this->acquire($key, true, self::FOREVER_MS);
    }

    public function waitAndSaveRead(Key $key): void
    {
        $this->acquire($key, false, self::FOREVER_MS);
    }

    public function putOffExpiration(Key $key, float $ttl): void
    {
        $lease = self::lease($key) ?? throw new LockConflictedException("The lock \"$key\" is not held.");
        $ttlMs = max(self::milliseconds($ttl), 10);
        $left = $lease->left($ttlMs);
        if ($left !== null) {
            // Symfony asks for the ttl of each lock right after its grant: this one has it.
            $key->reduceLifetime($left);
            return;
        }
        $key->reduceLifetime($ttl);
        $renewed = $lease->renew($this->client, (string) $key, $ttlMs);
        $this->checkNotExpired($key);
        if (!$renewed) {
            $key->removeState(self::class);
            throw new LockConflictedException("The lock \"$key\" was lost.");
        }
    }

    public function delete(Key $key): void
    {
        $lease = self::lease($key);
        $key->removeState(self::class);
        $lease?->release($this->client, (string) $key);
    }

    public function exists(Key $key): bool
    {
        return self::lease($key)?->isHeld($this->client->writeLock((string) $key)) ?? false;
    }

    private function acquire(Key $key, bool $write, int $waitMs): void
    {
        $key->reduceLifetime($this->initialMs / 1000);
        [$lease, $name] = [self::lease($key), (string) $key];
        if ($lease !== null && $lease->isWrite === $write && $lease->renew($this->client, $name, $this->initialMs)) {
            $this->checkNotExpired($key);
            return;
        }
        if ($lease !== null && $lease->isWrite !== $write && $this->exists($key)) {
            throw new InvalidArgumentException(sprintf(
                'The lock "%s" is held for %s and cannot change sides in one step: release it first, then acquire it.',
                $key,
                $write ? 'reading' : 'writing',
            ));
        }
        $key->removeState(self::class);
        $lock = $write
            ? $this->client->writeLock($name, $this->initialMs)
            : $this->client->readLock($name, $this->initialMs);
        $began = hrtime(true);
        if (!$lock->acquire($waitMs)) {
            throw new LockConflictedException("The lock \"$key\" is held by others.");
        }
        if ($waitMs > 0) {
            // The lease begins when it is granted, not when the waiting does.
            $key->resetLifetime();
            $key->reduceLifetime($this->initialMs / 1000);
        }
        $key->setState(self::class, new Lease($lock, $write, $waitMs > 0 ? null : $began));
        $this->checkNotExpired($key);
    }

    private static function lease(Key $key): ?Lease
    {
        return $key->hasState(self::class) ? $key->getState(self::class) : null;
    }

    private function checkNotExpired(Key $key): void
    {
        if ($key->isExpired()) {
            $this->delete($key);
            throw new LockExpiredException("The lock \"$key\" was over before it was stored.");
        }
    }

    private static function milliseconds(float $seconds): int
    {
        return (int) ceil($seconds * 1000);
    }
}
