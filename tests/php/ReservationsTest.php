<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Decision;
use Quotalock\Exception\UnavailableException;

/** Reservations: made here, settled here, in a child, or in a process that knows no more than key and id. */
final class ReservationsTest extends TestCase
{
    public function testAReservationKnowsItsKeyIdAndDecision(): void
    {
        $limiter = client()->limiter('n', '10/minute');
        $reservation = $limiter->reserve(42, 8, ttlMs: 30_000);
        self::assertSame(
            ['42', 32],
            [$reservation->key, strspn($reservation->id, '0123456789abcdef')],
            'the key and the id'
        );
        self::assertTrue($reservation->decision instanceof Decision, 'that there is a decision');
        self::assertSame([true, 2, 8], [
            $reservation->decision->allowed,
            $reservation->decision->remaining,
            $reservation->decision->cost,
        ], 'the decision');
        self::assertSame(
            [true, true, false],
            [$reservation->settle(3), $reservation->settle(3), $reservation->cancel()],
            'settled'
        );
        self::assertSame(7, $limiter->peek('42')->remaining, 'remaining');
        self::assertSame("\xff\0", $limiter->reserve("\xff\0", 1, 1000)->key, 'a key of bytes');
    }

    public function testADeniedReservationHoldsNothing(): void
    {
        $limiter = client()->limiter('n', '10/minute');
        $reservation = $limiter->reserve('k', 11, 30_000, unsettled: 'returned');
        self::assertSame(
            [false, null],
            [$reservation->decision->allowed, $reservation->decision->retryAfterMs],
            'the decision'
        );
        self::assertSame([false, 10], [$reservation->settle(3), $limiter->peek('k')->remaining], 'what is left');
    }

    public function testAReservationOutlivesTheVariablesOfItsLimiterAndClient(): void
    {
        $reservation = client()->limiter('n', '10/minute')->reserve('k', 8, 30_000);
        self::assertSame(true, $reservation->cancel(), 'whether it was cancelled');
    }

    public function testWhatAReservationCannotBeIsRefused(): void
    {
        $limiter = client()->limiter('n', '10/minute');
        $error = refused('invalid_argument', fn () => $limiter->reserve('k', 1, 1000, 'lost'));
        self::assertStringContainsString('"lost" is unknown: use spent or returned', $error->getMessage());
        refused('invalid_argument', fn () => $limiter->reserve('k', 0, 1000));
        refused('invalid_argument', fn () => $limiter->reserve('k', 1, 0));
        self::assertStringContainsString(
            '-5',
            refused('invalid_argument', fn () => $limiter->reserve('k', 1, -5))->getMessage()
        );
        refused('invalid_argument', fn () => $limiter->reserve('', 1, 1000));
        foreach (['', 'abc', str_repeat('g', 32), str_repeat('0', 33), "\xff"] as $id) {
            self::assertStringContainsString(
                'id',
                refused('invalid_argument', fn () => $limiter->reservation('k', $id))->getMessage()
            );
        }
        $reservation = $limiter->reservation('k', str_repeat('0', 32));
        self::assertSame(
            [null, false],
            [$reservation->decision, $reservation->settle(1)],
            'a reservation that nobody made'
        );
        self::assertStringContainsString(
            '-1',
            refused('invalid_argument', fn () => $reservation->settle(-1))->getMessage()
        );
        $error = thrown(\TypeError::class, fn () => $reservation->settle('1'));
        self::assertStringContainsString(
            'Argument #1 ($actual) must be of type int, string given',
            $error->getMessage()
        );
        thrown(\TypeError::class, fn () => $limiter->reserve('k', 1, 1000, null));
        thrown(\TypeError::class, fn () => $limiter->reservation('k', 7));
    }

    public function testAnotherProcessSettlesWithNothingButKeyAndId(): void
    {
        foreach (servers() as $url) {
            $client = client($url);
            $limiter = $client->limiter('tokens', '1000/minute');
            $reservation = $limiter->reserve('k', 800, 30_000);
            $settle = '$client = new Quotalock\Client(getenv("SERVER"), getenv("PREFIX"));'
                . '$limiter = $client->limiter("tokens", "1000/minute");'
                . 'var_dump($limiter->reservation("k", getenv("ID"))->settle(310));';
            $environment = ['SERVER' => $url, 'PREFIX' => $client->prefix, 'ID' => $reservation->id];
            [$output] = php($settle, environment: $environment);
            self::assertSame('bool(true)', trim($output), 'what the other process saw');
            self::assertSame([690, true, false], [
                $limiter->peek('k')->remaining,
                $reservation->settle(310),
                $reservation->settle(300),
            ], 'what this one sees');
        }
    }

    public function testAForkBetweenReserveAndSettleTheChildSettlesAndTheParentHearsOfIt(): void
    {
        $limiter = client(server())->limiter('n', '10/minute');
        $reservation = $limiter->reserve('k', 8, 30_000);
        $child = forked(fn () => [$reservation->settle(3), $limiter->peek('k')->remaining]);
        self::assertSame([true, 7], $child(), 'what the child saw');
        self::assertSame([true, false, 7], [
            $reservation->settle(3),
            $reservation->cancel(),
            $limiter->peek('k')->remaining,
        ], 'what the parent sees');
    }

    public function testParentAndChildrenNeverMakeTheSameId(): void
    {
        $limiter = client(server())->limiter('n', '1000/minute');
        $make = fn () => array_map(fn () => $limiter->reserve('k', 1, 30_000)->id, range(1, 20));
        $ids = $make();
        $children = [forked($make), forked($make)];
        $ids = array_merge($ids, $make(), ...array_map(fn (\Closure $child) => $child(), $children));
        self::assertSame(80, count(array_unique($ids)), 'the ids that differ');
    }

    public function testWhateverIsAnsweredForAnAbsentRedisASettlementSaysThatItDidNotHappen(): void
    {
        $client = new Client('redis://127.0.0.1:' . freePort(), prefix(), onError: 'open');
        $reservation = $client->limiter('n', '10/minute')->reserve('k', 8, 30_000);
        self::assertSame(
            [true, 'open'],
            [$reservation->decision->allowed, $reservation->decision->source],
            'the decision'
        );
        thrown(UnavailableException::class, fn () => $reservation->settle(3));
        thrown(UnavailableException::class, fn () => $reservation->cancel());
    }

    public function testExitInAHandlerWhileAReservationIsBeingMadeEndsTheScript(): void
    {
        $server = new RedisServer();
        $code = <<<'CODE'
            pcntl_async_signals(true);
            pcntl_signal(SIGALRM, function () { echo 'bye,'; exit(3); });
            register_shutdown_function(function () { echo 'shut down'; });
            $limiter = (new Quotalock\Client(getenv('SERVER'), timeoutMs: 60000))->limiter('n', '1/minute');
            $limiter->peek('k');
            posix_kill((int) getenv('PID'), SIGSTOP);
            pcntl_alarm(1);
            $limiter->reserve('k', 1, 30000);
            echo 'never';
            CODE;
        $environment = ['SERVER' => $server->url(), 'PID' => (string) $server->pid()];
        self::assertSame(['bye,shut down', 3], php($code, environment: $environment), 'how it ended');
    }
}
