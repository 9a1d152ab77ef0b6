<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Exception\ClosedException;
use Quotalock\Exception\InvalidArgumentException;
use Quotalock\Exception\LostException;
use Quotalock\Exception\NotAcquiredException;
use Quotalock\Lock;

use function Quotalock\quorum_lock;

/** A lock over three independent servers: most of them decide, also with one gone. */
final class QuorumTest extends TestCase
{
    /**
     * A client of each server, with the same prefix.
     *
     * @return list<Client>
     */
    private static function each(?string $prefix = null): array
    {
        $prefix ??= prefix();
        return array_map(fn (string $url) => new Client($url, $prefix, 10_000), array_values(servers()));
    }

    /** A client of a server that is not there. */
    private static function gone(string $prefix): Client
    {
        return new Client('redis://127.0.0.1:' . freePort(), $prefix);
    }

    /** The lock that all tests are about; it waits until servers that were just started have a vote. */
    private static function over(array $clients, int $ttlMs = 3_000, int $waitMs = 20_000, string $label = ''): Lock
    {
        return quorum_lock($clients, 'sku:42', $ttlMs, $waitMs, 7, $label);
    }

    public function testOneHoldsAndTheOtherIsRefused(): void
    {
        $clients = self::each();
        [$first, $second] = [self::over($clients, label: 'checkout'), self::over($clients)];
        self::assertSame(
            ['released', ['sku:42'], 3_000],
            [$first->state, $first->names, $first->ttlMs],
            'what it knows before'
        );
        self::assertSame([true, false], [$first->acquire(), $second->acquire(0)], 'who acquires it');
        self::assertTrue($first->held && $first->remainingMs < 3_000 && $first->token > 7, 'that it is held');
        $error = thrown(NotAcquiredException::class, fn () => $second->run(fn () => null, 0));
        self::assertStringContainsString(
            'lock "sku:42" was not acquired at once: 0 of 3 servers granted it',
            $error->getMessage()
        );
        self::assertSame('checkout', $second->inspect()->holders[0]->label, 'who holds it');
        $token = $first->token;
        self::assertSame(
            [true, false],
            [$first->release(), $first->release()],
            'whether it is released, and once more'
        );
        self::assertTrue($second->run(fn (Lock $lock) => $lock->token) > $token, 'that the token is larger');
        self::assertSame('released', $second->state, 'what it is after a run');
    }

    public function testItIsExtendedAndWhoeverIsForcedOutLearnsOfIt(): void
    {
        $clients = self::each();
        $lock = self::over($clients);
        $lock->acquire();
        self::assertSame(true, $lock->extend(60_000), 'whether it is extended');
        self::assertTrue($lock->remainingMs > 50_000, 'that it lasts');
        self::assertSame(1, self::over($clients)->forceRelease(), 'from how many it was taken');
        self::assertSame(
            [true, false, 'lost'],
            [$lock->held, $lock->extend(), $lock->state],
            'what it knows, and learns'
        );
        thrown(LostException::class, fn () => $lock->assertHeld());
        $other = self::over($clients);
        self::assertSame(true, $other->acquire(), 'whether it is free');
    }

    public function testItEndsByItselfAndARunTellsThat(): void
    {
        $lock = self::over(self::each(), 2_000);
        $error = thrown(LostException::class, fn () => $lock->run(fn () => usleep(2_100_000)));
        self::assertStringContainsString('lock "sku:42" was lost', $error->getMessage());
    }

    public function testOneServerMayBeGoneButNotTwo(): void
    {
        $prefix = prefix();
        $all = self::each($prefix);
        $lock = self::over([$all[0], self::gone($prefix), $all[2]]);
        self::assertSame(true, $lock->acquire(), 'whether it is acquired without one');
        self::assertSame(false, self::over($all)->acquire(0), 'whether another gets it');
        self::assertSame([true, true], [$lock->extend(), $lock->release()], 'whether it is extended and released');
        $one = self::over([$all[0], self::gone($prefix), self::gone($prefix)], waitMs: 200);
        $error = thrown(NotAcquiredException::class, fn () => $one->run(fn () => null));
        self::assertStringContainsString('1 of 3 servers granted it', $error->getMessage());
        self::assertSame(true, isFree($all[0], 'sku:42'), 'whether what the one granted was taken back');
    }

    public function testWhatMakesNoQuorumIsRefused(): void
    {
        $clients = array_map(fn (int $n) => client("memory://$n"), [1, 2, 3]);
        $wrong = [
            '0 clients make no quorum' => fn () => quorum_lock([], 'n'),
            '2 clients make no quorum' => fn () => quorum_lock([$clients[0], $clients[1]], 'n'),
            'given twice' => fn () => quorum_lock([...$clients, $clients[0]], 'n'),
            'clients[3] is int: give Quotalock\Client' => fn () => quorum_lock([...$clients, 5], 'n'),
            'ttl' => fn () => quorum_lock($clients, 'n', 1),
            'name' => fn () => quorum_lock($clients, ''),
            'token_above' => fn () => quorum_lock($clients, 'n', tokenAbove: -1),
            'label' => fn () => quorum_lock($clients, 'n', label: str_repeat('x', 129)),
        ];
        foreach ($wrong as $why => $make) {
            self::assertStringContainsString($why, thrown(InvalidArgumentException::class, $make)->getMessage());
        }
        // Two objects of the same settings are one client.
        $same = fn () => quorum_lock([$clients[0], new Client('memory://', 'p'), new Client('memory://', 'p')], 'n');
        self::assertStringContainsString('given twice', thrown(InvalidArgumentException::class, $same)->getMessage());
        $error = thrown(\TypeError::class, fn () => quorum_lock($clients[0], 'n'));
        self::assertStringContainsString('must be of type array, Quotalock\Client given', $error->getMessage());
    }

