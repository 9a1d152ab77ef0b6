<?php

/** Laravel's limiter, lock and cache on Redis: `RateLimiter::attempt`, `Cache::lock`, `Cache::remember`. */

declare(strict_types=1);

namespace Quotalock\Survive;

use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\RedisStore;
use Illuminate\Cache\Repository;
use Illuminate\Contracts\Cache\Lock;
use Illuminate\Foundation\Application;
use Illuminate\Redis\RedisManager;

require __DIR__ . '/frameworks.php';

final class Laravel extends Adapter
{
    public const NAME = 'Laravel';

    private Repository $cache;

    public function __construct(string $url, float $timeout)
    {
        $server = ['host' => parse_url($url, PHP_URL_HOST), 'port' => parse_url($url, PHP_URL_PORT)];
        $settings = ['default' => $server + ['timeout' => $timeout, 'read_timeout' => $timeout]];
        $this->cache = new Repository(new RedisStore(new RedisManager(null, 'phpredis', $settings), 'laravel'));
    }

    public static function version(): string
    {
        return Application::VERSION;
    }

    public function consume(string $key, int $limit, int $seconds, string $request): bool
    {
        return (bool) (new RateLimiter($this->cache))->attempt($key, $limit, fn () => true, $seconds);
    }

    public function acquire(string $name, float $seconds): ?Lock
    {
        $lock = $this->cache->lock($name, (int) ceil($seconds));
        return $lock->get() ? $lock : null;
    }

    public function release(object $lock): bool
    {
        return (bool) $lock->release();
    }

    public function read(string $key, int $seconds, \Closure $load): string
    {
        return $this->cache->remember($key, $seconds, $load);
    }
}

serve(Laravel::class);
