<?php

/** The packages for PHP frameworks and what they replace, each as a function that makes what calls one of them. */

declare(strict_types=1);

namespace Quotalock\Bench;

use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\RedisStore as LaravelRedisStore;
use Illuminate\Cache\Repository;
use Illuminate\Config\Repository as Config;
use Illuminate\Foundation\Application;
use Illuminate\Http\Request;
use Illuminate\Http\Response;
use Illuminate\Redis\RedisManager;
use Illuminate\Routing\Middleware\ThrottleRequests as LaravelThrottleRequests;
use Illuminate\Support\Facades\Facade;
use Quotalock\Client;
use Quotalock\Laravel\Decider;
use Quotalock\Laravel\RateLimiter;
use Quotalock\Laravel\ThrottleRequests;
use Quotalock\Symfony\Lock\LockStore;
use Quotalock\Symfony\RateLimiter\LimiterFactory;
use Symfony\Component\Cache\Adapter\RedisAdapter;
use Symfony\Component\Lock\Key;
use Symfony\Component\Lock\Lock;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\CacheStorage;

require __DIR__ . '/../../tests/frameworks/php/autoload.php';

const RIVALS = [
    'Laravel throttle' => 'throttle',
    'Laravel throttle, with prefetch' => 'leased',
    'Symfony limiter with lock' => 'limiter',
    'Symfony lock, acquired and released' => 'lock',
];

/** A connection of phpredis that outlives the request, as Quotalock's do. */
function redis(string $url): \Redis
{
    $redis = new \Redis();
    $redis->pconnect((string) parse_url($url, PHP_URL_HOST), (int) parse_url($url, PHP_URL_PORT));
    return $redis;
}

/** The middleware `throttle` of one limit, around a controller that answers at once. */
function throttle(string $url, bool $ours, array $leases = []): \Closure
{
    $app = new Application(sys_get_temp_dir());
    $app->instance('config', new Config(['quotalock' => ['problem' => false]]));
    Facade::setFacadeApplication($app);
    $request = Request::create('/');
    $request->setRouteResolver(fn () => new class {
        /** As of a route without a domain. */
        public function getDomain(): string
        {
            return '';
        }
    });
    if ($ours) {
        $client = new Client($url, 'bench');
        $middleware = new ThrottleRequests(new RateLimiter($client), new Decider($client, false, $leases));
    } else {
        $host = ['host' => parse_url($url, PHP_URL_HOST), 'port' => parse_url($url, PHP_URL_PORT), 'database' => 0];
        $settings = ['default' => $host + ['persistent' => true], 'options' => ['prefix' => '']];
        $store = new LaravelRedisStore(new RedisManager($app, 'phpredis', $settings), 'laravel:');
        $middleware = new LaravelThrottleRequests(new LaravelRateLimiter(new Repository($store)));
    }
    return fn () => $middleware->handle($request, fn () => new Response('yes'), 1_000_000, 60);
}

/** The same; ours takes permits ahead. */
function leased(string $url, bool $ours): \Closure
{
    return throttle($url, $ours, ['throttle' => 50]);
}

/** A limiter of `framework.rate_limiter`, with a lock as it should be. */
function limiter(string $url, bool $ours): \Closure
{
    $config = ['id' => 'bench', 'policy' => 'sliding_window', 'limit' => 1_000_000, 'interval' => '1 hour'];
    if ($ours) {
        $factory = new LimiterFactory(new Client($url, 'bench'), $config);
    } else {
        $locks = new LockFactory(new RedisStore(redis($url)));
        $factory = new RateLimiterFactory($config, new CacheStorage(new RedisAdapter(redis($url))), $locks);
    }
    // Of a thousand users: on one alone Symfony's requests would wait for each other.
    return fn () => $factory->create('user' . random_int(1, 1000))->consume();
}

/** A lock of `framework.lock` that each request has for itself. */
function lock(string $url, bool $ours): \Closure
{
    $store = $ours ? new LockStore(new Client($url, 'bench')) : new RedisStore(redis($url));
    return function () use ($store): void {
        $lock = new Lock(new Key('bench' . getmypid()), $store);
        $lock->acquire();
        $lock->release();
    };
}
