<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Symfony;

use PHPUnit\Framework\TestCase;
use Quotalock\Symfony\Lock\LockStore;
use Quotalock\Symfony\RateLimiter\LimiterFactory;
use Symfony\Component\Cache\Adapter\RedisAdapter;
use Symfony\Component\Lock\Key;
use Symfony\Component\Lock\Lock;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\CacheStorage;

use function Quotalock\Tests\client;
use function Quotalock\Tests\prefix;
use function Quotalock\Tests\redis;
use function Quotalock\Tests\server;

/** What docs/frameworks/symfony.md says of a deployment, while servers with Symfony's own stores work beside the new ones. */
final class SwitchTest extends TestCase
{
    /** @return iterable<string, array{array<string, mixed>}> */
    public static function policies(): iterable
    {
        yield 'fixed_window' => [['policy' => 'fixed_window', 'interval' => '1 hour']];
        yield 'sliding_window' => [['policy' => 'sliding_window', 'interval' => '1 hour']];
        yield 'token_bucket' => [['policy' => 'token_bucket', 'rate' => ['interval' => '1 hour', 'amount' => 2]]];
    }

    /** @dataProvider policies */
    public function testBothCountSoThatTwiceTheLimitMayPassAndNoMore(array $policy): void
    {
        $before = prefix();
        $config = $policy + ['id' => 'api', 'limit' => 2];
        $locks = new LockFactory(new RedisStore(redis(server())));
        $storage = new CacheStorage(new RedisAdapter(redis(server()), $before));
        $old = new RateLimiterFactory($config, $storage, $locks);
        $new = new LimiterFactory(client(server()), $config);
        $passed = 0;
        for ($i = 0; $i < 5; $i++) {
            foreach ([$old, $new] as $factory) {
                $passed += (int) $factory->create('ada')->consume()->isAccepted();
            }
        }
        self::assertSame(4, $passed, 'how many passed');
        $keys = redis(server())->keys("$before*");
        self::assertNotSame([], $keys, 'what the old keeps');
        foreach ($keys as $key) {
            self::assertTrue(redis(server())->ttl($key) > 0, "that $key ends by itself");
        }
    }

    public function testALockOfTheOldKeepsNoNewOneOutAndEndsByItself(): void
    {
        $name = prefix();
        $acquire = fn (object $store): bool => (new Lock(new Key($name), $store, 60, false))->acquire();
        [$old, $new] = [new RedisStore(redis(server())), new LockStore(client(server()))];
        self::assertSame([true, true], [$acquire($old), $acquire($new)], 'who has it');
        self::assertSame([false, false], [$acquire($old), $acquire($new)], 'who else has it');
        $key = new Key("$name-passed-on");
        (new Lock($key, $old, 60, false))->acquire();
        $passed = unserialize(serialize($key));
        self::assertSame([true, false], [$old->exists($passed), $new->exists($passed)], 'who knows what was passed on');
        $left = redis(server())->ttl($name);
        self::assertTrue($left > 0 && $left <= 60, "that the old one ends by itself, in $left s");
    }
}
