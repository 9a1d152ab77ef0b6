<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;

/** Clients made before a fork: they work after it, in parent and child, and never on the same socket. */
final class ForkTest extends TestCase
{
    /** The connections over which a script was called, by their addresses at our end. */
    private static function callers(Connection $redis): array
    {
        $calls = array_filter($redis->clients(), fn (array $each) => str_starts_with($each['cmd'], 'eval'));
        return array_column($calls, 'addr');
    }

    public function testAClientUsedBeforeTheForkWorksInBothOverDifferentSockets(): void
    {
        $server = new RedisServer();
        $limiter = client($server->url())->limiter('n', '100/minute');
        self::assertSame(99, $limiter->consume('k')->remaining, 'remaining before');
        $redis = new Connection($server->url());
        $before = self::callers($redis);
        self::assertSame(1, count($before), 'the connections before');
        $child = forked(function () use ($limiter, $server, $before) {
            $left = $limiter->consume('k')->remaining;
            return [$left, array_values(array_diff(self::callers(new Connection($server->url())), $before))];
        });
        [$left, $new] = $child();
        self::assertSame(98, $left, 'remaining in the child');
        self::assertSame(1, count($new), 'the connections that the child made');
        self::assertSame(97, $limiter->consume('k')->remaining, 'remaining in the parent');
        self::assertSame($before, self::callers($redis), 'the connections after the child');
    }

    public function testParentAndChildrenAtOnceGetNoAnswerOfAnother(): void
    {
        $server = new RedisServer();
        $client = client($server->url());
        $shared = $client->limiter('shared', '100/hour');
        $shared->peek('k');
        $work = function (int $worker) use ($client, $shared): array {
            $admitted = 0;
            for ($i = 1; $i <= 50; $i++) {
                $admitted += (int) $shared->consume('k')->allowed;
                // Every answer differs: one that belongs to another process would not fit.
                $limit = $worker * 1000 + $i;
                self::assertSame(
                    $limit - 1,
                    $client->limiter('own', "$limit/hour")->consume("$worker:$i")->remaining,
                    'remaining'
                );
            }
            return [$admitted];
        };
        $children = [];
        for ($worker = 1; $worker <= 6; $worker++) {
            $children[] = forked(fn () => $work($worker));
        }
        $admitted = $work(7)[0];
        foreach ($children as $child) {
            $admitted += $child()[0];
        }
        self::assertSame(100, $admitted, 'admitted by all');
    }

    public function testAClientThatWasMadeAndNotUsedBeforeTheForkWorksAfterIt(): void
    {
        $limiter = client(server())->limiter('n', '100/minute');
        $child = forked(fn () => $limiter->consume('k')->remaining);
        self::assertSame(99, $child(), 'remaining in the child');
        self::assertSame(98, $limiter->consume('k')->remaining, 'remaining in the parent');
    }

    public function testAForkOfAForkAndAChildThatEndsByExitHarmNobody(): void
    {
        $server = new RedisServer();
        $limiter = client($server->url())->limiter('n', '100/minute');
        $limiter->consume('k');
        $child = forked(function () use ($limiter) {
            $grandchild = forked(fn () => $limiter->consume('k')->remaining);
            return [$grandchild(), $limiter->consume('k')->remaining];
        });
        self::assertSame([98, 97], $child(), 'remaining in grandchild and child');
        $pid = pcntl_fork();
        if ($pid === 0) {
            exit(7);
        }
        pcntl_waitpid($pid, $status);
        self::assertSame(7, pcntl_wexitstatus($status), 'the exit code');
        self::assertSame(96, $limiter->consume('k')->remaining, 'remaining in the parent');
        self::assertSame(1, count(self::callers(new Connection($server->url()))), 'the connections');
    }

    public function testAChildMakesTheSameClientAnew(): void
    {
        $prefix = prefix();
        $make = fn () => (new Client(server(), $prefix))->limiter('n', '100/minute')->consume('k')->remaining;
        self::assertSame(99, $make(), 'remaining in the parent');
        $child = forked($make);
        self::assertSame(98, $child(), 'remaining in the child');
    }

    public function testMemoryIsEachProcessOwnAfterAFork(): void
    {
        $limiter = client()->limiter('n', '100/minute');
        $limiter->consume('k', 50);
        $child = forked(fn () => $limiter->consume('k')->remaining);
        self::assertSame(99, $child(), 'remaining in the child');
        self::assertSame(49, $limiter->consume('k')->remaining, 'remaining in the parent');
    }
}
