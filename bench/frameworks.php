<?php

/**
 * Measures the packages for PHP frameworks beside what they replace, in one process on one Redis: calls a second, and
 * what the slowest of a hundred takes. `make bench-frameworks-php` runs it.
 */

declare(strict_types=1);

namespace Quotalock\Bench;

use Illuminate\Cache\CacheServiceProvider;
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

require __DIR__ . '/../tests/frameworks/php/autoload.php';

const ROUNDS = 15;
const CALLS = 200;

$url = json_decode((string) getenv('QUOTALOCK_TEST_SERVERS'), true)['redis-7.0'];
$redis = new \Redis();
$redis->connect((string) parse_url($url, PHP_URL_HOST), (int) parse_url($url, PHP_URL_PORT));
$client = new Client($url, 'bench');

$app = new Application(sys_get_temp_dir());
$host = ['host' => parse_url($url, PHP_URL_HOST), 'port' => parse_url($url, PHP_URL_PORT), 'database' => 0];
$app->instance('config', new Config(['cache' => ['default' => 'array'], 'quotalock' => ['problem' => false]]));
Facade::setFacadeApplication($app);
$app->register(CacheServiceProvider::class);
$manager = new RedisManager($app, 'phpredis', ['default' => $host, 'options' => ['prefix' => '']]);
$request = Request::create('/');
$request->setRouteResolver(fn () => new class {
    /** As of a route without a domain. */
    public function getDomain(): string
    {
        return '';
    }
});
$next = fn () => new Response('yes');
$cache = new Repository(new LaravelRedisStore($manager, 'laravel:'));
$theirs = new LaravelThrottleRequests(new LaravelRateLimiter($cache));
$ours = new ThrottleRequests(new RateLimiter($client), new Decider($client));
$windows = ['id' => 'bench', 'policy' => 'sliding_window', 'limit' => 1_000_000, 'interval' => '1 hour'];
$locked = new LockFactory(new RedisStore($redis));
$stock = new RateLimiterFactory($windows, new CacheStorage(new RedisAdapter($redis)), $locked);
$factory = new LimiterFactory($client, $windows);
$lock = function (object $store): void {
    $lock = new Lock(new Key('bench'), $store, 30);
    $lock->acquire();
    $lock->release();
};

$rivals = [
    'Laravel throttle' => [
        fn () => $theirs->handle($request, $next, 1_000_000, 60),
        fn () => $ours->handle($request, $next, 1_000_000, 60),
    ],
    'Symfony limiter with lock' => [
        fn () => $stock->create('key')->consume(),
        fn () => $factory->create('key')->consume(),
    ],
    'Symfony lock, acquired and released' => [
        fn () => $lock(new RedisStore($redis)),
        fn () => $lock(new LockStore($client)),
    ],
];

printf("%-36s %12s %12s %7s %14s\n", '', 'theirs/s', 'Quotalock/s', 'times', 'p99 in ms');
foreach ($rivals as $name => $pair) {
    $times = [[], []];
    array_map(fn (\Closure $call) => $call(), $pair);
    for ($round = 0; $round < ROUNDS; $round++) {
        foreach ($pair as $n => $call) {
            for ($i = 0; $i < CALLS; $i++) {
                $start = hrtime(true);
                $call();
                $times[$n][] = (hrtime(true) - $start) / 1e6;
            }
        }
    }
    array_walk($times, fn (array &$each) => sort($each));
    // By the median, since somebody else may use the machine.
    $rates = array_map(fn (array $each): float => 1000 / $each[intdiv(count($each), 2)], $times);
    $late = array_map(fn (array $each): float => $each[intdiv(count($each) * 99, 100)], $times);
    printf("%-36s %12.0f %12.0f %7.1f %6.2f / %5.2f\n", $name, ...$rates, ...[$rates[1] / $rates[0]], ...$late);
}
