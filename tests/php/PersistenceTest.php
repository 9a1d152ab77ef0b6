<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Exception\ClosedException;

/** Clients outlive the objects and requests that made them: which share connections, and when those are closed. */
final class PersistenceTest extends TestCase
{
    /** How many connections the server has beside this one. */
    private static function connections(Connection $redis): int
    {
        return count($redis->clients()) - 1;
    }

    public function testClientsWithTheSameSettingsShareOneConnectionAlsoOneAfterTheOther(): void
    {
        $server = new RedisServer();
        $redis = new Connection($server->url());
        $prefix = prefix();
        for ($left = 99; $left >= 0; $left--) {
            $limiter = (new Client($server->url(), $prefix))->limiter('n', '100/minute');
            self::assertSame($left, $limiter->consume('k')->remaining, 'remaining');
            unset($limiter);
        }
        self::assertSame(1, self::connections($redis), 'the connections');
        // Ours, this one, and the one that asked whether the server listens.
        self::assertTrue($redis->info('stats')['total_connections_received'] <= 4, 'that there never were more');
    }

    public function testClientsWithOtherSettingsShareNothing(): void
    {
        $server = new RedisServer();
        $redis = new Connection($server->url());
        $make = fn (mixed ...$arguments) => (new Client($server->url(), ...$arguments))->limiter('n', '1/s')->peek('k');
        foreach ([['a'], ['b'], ['a', 400], ['a', 400, 'open'], ['a', 400, 'open', 1000]] as $made => $arguments) {
            $make(...$arguments);
            self::assertSame($made + 1, self::connections($redis), 'the connections');
            $make(...$arguments);
            self::assertSame($made + 1, self::connections($redis), 'the connections after the same again');
        }
    }

    public function testLimitersOfOneNameWithOtherPoliciesAreOthers(): void
    {
        $client = client();
        $make = fn (string $policy) => $client->limiter('n', $policy);
        self::assertSame(['1/minute', '2/minute', '1/minute'], [
            $make('1/minute')->policy,
            $make('2/minute')->policy,
            $make('1/60s')->policy,
        ], 'the policies');
        self::assertSame(
            ['n1', 'n'],
            [$client->limiter('n1', '1/s')->name, $client->limiter('n', '1/s')->name],
            'the names'
        );
        $scopes = [null, '1/s', "\0", 's', null];
        $found = array_map(fn (?string $scope) => $client->limiter('n', '1/s', $scope)->scope, $scopes);
        self::assertSame($scopes, $found, 'the scopes');
        $enforce = fn (bool $enforce) => $client->limiter('n', '1/s', enforce: $enforce)->enforce;
        self::assertSame([true, false, true], [$enforce(true), $enforce(false), $enforce(true)], 'enforce');
    }

    public function testClosingOneOfTwoLeavesTheOtherItsConnection(): void
    {
        $server = new RedisServer();
        $redis = new Connection($server->url());
        [$one, $two] = [new Client($server->url()), new Client($server->url())];
        [$first, $second] = [$one->limiter('n', '100/minute'), $two->limiter('n', '100/minute')];
        self::assertSame([99, 98], [$first->consume('k')->remaining, $second->consume('k')->remaining], 'remaining');
        $one->close();
        thrown(ClosedException::class, fn () => $first->consume('k'));
        self::assertSame(97, $second->consume('k')->remaining, 'remaining of the other');
        self::assertSame(1, self::connections($redis), 'the connections');
        $two->close();
        eventually(fn () => self::connections($redis) === 0, fn () => 'the connection is still there');
        self::assertSame(
            96,
            (new Client($server->url()))->limiter('n', '100/minute')->consume('k')->remaining,
            'of a third'
        );
    }

    public function testNoMoreThan64ClientsAreKeptAndAnOldOneThatIsStillHeldWorks(): void
    {
        $server = new RedisServer();
        $redis = new Connection($server->url());
        $held = (new Client($server->url(), 'held'))->limiter('n', '100/minute');
        for ($i = 0; $i < 100; $i++) {
            (new Client($server->url(), "p$i"))->limiter('n', '1/s')->peek('k');
        }
        self::assertTrue(self::connections($redis) <= 64, 'that there are no more connections than clients kept');
        self::assertSame(99, $held->consume('k')->remaining, 'remaining of the first');
        self::assertSame(98, $held->consume('k')->remaining, 'remaining of the first, again');
    }

    public function testThousandsOfLimitersAndPoliciesAreNoMatter(): void
    {
        $client = client();
        // That there are more than are kept is a warning, once: see ManyLimitersTest.
        set_error_handler(fn (int $level): bool => $level === E_USER_WARNING);
        try {
            for ($i = 1; $i <= 3_000; $i++) {
                self::assertSame($i - 1, $client->limiter("n$i", "$i/minute")->consume('k')->remaining, 'remaining');
            }
        } finally {
            restore_error_handler();
        }
        self::assertSame(0, $client->limiter('n1', '1/minute')->peek('k')->remaining, 'remaining of the first');
    }

    public function testClientsShareTheMemoryOfTheirProcessByItsNameAndAChildBeginsWithNone(): void
    {
        [$prefix, $name] = [prefix(), prefix()];
        $left = fn (string $url, int $timeoutMs): int => (new Client($url, $prefix, $timeoutMs))
            ->limiter('shared', '9/hour')->consume('k')->remaining;
        foreach (["memory://$name", 'memory://'] as $url) {
            self::assertSame([8, 7], [$left($url, 500), $left($url, 600)], "what is left on $url");
            self::assertSame(8, forked(fn () => $left($url, 500))(), "what is left to a child on $url");
            self::assertSame(6, $left($url, 700), "what is left on $url then");
        }
        // The last client that is closed takes a memory with a name along.
        foreach ([500, 600, 700] as $timeoutMs) {
            foreach (["memory://$name", 'memory://'] as $url) {
                (new Client($url, $prefix, $timeoutMs))->close();
            }
        }
        self::assertSame([8, 5], [$left("memory://$name", 500), $left('memory://', 500)], 'what is left after closing');
    }

    public function testMakingAClientAndALimiterAnewCostsMicroseconds(): void
    {
        $prefix = prefix();
        $once = fn () => (new Client('memory://', $prefix))->limiter('checkout', '10/minute;100/hour');
        $once();
        // The processor's time, whatever else it has to do.
        $spent = fn (): float => array_sum(array_map(
            fn (string $of) => getrusage()["ru_$of.tv_sec"] * 1e3 + getrusage()["ru_$of.tv_usec"] / 1e3,
            ['utime', 'stime']
        ));
        $before = $spent();
        for ($i = 0; $i < 10_000; $i++) {
            $once();
        }
        $took = $spent() - $before;
        // About 0.6 µs each on a quiet machine.
        self::assertTrue($took < 200, "that 10,000 took only $took ms");
    }
}
