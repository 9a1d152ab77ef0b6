<?php

/** Clients made before a fork: they work after it, in parent and child, and never on the same socket. */

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;

/** The connections over which a script was called, by their addresses at our end. */
function callers(\Redis $redis): array
{
    $calls = array_filter($redis->client('list'), fn (array $each) => str_starts_with($each['cmd'], 'eval'));
    return array_column($calls, 'addr');
}

test('a client used before the fork works in both, over different sockets', function () {
    $server = new RedisServer();
    $limiter = client($server->url())->limiter('n', '100/minute');
    same(99, $limiter->consume('k')->remaining, 'remaining before');
    $redis = redis($server->url());
    $before = callers($redis);
    same(1, count($before), 'the connections before');
    $child = forked(function () use ($limiter, $server, $before) {
        $left = $limiter->consume('k')->remaining;
        return [$left, array_values(array_diff(callers(redis($server->url())), $before))];
    });
    [$left, $new] = $child();
    same(98, $left, 'remaining in the child');
    same(1, count($new), 'the connections that the child made');
    same(97, $limiter->consume('k')->remaining, 'remaining in the parent');
    same($before, callers($redis), 'the connections after the child');
});

test('parent and children at once get no answer of another', function () {
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
            same($limit - 1, $client->limiter('own', "$limit/hour")->consume("$worker:$i")->remaining, 'remaining');
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
    same(100, $admitted, 'admitted by all');
});

test('a client that was made and not used before the fork works after it', function () {
    $limiter = client(server())->limiter('n', '100/minute');
    $child = forked(fn () => $limiter->consume('k')->remaining);
    same(99, $child(), 'remaining in the child');
    same(98, $limiter->consume('k')->remaining, 'remaining in the parent');
});

test('a fork of a fork, and a child that ends by exit, harm nobody', function () {
    $server = new RedisServer();
    $limiter = client($server->url())->limiter('n', '100/minute');
    $limiter->consume('k');
    $child = forked(function () use ($limiter) {
        $grandchild = forked(fn () => $limiter->consume('k')->remaining);
        return [$grandchild(), $limiter->consume('k')->remaining];
    });
    same([98, 97], $child(), 'remaining in grandchild and child');
    $pid = pcntl_fork();
    if ($pid === 0) {
        exit(7);
    }
    pcntl_waitpid($pid, $status);
    same(7, pcntl_wexitstatus($status), 'the exit code');
    same(96, $limiter->consume('k')->remaining, 'remaining in the parent');
    same(1, count(callers(redis($server->url()))), 'the connections');
});

test('a child makes the same client anew', function () {
    $prefix = prefix();
    $make = fn () => (new Client(server(), $prefix))->limiter('n', '100/minute')->consume('k')->remaining;
    same(99, $make(), 'remaining in the parent');
    $child = forked($make);
    same(98, $child(), 'remaining in the child');
});

test('memory is each process\' own after a fork', function () {
    $limiter = client()->limiter('n', '100/minute');
    $limiter->consume('k', 50);
    $child = forked(fn () => $limiter->consume('k')->remaining);
    same(99, $child(), 'remaining in the child');
    same(49, $limiter->consume('k')->remaining, 'remaining in the parent');
});
