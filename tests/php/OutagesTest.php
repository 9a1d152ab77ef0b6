<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use PHPUnit\Framework\AssertionFailedError;
use Quotalock\Client;
use Quotalock\Exception\InvalidArgumentException;
use Quotalock\Exception\TimeoutException;
use Quotalock\Exception\UnavailableException;

/** Servers that are away, frozen, somebody else's or new. */
final class OutagesTest extends TestCase
{
    public function testAPortWhereNobodyListensIsUnavailableAtOnce(): void
    {
        $port = freePort();
        $limiter = client("redis://127.0.0.1:$port")->limiter('n', '1/s');
        $took = 0.0;
        $stalls = stalls(function () use ($limiter, $port, &$took) {
            $took = elapsed(function () use ($limiter, $port) {
                $error = thrown(UnavailableException::class, fn () => $limiter->consume('k'));
                self::assertSame('unavailable', $error->getErrorCode(), 'the code');
                self::assertStringContainsString("127.0.0.1:$port", $error->getMessage());
            });
        });
        self::assertTrue($took < 1000 + $stalls, "that $took ms is no timeout");
    }

    public function testWhoIsNoRedisIsUnavailableAndQuoted(): void
    {
        $listener = stream_socket_server('tcp://127.0.0.1:0');
        $wait = forked(function () use ($listener) {
            while ($connection = @stream_socket_accept($listener, 20.0)) {
                fread($connection, 1024);
                fwrite($connection, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
                fclose($connection);
                return true;
            }
            return false;
        });
        $limiter = client('redis://' . stream_socket_get_name($listener, false))->limiter('n', '1/s');
        $error = thrown(UnavailableException::class, fn () => $limiter->consume('k'));
        self::assertStringContainsString('HTTP/1.1 400', $error->getMessage());
        self::assertSame(true, $wait(), 'whether the other side was asked');
    }

    public function testAFrozenServerIsATimeoutNoLaterThanSaidAndWorksAgainByItself(): void
    {
        $server = new RedisServer();
        $prefix = prefix();
        $patient = (new Client($server->url(), $prefix))->limiter('n', '100/minute');
        $limiter = (new Client($server->url(), $prefix, 100))->limiter('n', '100/minute');
        self::assertSame(99, $patient->consume('k')->remaining, 'remaining');
        self::firstAnswer(fn () => $limiter->peek('k'));
        $server->signal(SIGSTOP);
        $took = 0.0;
        $stalls = stalls(function () use ($limiter, &$took) {
            $took = elapsed(function () use ($limiter) {
                $error = thrown(TimeoutException::class, fn () => $limiter->consume('k'));
                self::assertSame('timeout', $error->getErrorCode(), 'the code');
            });
        });
        self::assertTrue($took >= 90 && $took < 1500 + $stalls, "that $took ms is about the timeout");
        $server->signal(SIGCONT);
        // The call that timed out must not have been counted: the server refused it when it came to read it.
        self::assertSame(98, $patient->consume('k')->remaining, 'remaining after the thaw');
        self::assertSame(
            98,
            self::firstAnswer(fn () => $limiter->peek('k'))->remaining,
            'what who was impatient finds by itself'
        );
    }

    public function testAServerThatWasKilledAndStartedAgainNeedsNobodysHelp(): void
    {
        $server = new RedisServer();
        $limiter = client($server->url())->limiter('n', '100/minute');
        $limiter->consume('k');
        $server->kill();
        thrown(UnavailableException::class, fn () => $limiter->consume('k'));
        $server->start();
        self::assertSame(99, self::firstAnswer(fn () => $limiter->consume('k'))->remaining, 'remaining');
        self::assertSame(98, $limiter->consume('k')->remaining, 'remaining of the next');
    }

    /** What it answers when the server is back. */
    private static function firstAnswer(\Closure $call): mixed
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

    public function testWhoWaitsForALoaderOutlastsARestartAndLoadsNothing(): void
    {
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
                    $redis = new Connection($server->url());
                    eventually(fn () => count($redis->pubsub('channels')) === 10, fn () => 'not all wait');
                    $server->kill();
                    usleep(100_000);
                    $server->start('--appendonly', 'yes');
                    $got = $waiters;
                    return 'loaded';
                },
            );
            self::assertSame(
                array_fill(0, 10, 'loaded'),
                array_map(fn ($waiter) => $waiter(), $got),
                "what waiters get ($whenAway)"
            );
        }
    }

    public function testAFlushedScriptIsSentAgain(): void
    {
        $limiter = client(server())->limiter('n', '100/minute');
        for ($left = 99; $left > 90; $left--) {
            self::assertSame($left, $limiter->consume('k')->remaining, 'remaining');
            (new Connection(server()))->script('flush');
        }
    }

    public function testWhoCannotAskAdmitsDeniesOrDecidesAloneAsWasSaid(): void
    {
        $url = 'redis://127.0.0.1:' . freePort();
        $decide = fn (string $onError) => client($url, 500, $onError)->limiter('n', '2/minute');
        $open = $decide('open')->consume('k', 2);
        self::assertSame([true, 'open', 2], [$open->allowed, $open->source, $open->cost], 'open');
        $closed = $decide('closed')->consume('k');
        self::assertSame([false, 'closed'], [$closed->allowed, $closed->source], 'closed');
        self::assertTrue($closed->retryAfterMs > 0, 'that it says when to try again');
        $local = $decide('local');
        foreach ([[true, 1], [true, 0], [false, 0]] as $expected) {
            $decision = $local->consume('k');
            self::assertSame(
                ['local', ...$expected],
                [$decision->source, $decision->allowed, $decision->remaining],
                'local'
            );
        }
        foreach (['raise', 'open', 'closed', 'local'] as $onError) {
            thrown(UnavailableException::class, fn () => $decide($onError)->block('k', 1000));
        }
        thrown(InvalidArgumentException::class, fn () => $decide('open')->consume(''));
    }

    public function testWhileItIsKnownToBeDownACallIsAnsweredInNoTime(): void
    {
        $server = new RedisServer();
        $server->signal(SIGSTOP);
        $limiter = client($server->url(), 200, 'open')->limiter('n', '2/minute');
        self::assertSame('open', $limiter->consume('k')->source, 'source');
        $took = 0.0;
        $stalls = stalls(function () use ($limiter, &$took) {
            $took = elapsed(function () use ($limiter) {
                for ($i = 0; $i < 500; $i++) {
                    self::assertSame('open', $limiter->consume('k')->source, 'source');
                }
            });
        });
        self::assertTrue($took < 2000 + $stalls, "that 500 calls in $took ms did not each wait for 200");
    }

    public function testAUnixSocketDoesAsWell(): void
    {
        $url = getenv('QUOTALOCK_TEST_UNIX') ?: throw new AssertionFailedError('QUOTALOCK_TEST_UNIX is not set');
        $client = client($url);
        self::assertSame('redis', $client->limiter('n', '1/s')->consume('k')->source, 'source');
        self::assertStringContainsString('/socket', $client->server);
    }

    public function testADatabaseOfItsOwnIsUsed(): void
    {
        $client = new Client(server() . '/3', prefix());
        $limiter = $client->limiter('n', '1/minute');
        $limiter->consume('k');
        $redis = new Connection(server());
        self::assertSame(0, $redis->exists($limiter->redisKey('k')), 'whether the key is in database 0');
        $redis->select(3);
        self::assertSame(1, $redis->exists($limiter->redisKey('k')), 'whether the key is in database 3');
    }
}
