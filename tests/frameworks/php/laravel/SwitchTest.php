<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Laravel;

use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\RedisStore;
use Illuminate\Cache\Repository;
use Illuminate\Redis\RedisManager;
use Illuminate\Support\Facades\Cache;
use Orchestra\Testbench\TestCase;
use Quotalock\Laravel\RateLimiter;

use function Quotalock\Tests\prefix;
use function Quotalock\Tests\redis;
use function Quotalock\Tests\server;

/** What docs/frameworks/laravel.md says of a deployment, while servers with Laravel's own cache work beside the new ones. */
final class SwitchTest extends TestCase
{
    private string $before;

    private RedisStore $old;

    protected function setUp(): void
    {
        parent::setUp();
        $host = ['host' => parse_url(server(), PHP_URL_HOST), 'port' => parse_url(server(), PHP_URL_PORT)];
        $this->before = prefix();
        $settings = ['default' => $host + ['database' => 0], 'options' => ['prefix' => '']];
        $manager = new RedisManager($this->app, 'phpredis', $settings);
        $this->old = new RedisStore($manager, $this->before);
    }

    public function testBothCountSoThatTwiceTheLimitMayPassAndNoMore(): void
    {
        $old = new LaravelRateLimiter(new Repository($this->old));
        $new = $this->app->make(RateLimiter::class);
        $passed = 0;
        for ($i = 0; $i < 5; $i++) {
            foreach ([$old, $new] as $limiter) {
                $passed += (int) $limiter->attempt('login', 2, fn () => true, 60);
            }
        }
        self::assertSame(4, $passed, 'how many passed');
        foreach (redis(server())->keys("$this->before*") as $key) {
            $left = redis(server())->ttl($key);
            self::assertTrue($left > 0 && $left <= 60, "that $key ends by itself, in $left s");
        }
    }

    public function testALockOfTheOldKeepsNoNewOneOutAndEndsByItselfIfItHasSeconds(): void
    {
        $redis = redis(server());
        $ttl = fn (string $name) => $redis->ttl($redis->keys("$this->before*$name")[0]);
        $lock = $this->old->lock('report', 60);
        self::assertTrue($lock->get(), 'whether the old has it');
        self::assertFalse(Cache::restoreLock('report', $lock->owner())->release(), 'whether the new knows its owner');
        self::assertTrue(Cache::lock('report', 60)->get(), 'whether the new has it too');
        self::assertFalse(Cache::lock('report', 60)->get(), 'whether another new one has it');
        self::assertTrue($ttl('report') > 0, 'that it ends by itself');
        self::assertTrue($this->old->lock('forever')->get(), 'whether the old has one without seconds');
        self::assertSame(-1, $ttl('forever'), 'when that ends');
    }

    public function testWhatTheOldCachedIsLoadedAnew(): void
    {
        $this->old->put('page', 'old', 60);
        self::assertNull(Cache::get('page'), 'what the new has');
        self::assertSame('new', Cache::remember('page', 60, fn () => 'new'), 'what it loads');
        self::assertSame('old', $this->old->get('page'), 'what the old still has');
    }
}
