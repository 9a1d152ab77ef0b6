<?php

/**
 * PHP's libraries, each by its own public API in its fastest sensible setting.
 *
 * To add one: a function that takes the task and returns what makes a call for a key and says whether it was admitted;
 * then a line in `LIMITERS`, and one in `peers.py`. A lock is what acquires a key without waiting and returns a handle,
 * or null, and what releases it. A cache is what gets the value of a key, or of a function where there is none.
 */

declare(strict_types=1);

namespace Quotalock\Bench\Compare;

use Illuminate\Cache\ArrayStore;
use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\RedisStore as LaravelRedisStore;
use Illuminate\Cache\Repository;
use Illuminate\Foundation\Application;
use Illuminate\Redis\Connections\Connection;
use Illuminate\Redis\Limiters\DurationLimiter;
use Illuminate\Redis\RedisManager;
use Symfony\Component\Cache\Adapter\RedisAdapter;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\CacheStorage;
use Symfony\Component\RateLimiter\Storage\InMemoryStorage;

const ARTICLE = __DIR__ . '/article.lua';
const DAY = 86_400;
/** So many permits are taken at a time by those who prefetch. */
const PREFETCH = 100;
const FRAMEWORKS = 'laravel-10 symfony-6.4 psr-cache-3 psr-log-3 psr-simple-cache-3';

/** What to call; see common.py. */
final class Task
{
    public function __construct(
        public readonly string $client,
        public readonly string $kind,
        public readonly int $port,
        public readonly string $socket,
        public readonly string $prefix,
        public readonly int $limit,
        public readonly int $rules,
        public readonly string $keys,
        public readonly string $turns,
        public readonly int $lanes,
        public readonly int $check,
    ) {
    }
}

/** Loads what Composer would. */
function frameworks(): void
{
    putenv('QUOTALOCK_FRAMEWORKS=' . FRAMEWORKS);
    require_once __DIR__ . '/../../../tests/frameworks/php/autoload.php';
}

function client(Task $task): \Quotalock\Client
{
    $url = match ($task->client) {
        'quotalock-memory' => 'memory://',
        'quotalock-unix' => "unix://$task->socket",
        default => "redis://127.0.0.1:$task->port",
    };
    return new \Quotalock\Client($url, prefix: $task->prefix, timeoutMs: 5000);
}

/** A connection that outlives the request in php-fpm. */
function phpredis(Task $task): \Redis
{
    $redis = new \Redis();
    if ($task->client === 'phpredis-unix') {
        $redis->pconnect($task->socket);
    } else {
        $redis->pconnect('127.0.0.1', $task->port);
    }
    return $redis;
}

function laravel_redis(Task $task): RedisManager
{
    $host = ['host' => '127.0.0.1', 'port' => $task->port, 'database' => 0, 'persistent' => true];
    $settings = ['default' => $host, 'options' => ['prefix' => '']];
    return new RedisManager(new Application(sys_get_temp_dir()), 'phpredis', $settings);
}

function quotalock(Task $task): \Closure
{
    $prefetch = $task->client === 'quotalock-lease' ? min(PREFETCH, $task->limit) : null;
    $limiter = client($task)->limiter('compare', "$task->limit/day", prefetch: $prefetch);
    return fn (string $key): bool => $limiter->consume($key)->allowed;
}

function article(Task $task): \Closure
{
    $redis = phpredis($task);
    // In php-fpm the hash is known beforehand.
    $sha = getenv('COMPARE_SHA') ?: $redis->script('load', file_get_contents(ARTICLE));
    [$limit, $prefix] = [$task->limit, "$task->prefix:"];
    return fn (string $key): bool => $redis->evalSha($sha, [$prefix . $key, $limit, DAY * 1000], 1) === 1;
}

function predis(Task $task): \Closure
{
    require_once __DIR__ . '/../../../target/frameworks/php/predis/autoload.php';
    $server = ['host' => '127.0.0.1', 'port' => $task->port, 'persistent' => true, 'tcp_nodelay' => true];
    $redis = new \Predis\Client($server);
    [$sha, $limit, $prefix] = [$redis->script('load', file_get_contents(ARTICLE)), $task->limit, "$task->prefix:"];
    return fn (string $key): bool => $redis->evalsha($sha, 1, $prefix . $key, $limit, DAY * 1000) === 1;
}

function symfony(Task $task): \Closure
{
    frameworks();
    $config = ['id' => 'compare', 'policy' => 'fixed_window', 'limit' => $task->limit, 'interval' => '1 day'];
    $locks = $task->client === 'symfony-lock' ? new LockFactory(new RedisStore(phpredis($task))) : null;
    $storage = $task->client === 'symfony-memory'
        ? new InMemoryStorage()
        : new CacheStorage(new RedisAdapter(phpredis($task), $task->prefix));
    $factory = new RateLimiterFactory($config, $storage, $locks);
    return fn (string $key): bool => $factory->create($key)->consume()->isAccepted();
}

