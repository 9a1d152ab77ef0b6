<?php

/** Clients outlive the objects and requests that made them: which share connections, and when those are closed. */

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Exception\ClosedException;

/** How many connections the server has beside this one. */
function connections(\Redis $redis): int
{
    return count($redis->client('list')) - 1;
}

test('clients with the same settings share one connection, also one after the other', function () {
    $server = new RedisServer();
    $redis = redis($server->url());
    $prefix = prefix();
    for ($left = 99; $left >= 0; $left--) {
        $limiter = (new Client($server->url(), $prefix))->limiter('n', '100/minute');
        same($left, $limiter->consume('k')->remaining, 'remaining');
        unset($limiter);
    }
    same(1, connections($redis), 'the connections');
    // Ours, this one, and the one that asked whether the server listens.
    holds($redis->info('stats')['total_connections_received'] <= 4, 'that there never were more');
});

test('clients with other settings share nothing', function () {
    $server = new RedisServer();
    $redis = redis($server->url());
    $make = fn (mixed ...$arguments) => (new Client($server->url(), ...$arguments))->limiter('n', '1/s')->peek('k');
    foreach ([['a'], ['b'], ['a', 400], ['a', 400, 'open'], ['a', 400, 'open', 1000]] as $made => $arguments) {
        $make(...$arguments);
        same($made + 1, connections($redis), 'the connections');
        $make(...$arguments);
        same($made + 1, connections($redis), 'the connections after the same again');
    }
});

test('limiters of one name with other policies are others', function () {
    $client = client();
    $make = fn (string $policy) => $client->limiter('n', $policy);
    same(['1/minute', '2/minute', '1/minute'], [
        $make('1/minute')->policy,
        $make('2/minute')->policy,
        $make('1/60s')->policy,
    ], 'the policies');
    same(['n1', 'n'], [$client->limiter('n1', '1/s')->name, $client->limiter('n', '1/s')->name], 'the names');
    $scopes = [null, '1/s', "\0", 's', null];
    $found = array_map(fn (?string $scope) => $client->limiter('n', '1/s', $scope)->scope, $scopes);
    same($scopes, $found, 'the scopes');
    $enforce = fn (bool $enforce) => $client->limiter('n', '1/s', enforce: $enforce)->enforce;
    same([true, false, true], [$enforce(true), $enforce(false), $enforce(true)], 'enforce');
});

test('closing one of two leaves the other its connection', function () {
    $server = new RedisServer();
    $redis = redis($server->url());
    [$one, $two] = [new Client($server->url()), new Client($server->url())];
    [$first, $second] = [$one->limiter('n', '100/minute'), $two->limiter('n', '100/minute')];
    same([99, 98], [$first->consume('k')->remaining, $second->consume('k')->remaining], 'remaining');
    $one->close();
    thrown(ClosedException::class, fn () => $first->consume('k'));
    same(97, $second->consume('k')->remaining, 'remaining of the other');
    same(1, connections($redis), 'the connections');
    $two->close();
    eventually(fn () => connections($redis) === 0, fn () => 'the connection is still there');
    same(96, (new Client($server->url()))->limiter('n', '100/minute')->consume('k')->remaining, 'of a third');
});

test('no more than 64 clients are kept, and an old one that is still held works', function () {
    $server = new RedisServer();
    $redis = redis($server->url());
    $held = (new Client($server->url(), 'held'))->limiter('n', '100/minute');
    for ($i = 0; $i < 100; $i++) {
        (new Client($server->url(), "p$i"))->limiter('n', '1/s')->peek('k');
    }
    holds(connections($redis) <= 64, 'that there are no more connections than clients kept');
    same(99, $held->consume('k')->remaining, 'remaining of the first');
    same(98, $held->consume('k')->remaining, 'remaining of the first, again');
});

test('thousands of limiters and policies are no matter', function () {
    $client = client();
    for ($i = 1; $i <= 3_000; $i++) {
        same($i - 1, $client->limiter("n$i", "$i/minute")->consume('k')->remaining, 'remaining');
    }
    same(0, $client->limiter('n1', '1/minute')->peek('k')->remaining, 'remaining of the first');
});

test('clients share the memory of their process by its name, and a child begins with none', function () {
    [$prefix, $name] = [prefix(), prefix()];
    $left = fn (string $url, int $timeoutMs): int => (new Client($url, $prefix, $timeoutMs))
        ->limiter('shared', '9/hour')->consume('k')->remaining;
    foreach (["memory://$name", 'memory://'] as $url) {
        same([8, 7], [$left($url, 500), $left($url, 600)], "what is left on $url");
        same(8, forked(fn () => $left($url, 500))(), "what is left to a child on $url");
        same(6, $left($url, 700), "what is left on $url then");
    }
    // The last client that is closed takes a memory with a name along.
    foreach ([500, 600, 700] as $timeoutMs) {
        foreach (["memory://$name", 'memory://'] as $url) {
            (new Client($url, $prefix, $timeoutMs))->close();
        }
    }
    same([8, 5], [$left("memory://$name", 500), $left('memory://', 500)], 'what is left after closing');
});

test('making a client and a limiter anew costs microseconds', function () {
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
    holds($took < 200, "that 10,000 took only $took ms");
});
