<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Lock;

/** Locks and the end of what holds them: of the request, the process, or of its patience. */
final class LockEndsTest extends TestCase
{
    /**
     * How a script can end while it holds a lock.
     *
     * @return array<string, array{string}>
     */
    public static function ends(): array
    {
        return [
            'return' => [''],
            'exit' => ['exit(3);'],
            'exception' => ['throw new DomainException("thrown");'],
            'error' => ['trigger_error("the end", E_USER_ERROR);'],
            'undefined' => ['nosuch();'],
            'memory' => ['str_repeat("x", 1 << 40);'],
            'time' => ['set_time_limit(1); for (;;);'],
            'handler' => ['pcntl_async_signals(true); pcntl_signal(SIGUSR1, function () { exit(4); });
                posix_kill(getmypid(), SIGUSR1); sleep(1);'],
        ];
    }

    /** Runs a script that knows `$client` and a `$lock` of a minute; returns its output and a handle for that lock. */
    private static function script(string $code, array $environment = []): array
    {
        $environment += ['SERVER' => server(), 'PREFIX' => prefix()];
        $begin = '$client = new Quotalock\Client(getenv("SERVER"), getenv("PREFIX"));'
            . ' $lock = $client->lock("n", 60000);';
        [$output, $code] = php($begin . $code, ['-d', 'memory_limit=64M'], $environment);
        return [$output, (new Client($environment['SERVER'], $environment['PREFIX']))->lock('n'), $code];
    }

    /** @dataProvider ends */
    public function testALockThatIsStillHeldAtTheEndOfAScriptIsReleased(string $end): void
    {
        [$output, $lock] = self::script("echo \$lock->acquire() ? 'held,' : 'no,'; $end");
        self::assertStringContainsString('held,', $output);
        self::assertSame([], $lock->inspect()->holders, 'who holds it');
        self::assertTrue($lock->inspect()->token > 0, 'that it was held');
    }

    /** @dataProvider ends */
    public function testARunReleasesItsLockBeforeAnythingElseHappens(string $end): void
    {
        [$output, $lock, $code] = self::script(<<<CODE
            register_shutdown_function(function () use (\$client) {
                echo 'held by ', count(\$client->lock('n')->inspect()->holders), ' at the end';
            });
            \$lock->run(function (\$lock) { echo 'in,'; $end });
            CODE);
        self::assertStringContainsString('in,', $output);
        self::assertStringContainsString('held by 0 at the end', $output);
        self::assertSame([], $lock->inspect()->holders, 'who holds it');
        self::assertSame(
            ['' => 0, 'exit(3);' => 3][$end] ?? (str_contains($end, 'exit(4)') ? 4 : 255),
            $code,
            'the exit code'
        );
    }

    public function testLocksThatObjectsHoldInCirclesInStaticVariablesAndInEachOtherAreReleasedToo(): void
    {
        [, $lock] = self::script(<<<'CODE'
            class Circle { public $self; public $lock; }
            $circle = new Circle(); $circle->self = $circle; $circle->lock = $lock;
            $lock->acquire(); unset($circle, $lock);
            function keep($lock) { static $kept; $kept = $lock; $kept->acquire(); }
            keep($client->lock('m', 60000));
            $client->lock('o', 60000)->run(function () use ($client) {
                $inner = $client->lock('p', 60000);
                $inner->acquire();
                exit;
            });
            CODE);
        self::assertSame([], $lock->inspect()->holders, 'who holds n');
    }

    public function testTheEndOfAScriptWaitsAtMostAMomentForARedisThatIsAwayHoweverMuchItHolds(): void
    {
        foreach ([SIGSTOP, SIGKILL] as $signal) {
            $server = new RedisServer();
            $output = '';
            $took = 0.0;
            $code = <<<CODE
                \$locks = [];
                for (\$i = 0; \$i < 20; \$i++) {
                    \$locks[] = \$client->lock("n\$i", 60000);
                    \$locks[\$i]->acquire();
                }
                posix_kill({$server->pid()}, $signal);
                usleep(20_000);
                echo hrtime(true);
                CODE;
            $stalls = stalls(function () use ($code, $server, &$output, &$took) {
                [$output] = self::script($code, ['SERVER' => $server->url()]);
                $took = (hrtime(true) - (int) $output) / 1e6;
            });
            $server->signal(SIGCONT);
            // Each by itself may take half a second.
            self::assertTrue($took < 1_000 + $stalls, "that it took $took ms");
        }
    }

    public function testALockOfAProcessThatWasKilledEndsWithItsTtl(): void
    {
        $prefix = prefix();
        $before = hrtime(true);
        $pid = pcntl_fork();
        if ($pid === 0) {
            $lock = (new Client(server(), $prefix))->lock('n', 4_000);
            $lock->acquire();
            posix_kill(getmypid(), SIGKILL);
        }
        pcntl_waitpid($pid, $status);
        self::assertSame(SIGKILL, pcntl_wtermsig($status), 'what ended it');
        $lock = (new Client(server(), $prefix))->lock('n');
        self::assertSame($pid, $lock->inspect()->holders[0]->pid, 'who holds it');
        $stalls = stalls(fn () => self::assertSame(true, $lock->acquire(10_000), 'whether it is granted'));
        $took = (hrtime(true) - $before) / 1e6;
        self::assertTrue(
            $took >= 4_000 && $took < 7_000 + $stalls,
            "that it was granted $took ms after the other, or a little more"
        );
    }

    public function testAForkedChildHoldsNothingOfItsParentAndReleasesNothingOfIt(): void
    {
        $client = client(server());
        $lock = $client->lock('n');
        $lock->acquire();
        $held = $client->lock('n');
        $child = forked(fn () => [$lock->state, $lock->token, $lock->held, $lock->release(), $lock->acquire()]);
        self::assertSame(['released', null, false, false, false], $child(), 'what the child knows, and does');
        foreach (['exit(0);', '$lock = null; exit(0);', '$client->close(); exit(0);'] as $end) {
            $pid = pcntl_fork();
            if ($pid === 0) {
                eval($end);
            }
            pcntl_waitpid($pid, $status);
            self::assertSame([true, 1], [$lock->held, count($held->inspect()->holders)], "what is held after \"$end\"");
        }
        // The child waits with the parent's handle, over a connection of its own.
        $child = forked(fn () => [$lock->acquire(10_000), $lock->token]);
        eventually(fn () => $held->inspect()->waiters === 1, fn () => 'nobody waits');
        $token = $lock->token;
        self::assertSame(true, $lock->release(), 'whether the parent releases it');
        [$granted, $theirs] = $child();
        self::assertSame(true, $granted, 'whether the child gets it');
        self::assertTrue($theirs > $token, 'that its token is larger');
        eventually(fn () => $held->inspect()->holders === [], fn () => 'the child still holds it');
    }

    /** Runs it with a handler for a signal that arrives when somebody waits for the lock. */
    private static function disturbed(Lock $lock, \Closure $handler, \Closure $run): mixed
    {
        pcntl_async_signals(true);
        pcntl_signal(SIGUSR1, $handler);
        $parent = getmypid();
        $child = forked(function () use ($parent, $lock) {
            eventually(fn () => $lock->inspect()->waiters === 1, fn () => 'nobody waits');
            return posix_kill($parent, SIGUSR1);
        });
        try {
            return $run();
        } finally {
            $child();
            pcntl_signal(SIGUSR1, SIG_DFL);
            pcntl_async_signals(false);
        }
    }

    public function testAHandlerRunsWhileALockIsWaitedForWhichThenGoesOn(): void
    {
        $client = client(server());
        [$holder, $lock] = [$client->lock('n'), $client->lock('n')];
        $holder->acquire();
        $ran = [];
        $granted = self::disturbed($holder, function () use (&$ran, $holder, $client) {
            // Its own calls are no matter, and it may release what is waited for.
            $ran = [isFree($client, 'other'), $holder->release()];
        }, fn () => $lock->acquire(10_000));
        self::assertSame([true, true, true], [$granted, ...$ran], 'what happened');
    }

    public function testWhatAHandlerThrowsEndsTheWaitWhichLeavesNothing(): void
    {
        $client = client(server());
        [$holder, $lock] = [$client->lock('n'), $client->lock('n')];
        $holder->acquire();
        $took = elapsed(fn () => thrown(\DomainException::class, fn () => self::disturbed(
            $holder,
            fn () => throw new \DomainException('enough'),
            fn () => $lock->acquire(60_000)
        )));
        // It would have waited for a minute.
        self::assertTrue($took < 20_000, "that the wait ended after $took ms");
        self::assertSame('released', $lock->state, 'what it is');
        eventually(fn () => $holder->inspect()->waiters === 0, fn () => 'somebody waits');
        $holder->release();
        self::assertSame(true, $lock->acquire(), 'whether it can be acquired');
    }

    public function testExitInAHandlerAndTheTimeLimitEndAWaitAndLeaveNothing(): void
    {
        $ends = [
            'exit' => [
                'pcntl_async_signals(true); pcntl_signal(SIGUSR1, function () { echo "bye"; exit(3); });',
                SIGUSR1,
            ],
            'time' => ['set_time_limit(30);', SIGPROF],
        ];
        foreach ($ends as $how => [$begin, $signal]) {
            $prefix = prefix();
            $holder = (new Client(server(), $prefix))->lock('n');
            $holder->acquire();
            // On Linux the limit counts processor time, of which a wait takes none: its signal is sent by hand.
            [$output] = self::script(<<<CODE
                $begin
                \$parent = getmypid();
                if (pcntl_fork() === 0) {
                    while (\$lock->inspect()->waiters === 0) usleep(1_000);
                    posix_kill(\$parent, $signal);
                    posix_kill(getmypid(), SIGKILL);
                }
                \$lock->acquire(60_000);
                echo 'never';
                CODE, ['PREFIX' => $prefix]);
            self::assertStringNotContainsString('never', $output);
            self::assertStringContainsString(
                $how === 'exit' ? 'bye' : 'Maximum execution time of 30 seconds exceeded',
                $output
            );
            eventually(fn () => $holder->inspect()->waiters === 0, fn () => "somebody waits after $how");
            self::assertSame(1, count($holder->inspect()->holders), "who holds it after $how");
        }
    }

    public function testPhpFpmReleasesWhatARequestForgotHoweverItEndedAndKeepsNothingForTheNext(): void
    {
        $server = new RedisServer();
        $fpm = new Fpm(pool($server, 'pm = static', 'pm.max_children = 1', 'php_admin_value[memory_limit] = 64M'));
        $lock = (new Client($server->url(), 'pool'))->lock('n');
        $pids = [];
        for ($round = 0; $round < 2; $round++) {
            foreach (['return', 'exit', 'exception', 'error', 'memory', 'time', 'close', 'in run', 'static'] as $how) {
                $body = $fpm->get('lock.php', ['how' => $how]);
                $answer = json_decode(strstr($body, '}', true) . '}', true);
                self::assertIsArray($answer, "what was answered to \"$how\": $body");
                self::assertSame(true, $answer['acquired'], "whether the request that ends by $how gets it");
                $pids[] = $answer['pid'];
                eventually(fn () => $lock->inspect()->holders === [], fn () => "it is still held after $how");
            }
        }
        self::assertSame(1, count(array_unique($pids)), 'the workers');
        self::assertStringNotContainsString('signal', strtolower($fpm->log()));
    }

    public function testWorkersOfPhpFpmWaitForEachOtherAndNoneGetsInBetween(): void
    {
        $server = new RedisServer();
        $fpm = new Fpm(pool($server, 'pm = static', 'pm.max_children = 6'));
        $answers = $fpm->load('lock.php', 6, 20, ['how' => 'turn']);
        self::assertSame(120, count($answers), 'the answers');
        self::assertSame([1], array_values(array_unique(array_column($answers, 'inside'))), 'how many were in it');
        $tokens = array_column($answers, 'token');
        self::assertSame(120, count(array_unique($tokens)), 'the tokens');
        $clients = (new Connection($server->url()))->clients();
        $subscriptions = array_filter($clients, fn (array $each) => $each['sub'] > 0);
        self::assertTrue(count($subscriptions) <= 6, 'that each worker has at most one subscription');
        self::assertSame([], (new Client($server->url(), 'pool'))->lock('n')->inspect()->holders, 'who holds it');
    }

    public function testAKilledWorkerOfPhpFpmHoldsItsLockUntilItsTtlAndNoLonger(): void
    {
        $server = new RedisServer();
        $fpm = new Fpm(pool($server, 'pm = static', 'pm.max_children = 1'));
        $dying = forked(function () use ($fpm) {
            try {
                return $fpm->get('lock.php', ['how' => 'sleep', 'ttl' => 5_000]);
            } catch (\Throwable) {
                return 'cut off';
            }
        });
        $lock = (new Client($server->url(), 'pool'))->lock('n');
        eventually(fn () => $lock->inspect()->holders !== [], fn () => 'nobody holds it');
        $holder = $lock->inspect()->holders[0];
        posix_kill($holder->pid, SIGKILL);
        $dying();
        self::assertSame(false, $lock->acquire(), 'whether it is free at once');
        $stalls = stalls(fn () => self::assertSame(true, $lock->acquire(10_000), 'whether it is free in the end'));
        $early = $holder->untilMs - $lock->inspect()->holders[0]->sinceMs;
        self::assertTrue($early <= 0 && $early > -2_000 - $stalls, "that it was granted $early ms before its end");
    }
}
