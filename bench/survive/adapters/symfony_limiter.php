<?php

/** Symfony RateLimiter with its fixed window on Redis; with the argument `locked` under a lock, as its guide advises. */

declare(strict_types=1);

namespace Quotalock\Survive;

use Symfony\Component\Cache\Adapter\RedisAdapter;
use Symfony\Component\HttpKernel\Kernel;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\CacheStorage;

require __DIR__ . '/frameworks.php';

define('Quotalock\\Survive\\LOCKED', ($argv[1] ?? '') === 'locked');

final class SymfonyLimiter extends Adapter
{
    public const NAME = LOCKED ? 'Symfony RateLimiter with lock' : 'Symfony RateLimiter';

    private CacheStorage $storage;
    private ?LockFactory $locks;

    public function __construct(string $url, float $timeout)
    {
        $this->storage = new CacheStorage(new RedisAdapter(redis($url, $timeout)));
        $this->locks = LOCKED ? new LockFactory(new RedisStore(redis($url, $timeout))) : null;
    }

    public static function version(): string
    {
        return Kernel::VERSION;
    }

    public function consume(string $key, int $limit, int $seconds, string $request): bool
    {
        $config = ['id' => 'survive', 'policy' => 'fixed_window', 'limit' => $limit, 'interval' => "$seconds seconds"];
        return (new RateLimiterFactory($config, $this->storage, $this->locks))->create($key)->consume()->isAccepted();
    }
}

serve(SymfonyLimiter::class);