function laravel(Task $task): \Closure
{
    frameworks();
    $redis = laravel_redis($task);
    $store = $task->client === 'laravel-memory' ? new ArrayStore() : new LaravelRedisStore($redis, "$task->prefix:");
    $limiter = new LaravelRateLimiter(new Repository($store));
    $limit = $task->limit;
    $hit = fn (): bool => true;
    return fn (string $key): bool => $limiter->attempt($key, $limit, $hit, DAY) === true;
}

/** What `Redis::throttle` makes. */
function laravel_throttle(Task $task): \Closure
{
    frameworks();
    /** @var Connection $redis */
    $redis = laravel_redis($task)->connection();
    [$limit, $prefix] = [$task->limit, "$task->prefix:"];
    return fn (string $key): bool => (new DurationLimiter($redis, $prefix . $key, $limit, DAY))->acquire();
}

/** @return array{\Closure, \Closure} */
function quotalock_lock(Task $task): array
{
    $client = client($task);
    return [
        function (string $key) use ($client): ?object {
            $lock = $client->lock($key, ttlMs: 30_000);
            return $lock->acquire() ? $lock : null;
        },
        fn (object $lock) => $lock->release(),
    ];
}

/** @return array{\Closure, \Closure} */
function symfony_lock(Task $task): array
{
    frameworks();
    $factory = new LockFactory(new RedisStore(phpredis($task)));
    $prefix = "$task->prefix:";
    return [
        function (string $key) use ($factory, $prefix): ?object {
            $lock = $factory->createLock($prefix . $key, 30.0, false);
            return $lock->acquire() ? $lock : null;
        },
        fn (object $lock) => $lock->release(),
    ];
}

/** @return array{\Closure, \Closure} */
function laravel_lock(Task $task): array
{
    frameworks();
    $store = new LaravelRedisStore(laravel_redis($task), "$task->prefix:");
    return [
        function (string $key) use ($store): ?object {
            $lock = $store->lock($key, 30);
            return $lock->get() ? $lock : null;
        },
        fn (object $lock) => $lock->release(),
    ];
}

function quotalock_cache(Task $task): \Closure
{
    $cache = client($task)->cache('compare', freshMs: DAY * 1000);
    return fn (string $key, \Closure $load): string => (string) $cache->get($key, $load);
}

function symfony_cache(Task $task): \Closure
{
    frameworks();
    $cache = new RedisAdapter(phpredis($task), $task->prefix, DAY);
    return fn (string $key, \Closure $load): string => $cache->get($key, $load);
}

function laravel_cache(Task $task): \Closure
{
    frameworks();
    $cache = new Repository(new LaravelRedisStore(laravel_redis($task), "$task->prefix:"));
    return fn (string $key, \Closure $load): string => $cache->remember($key, DAY, $load);
}

const LIMITERS = [
    'quotalock' => 'quotalock',
    'quotalock-memory' => 'quotalock',
    'quotalock-unix' => 'quotalock',
    'quotalock-lease' => 'quotalock',
    'phpredis' => 'article',
    'phpredis-unix' => 'article',
    'predis' => 'predis',
    'symfony' => 'symfony',
    'symfony-lock' => 'symfony',
    'symfony-memory' => 'symfony',
    'laravel' => 'laravel',
    'laravel-memory' => 'laravel',
    'laravel-throttle' => 'laravel_throttle',
];
const LOCKS = ['quotalock' => 'quotalock_lock', 'symfony' => 'symfony_lock', 'laravel' => 'laravel_lock'];
const CACHES = ['quotalock' => 'quotalock_cache', 'symfony' => 'symfony_cache', 'laravel' => 'laravel_cache'];

/** What PHP and the peer call themselves. */
function versions(string $client): string
{
    $frameworks = __DIR__ . '/../../../target/frameworks/php';
    $told = match (strtok($client, '-')) {
        'quotalock' => 'quotalock ' . phpversion('ratelimit'),
        'predis' => 'predis ' . \Predis\Client::VERSION,
        'symfony' => 'Symfony ' . release("$frameworks/symfony-6.4/src/Symfony/Component/HttpKernel/Kernel.php")
            . ', phpredis ' . phpversion('redis'),
        'laravel' => 'Laravel ' . Application::VERSION . ', phpredis ' . phpversion('redis'),
        default => 'phpredis ' . phpversion('redis'),
    };
    return 'PHP ' . PHP_VERSION . ", $told";
}

/** The version that a file of Symfony's says. */
function release(string $file): string
{
    preg_match("/const VERSION = '([^']+)'/", (string) file_get_contents($file), $found);
    return $found[1] ?? '6.4';
}
