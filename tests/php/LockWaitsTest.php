<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Lock;

/** Locks that processes wait for: who gets them next, and how soon. */
final class LockWaitsTest extends TestCase
{
    /** @dataProvider servers */
    public function testAProcessThatWaitsGetsItSoonAfterAnotherReleasesIt(string $url): void
    {
        $prefix = prefix();
        $lock = (new Client($url, $prefix))->lock('n');
        $lock->acquire();
        $child = forked(function () use ($url, $prefix) {
            $lock = (new Client($url, $prefix))->lock('n');
            $got = [];
            for ($round = 0; $round < 5; $round++) {
                $got[] = $lock->acquire(10_000);
                $got[] = hrtime(true);
                $lock->release();
            }
            return $got;
        });
        waiters($lock, 1);
        usleep(200_000);
        $freed = 0;
        $got = [];
        $stalls = stalls(function () use ($lock, $child, &$freed, &$got) {
            $freed = hrtime(true);
            $lock->release();
            $got = $child();
        });
        self::assertSame(array_fill(0, 5, true), array_values(array_filter($got, is_bool(...))), 'what it got');
        $late = ($got[1] - $freed) / 1e6;
        // Without a hint it would look again after 800 ms at the earliest.
        self::assertTrue($late > 0 && $late < 700 + $stalls, "that it got it after $late ms");
    }

    /** @dataProvider servers */
    public function testProcessesThatWaitInOrderGetItInOrder(string $url): void
    {
        $prefix = prefix();
        $lock = (new Client($url, $prefix))->lock('n', fair: true);
        $lock->acquire();
        $children = [];
        for ($place = 1; $place <= 4; $place++) {
            $children[] = forked(function () use ($url, $prefix) {
                $lock = (new Client($url, $prefix))->lock('n', fair: true);
                return $lock->run(fn (Lock $lock) => $lock->token, 20_000);
            });
            waiters($lock, $place);
        }
        $lock->release();
        $tokens = array_map(fn (\Closure $child) => $child(), $children);
        $sorted = $tokens;
        sort($sorted);
        self::assertSame($sorted, $tokens, 'the tokens in the order in which they came');
    }

    /** @dataProvider servers */
    public function testManyProcessesAreNeverInItTogether(string $url): void
    {
        $prefix = prefix();
        $redis = new Connection($url);
        $children = [];
        for ($worker = 0; $worker < 6; $worker++) {
            $children[] = forked(function () use ($url, $prefix) {
                $lock = (new Client($url, $prefix))->lock('n');
                $redis = new Connection($url);
                for ($i = 0; $i < 20; $i++) {
                    $lock->run(function () use ($redis, $prefix) {
                        self::assertSame(1, $redis->incr("$prefix:inside"), 'how many are in it');
                        usleep(500);
                        $redis->decr("$prefix:inside");
                        $redis->incr("$prefix:done");
                    }, 20_000);
                }
                return true;
            });
        }
        array_map(fn (\Closure $child) => $child(), $children);
        self::assertSame('120', $redis->get("$prefix:done"), 'how often they were');
    }

    public function testAProcessWaitsOnOneSubscriptionWhichItKeepsForTheNextWait(): void
    {
        $server = new RedisServer();
        $client = client($server->url());
        $holder = $client->lock('n');
        $holder->acquire();
        $redis = new Connection($server->url());
        $subscriptions = function () use ($redis): array {
            return array_column(array_filter($redis->clients(), fn (array $each) => $each['sub'] > 0), 'id');
        };
        self::assertSame([], $subscriptions(), 'the subscriptions before');
        $wait = function (string $name) use ($client): void {
            self::assertTrue(isFree($client, 'm'), 'whether the other is free');
            $lock = $client->lock($name);
            self::assertSame($name === 'm', $lock->acquire(30), "whether $name is granted");
            $lock->release();
        };
        // A short wait may end before it has subscribed.
        eventually(function () use ($wait, $subscriptions): bool {
            $wait('n');
            return $subscriptions() !== [];
        }, fn () => 'no wait has subscribed');
        $first = $subscriptions();
        self::assertCount(1, $first, 'the subscriptions');
        foreach (['n', 'm'] as $name) {
            $wait($name);
            self::assertSame($first, $subscriptions(), 'the subscriptions');
        }
    }
}