    public function testItWorksForAsLongAsAllItsClientsAreOpen(): void
    {
        $clients = array_map(fn (int $n) => client("memory://$n"), [1, 2, 3]);
        $lock = quorum_lock($clients, 'n');
        self::assertSame(true, $lock->acquire(), 'whether it is acquired');
        $clients[1]->close();
        self::assertSame('lost', $lock->state, 'what closing one has done');
        self::assertSame([], $clients[0]->lock('n')->inspect()->holders, 'who holds it on another');
        thrown(ClosedException::class, fn () => $lock->acquire());
        thrown(ClosedException::class, fn () => quorum_lock($clients, 'n'));
    }

    public function testAForkedChildHoldsNothingOfItsParentAndCanTakeItsTurn(): void
    {
        $lock = self::over(self::each());
        $lock->acquire();
        $lock->extend(60_000);
        $child = forked(fn () => [$lock->state, $lock->release(), $lock->acquire(0)]);
        self::assertSame(['released', false, false], $child(), 'what the child knows, and does');
        self::assertSame([true, true], [$lock->held, $lock->extend()], 'what the parent knows');
        $child = forked(fn () => [$lock->acquire(), $lock->token, $lock->extend(), $lock->release()]);
        usleep(50_000);
        $token = $lock->token;
        self::assertSame(true, $lock->release(), 'whether the parent releases it');
        [$granted, $theirs, $extended, $released] = $child();
        self::assertSame([true, true, true], [$granted, $extended, $released], 'what the child does then');
        self::assertTrue($theirs > $token, 'that its token is larger');
        self::assertSame(true, $lock->acquire(), 'whether the parent gets it again');
    }

    public function testHandlersRunWhileItIsWaitedForAndWhatOneThrowsEndsTheWait(): void
    {
        $clients = self::each();
        [$holder, $lock] = [self::over($clients), self::over($clients)];
        $holder->acquire();
        $holder->extend(60_000);
        pcntl_async_signals(true);
        pcntl_signal(SIGALRM, fn () => throw new \DomainException('enough'));
        pcntl_alarm(1);
        $took = elapsed(fn () => thrown(\DomainException::class, fn () => $lock->acquire(60_000)));
        pcntl_signal(SIGALRM, SIG_DFL);
        pcntl_async_signals(false);
        // It would have waited for a minute.
        self::assertTrue($took < 20_000, "that the wait ended after $took ms");
        self::assertSame([true, true], [$holder->release(), $lock->acquire()], 'whether it can be had');
    }

    public function testServersThatStandStillHoldUpNeitherTheEndOfARequestNorASignal(): void
    {
        $still = [new RedisServer('--appendonly', 'yes'), new RedisServer('--appendonly', 'yes')];
        $urls = [server(), $still[0]->url(), $still[1]->url()];
        $prefix = prefix();
        // Those two keep what they are told, and are most of them, however young the first is.
        $begin = '$clients = array_map(fn ($url) => new Quotalock\Client($url, getenv("PREFIX"), 10_000), '
            . 'explode(",", getenv("URLS"))); $lock = Quotalock\quorum_lock($clients, "n", 600_000, 20_000);';
        $pids = "[{$still[0]->pid()}, {$still[1]->pid()}]";
        $code = <<<CODE
            $begin
            echo \$lock->acquire() ? 'held,' : 'no,';
            foreach ($pids as \$pid) posix_kill(\$pid, SIGSTOP);
            echo hrtime(true);
            CODE;
        [$output, $took] = ['', 0.0];
        $stalls = stalls(function () use ($code, $urls, $prefix, &$output, &$took) {
            [$output] = php($code, [], ['URLS' => implode(',', $urls), 'PREFIX' => $prefix]);
            $took = (hrtime(true) - (int) substr($output, 5)) / 1e6;
        });
        array_map(fn (RedisServer $server) => $server->signal(SIGCONT), $still);
        self::assertStringContainsString('held,', $output);
        // Each server by itself may take ten seconds.
        self::assertTrue($took < 2_000 + $stalls, "that it took $took ms");
    }

    public function testWorkersOfPhpFpmTakeTurnsAndWhatOneForgetsIsReleased(): void
    {
        $fpm = new Fpm(['pm = static', 'pm.max_children = 4', 'php_value[ratelimit.prefix] = ' . prefix()]);
        $urls = implode(',', array_values(servers()));
        $answers = $fpm->load('quorum.php', 4, 5, ['urls' => $urls, 'how' => 'turn']);
        self::assertSame(20, count($answers), 'the answers');
        self::assertSame([1], array_values(array_unique(array_column($answers, 'inside'))), 'how many were in it');
        self::assertSame(20, count(array_unique(array_column($answers, 'token'))), 'the tokens');
        for ($round = 0; $round < 3; $round++) {
            $took = 0.0;
            $stalls = stalls(function () use ($fpm, $urls, &$took) {
                $took = elapsed(function () use ($fpm, $urls) {
                    $answer = json_decode($fpm->get('quorum.php', ['urls' => $urls, 'how' => 'forget']), true);
                    self::assertSame(true, $answer['acquired'], 'whether it is acquired');
                });
            });
            // That takes three seconds.
            self::assertTrue($took < 2_500 + $stalls, "that it had not to wait for the end of a ttl: $took ms");
        }
        self::assertStringNotContainsString('signal', strtolower($fpm->log()));
    }
}
