<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Cache;
use Quotalock\Client;
use Quotalock\Exception\LoadFailedException;

/** Caches that processes wait for: one loads, and the others have it soon. */
final class CacheWaitsTest extends TestCase
{
    /** @dataProvider servers */
    public function testOfFiftyProcessesAtTheMomentOfItsEndOneLoads(string $url): void
    {
        $prefix = prefix();
        // What is loaded is fresh for a minute: on a busy machine some come late.
        $cache = fn (int $fresh = 60_000): Cache => (new Client($url, $prefix))->cache('home', $fresh, beta: 0);
        $cache(600)->put('x', 'old');
        $end = hrtime(true) + 600_000_000;
        $children = [];
        for ($worker = 0; $worker < 50; $worker++) {
            $children[] = forked(function () use ($cache, $url, $prefix, $end) {
                $cache = $cache();
                $redis = new Connection($url);
                usleep(max(0, (int) (($end - hrtime(true)) / 1_000)));
                do {
                    $got = $cache->get('x', function () use ($redis, $prefix) {
                        usleep(200_000);
                        return 'new' . $redis->incr("$prefix:loads");
                    });
                } while ($got === 'old');
                return $got;
            });
        }
        $found = array_count_values(array_map(fn (\Closure $child) => $child(), $children));
        self::assertSame(['new1' => 50], $found, 'what they got');
        self::assertSame('1', (new Connection($url))->get("$prefix:loads"), 'the loads');
    }

    /** @dataProvider servers */
    public function testWhoWaitsHearsSoonOfAValueAndOfAFailure(string $url): void
    {
        foreach (['v', null] as $value) {
            $prefix = prefix();
            $cache = (new Client($url, $prefix))->cache('home');
            $child = $answer = null;
            $load = function () use ($url, $prefix, $value, $cache, &$child, &$freed) {
                $child = forked(function () use ($url, $prefix) {
                    try {
                        $found = (new Client($url, $prefix))->cache('home')->get('x', never(...), 10_000);
                    } catch (LoadFailedException $error) {
                        $found = $error->getMessage();
                    }
                    return [$found, hrtime(true)];
                });
                $waiting = fn () => (new Connection($url))->exists($cache->redisKey('x') . ':wait') === 1;
                eventually($waiting, fn () => 'none waits');
                usleep(100_000);
                $freed = hrtime(true);
                return $value ?? throw new \DomainException('no such table');
            };
            $stalls = stalls(function () use ($cache, $load, &$child, &$answer) {
                try {
                    $cache->get('x', $load);
                } catch (\DomainException) {
                }
                $answer = $child();
            });
            [$found, $at] = $answer;
            self::assertStringContainsString($value ?? 'no such table', $found);
            $late = ($at - $freed) / 1e6;
            self::assertTrue($late > 0 && $late < 700 + $stalls, "that it was heard after $late ms");
        }
    }

    /** @dataProvider servers */
    public function testWhenALoaderWasKilledOneMoreLoadsAfterItsLease(string $url): void
    {
        $prefix = prefix();
        $before = hrtime(true);
        $pid = pcntl_fork();
        if ($pid === 0) {
            (new Client($url, $prefix))->cache('home', leaseMs: 800)->get('x', function () {
                posix_kill(getmypid(), SIGKILL);
            });
        }
        pcntl_waitpid($pid, $status);
        self::assertSame(SIGKILL, pcntl_wtermsig($status), 'what ended it');
        $children = [];
        for ($worker = 0; $worker < 8; $worker++) {
            $children[] = forked(function () use ($url, $prefix) {
                $redis = new Connection($url);
                $load = fn () => (string) $redis->incr("$prefix:loads");
                return [(new Client($url, $prefix))->cache('home')->get('x', $load, 10_000), hrtime(true)];
            });
        }
        $answers = [];
        $stalls = stalls(function () use ($children, &$answers) {
            $answers = array_map(fn (\Closure $child) => $child(), $children);
        });
        foreach ($answers as [$got, $at]) {
            self::assertSame('1', $got, 'what it got');
            $took = ($at - $before) / 1e6;
            self::assertTrue(
                $took >= 800 && $took < 5_000 + $stalls,
                "that it had it $took ms after the lease began, or a little more"
            );
        }
    }
}
