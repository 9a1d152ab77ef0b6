<?php

/** Symfony's lock and cache on Redis. */

declare(strict_types=1);

namespace Quotalock\Survive;

use Symfony\Component\Cache\Adapter\RedisAdapter;
use Symfony\Component\Cache\LockRegistry;
use Symfony\Component\HttpKernel\Kernel;
use Symfony\Component\Lock\Exception\LockReleasingException;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\LockInterface;
use Symfony\Component\Lock\Store\RedisStore;

require __DIR__ . '/frameworks.php';

final class Symfony extends Adapter
{
    public const NAME = 'Symfony';

    private LockFactory $locks;
    private RedisAdapter $cache;

    public function __construct(string $url, float $timeout)
    {
        $this->locks = new LockFactory(new RedisStore(redis($url, $timeout)));
        $this->cache = new RedisAdapter(redis($url, $timeout));
        // Its lock against stampedes, as under php-fpm: a command has none unless it asks for it.
        $this->cache->setCallbackWrapper([LockRegistry::class, 'compute']);
    }

    public static function version(): string
    {
        return Kernel::VERSION;
    }

    public function acquire(string $name, float $seconds): ?LockInterface
    {
        $lock = $this->locks->createLock($name, $seconds, false);
        return $lock->acquire() ? $lock : null;
    }

    public function held(object $lock): bool
    {
        return $lock->isAcquired();
    }

    public function release(object $lock): bool
    {
        try {
            $lock->release();
        } catch (LockReleasingException) {
            return false;
        }
        return true;
    }

    public function read(string $key, int $seconds, \Closure $load): string
    {
        return $this->cache->get($key, fn ($item) => $item->expiresAfter($seconds) ? $load() : '');
    }
}

serve(Symfony::class);
