<?php

/** Servers that are away, frozen, somebody else's or new. */

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Exception\InvalidArgumentException;
use Quotalock\Exception\TimeoutException;
use Quotalock\Exception\UnavailableException;

test('a port where nobody listens is unavailable, at once', function () {
    $port = freePort();
    $limiter = client("redis://127.0.0.1:$port", 2000)->limiter('n', '1/s');
    $took = elapsed(function () use ($limiter, $port) {
        $error = thrown(UnavailableException::class, fn () => $limiter->consume('k'));
        same('unavailable', $error->getErrorCode(), 'the code');
        contains("127.0.0.1:$port", $error->getMessage());
    });
    holds($took < 1000, "that $took ms is no timeout");
});

test('who is no Redis is unavailable, and quoted', function () {
    $listener = stream_socket_server('tcp://127.0.0.1:0');
    $wait = forked(function () use ($listener) {
        while ($connection = @stream_socket_accept($listener, 5.0)) {
            fread($connection, 1024);
            fwrite($connection, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            fclose($connection);
            return true;
        }
        return false;
    });
    $limiter = client('redis://' . stream_socket_get_name($listener, false), 2000)->limiter('n', '1/s');
    $error = thrown(UnavailableException::class, fn () => $limiter->consume('k'));
    contains('HTTP/1.1 400', $error->getMessage());
    same(true, $wait(), 'whether the other side was asked');
});

test('a frozen server is a timeout, no later than said, and works again by itself', function () {
    $server = new RedisServer();
    $prefix = prefix();
    $patient = (new Client($server->url(), $prefix))->limiter('n', '100/minute');
    $limiter = (new Client($server->url(), $prefix, 100))->limiter('n', '100/minute');
    same(99, $patient->consume('k')->remaining, 'remaining');
    firstAnswer(fn () => $limiter->peek('k'));
    $server->signal(SIGSTOP);
    $took = elapsed(function () use ($limiter) {
        $error = thrown(TimeoutException::class, fn () => $limiter->consume('k'));
        same('timeout', $error->getErrorCode(), 'the code');
    });
    holds($took >= 90 && $took < 1500, "that $took ms is about the timeout");
    $server->signal(SIGCONT);
    // The call that timed out must not have been counted: the server refused it when it came to read it.
    same(98, $patient->consume('k')->remaining, 'remaining after the thaw');
    same(98, firstAnswer(fn () => $limiter->peek('k'))->remaining, 'what who was impatient finds by itself');
});

test('a server that was killed and started again needs nobody\'s help', function () {
    $server = new RedisServer();
    $limiter = client($server->url())->limiter('n', '100/minute');
    $limiter->consume('k');
    $server->kill();
    thrown(UnavailableException::class, fn () => $limiter->consume('k'));
    $server->start();
    same(99, firstAnswer(fn () => $limiter->consume('k'))->remaining, 'remaining');
    same(98, $limiter->consume('k')->remaining, 'remaining of the next');
});

/** What it answers when the server is back. */
function firstAnswer(\Closure $call): mixed
{
    $answer = null;
    eventually(function () use ($call, &$answer): bool {
        try {
            $answer = $call();
            return true;
        } catch (UnavailableException | TimeoutException) {
            return false;
        }
    }, fn () => 'the server stayed away');
    return $answer;
}

test('who waits for a loader outlasts a restart, and loads nothing', function () {
    foreach (['raise', 'load'] as $whenAway) {
        $server = new RedisServer('--appendonly', 'yes');
        $prefix = prefix();
        $got = [];
        (new Client($server->url(), $prefix))->cache('home', leaseMs: 60_000)->get(
            'x',
            function () use ($server, $prefix, $whenAway, &$got) {
                $wait = fn () => (new Client($server->url(), $prefix))->cache('home', whenAway: $whenAway)
                    ->get('x', fn () => 'loaded too', 20_000);
                $waiters = array_map(fn () => forked($wait), range(1, 10));
                $redis = redis($server->url());
                eventually(fn () => count($redis->pubsub('channels')) === 10, fn () => 'not all wait');
                $server->kill();
                usleep(100_000);
                $server->start('--appendonly', 'yes');
                $got = $waiters;
                return 'loaded';
            },
        );
        same(array_fill(0, 10, 'loaded'), array_map(fn ($waiter) => $waiter(), $got), "what waiters get ($whenAway)");
    }
});

test('a flushed script is sent again', function () {
    $limiter = client(server())->limiter('n', '100/minute');
    for ($left = 99; $left > 90; $left--) {
        same($left, $limiter->consume('k')->remaining, 'remaining');
        redis(server())->script('flush');
    }
});

test('who cannot ask admits, denies or decides alone, as was said', function () {
    $url = 'redis://127.0.0.1:' . freePort();
    $decide = fn (string $onError) => client($url, 500, $onError)->limiter('n', '2/minute');
    $open = $decide('open')->consume('k', 2);
    same([true, 'open', 2], [$open->allowed, $open->source, $open->cost], 'open');
    $closed = $decide('closed')->consume('k');
    same([false, 'closed'], [$closed->allowed, $closed->source], 'closed');
    holds($closed->retryAfterMs > 0, 'that it says when to try again');
    $local = $decide('local');
    foreach ([[true, 1], [true, 0], [false, 0]] as $expected) {
        $decision = $local->consume('k');
        same(['local', ...$expected], [$decision->source, $decision->allowed, $decision->remaining], 'local');
    }
    foreach (['raise', 'open', 'closed', 'local'] as $onError) {
        thrown(UnavailableException::class, fn () => $decide($onError)->block('k', 1000));
    }
    thrown(InvalidArgumentException::class, fn () => $decide('open')->consume(''));
});

test('while it is known to be down, a call is answered in no time', function () {
    $server = new RedisServer();
    $server->signal(SIGSTOP);
    $limiter = client($server->url(), 200, 'open')->limiter('n', '2/minute');
    same('open', $limiter->consume('k')->source, 'source');
    $took = elapsed(function () use ($limiter) {
        for ($i = 0; $i < 500; $i++) {
            same('open', $limiter->consume('k')->source, 'source');
        }
    });
    holds($took < 2000, "that 500 calls in $took ms did not each wait for 200");
});

test('a Unix socket does as well', function () {
    $url = getenv('QUOTALOCK_TEST_UNIX') ?: throw new Failure('QUOTALOCK_TEST_UNIX is not set');
    $client = client($url);
    same('redis', $client->limiter('n', '1/s')->consume('k')->source, 'source');
    contains('/socket', $client->server);
});

test('a database of its own is used', function () {
    $client = new Client(server() . '/3', prefix());
    $limiter = $client->limiter('n', '1/minute');
    $limiter->consume('k');
    $redis = redis(server());
    same(0, $redis->exists($limiter->redisKey('k')), 'whether the key is in database 0');
    $redis->select(3);
    same(1, $redis->exists($limiter->redisKey('k')), 'whether the key is in database 3');
});
