<?php

declare(strict_types=1);

namespace Quotalock\Tests;

/** A call that waits lets signal handlers run, and ends when they, or PHP's time limit, end the script. */
final class SignalsTest extends TestCase
{
    /** Runs it with a handler for a signal that arrives after a while. */
    private static function signalled(\Closure $handler, \Closure $run): mixed
    {
        pcntl_async_signals(true);
        pcntl_signal(SIGUSR1, $handler);
        $parent = getmypid();
        $child = forked(function () use ($parent) {
            usleep(150_000);
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

    /** @return array<string, array{string}> the URLs on which a call waits in its own way */
    public static function blocking(): array
    {
        return ['memory' => ['memory://'], 'redis' => [server()]];
    }

    /** @dataProvider blocking */
    public function testAHandlerRunsWhileACallWaitsWhichThenGoesOn(string $url): void
    {
        $limiter = client($url)->limiter('n', '1/4s');
        $limiter->consume('k');
        $ran = [];
        $decision = self::signalled(function () use (&$ran, $limiter) {
            // Its own calls are no matter.
            $ran[] = $limiter->consume('other')->allowed;
        }, function () use ($limiter, &$ran) {
            $decision = $limiter->wait('k', 20_000);
            self::assertSame([true], $ran, 'what the handler did before the end of the wait');
            return $decision;
        });
        self::assertSame([true, 0], [$decision->allowed, $decision->remaining], 'the decision');
    }

    /** @dataProvider blocking */
    public function testWhatAHandlerThrowsEndsTheWait(string $url): void
    {
        $limiter = client($url)->limiter('n', '1/minute');
        $limiter->consume('k');
        $took = elapsed(fn () => thrown(\DomainException::class, fn () => self::signalled(
            fn () => throw new \DomainException('enough'),
            fn () => $limiter->wait('k', 120_000)
        )));
        // It would have waited for a minute.
        self::assertTrue($took < 20_000, "that the wait ended after $took ms");
        self::assertSame(false, $limiter->consume('k')->allowed, 'whether the next call is admitted');
    }

    public function testExitInAHandlerEndsTheScriptWithItsDestructorsAndItsExitCode(): void
    {
        [$output, $code] = php(<<<'CODE'
            pcntl_async_signals(true);
            pcntl_signal(SIGALRM, function () { echo 'bye,'; exit(3); });
            register_shutdown_function(function () { echo 'shut down,'; });
            class Last { function __destruct() { echo 'destroyed'; } }
            $last = new Last();
            $limiter = (new Quotalock\Client('memory://'))->limiter('n', '1/minute');
            $limiter->consume('k');
            pcntl_alarm(1);
            $limiter->wait('k', 120000);
            echo 'never';
            CODE);
        self::assertSame(['bye,shut down,destroyed', 3], [$output, $code], 'how it ended');
    }

    public function testTheTimeLimitEndsAWaitWithPHPsOwnError(): void
    {
        // On Linux the limit counts processor time, of which a wait takes none: its signal is sent by hand.
        $code = <<<'CODE'
            set_time_limit(30);
            register_shutdown_function(function () { echo 'shut down'; });
            $limiter = (new Quotalock\Client('memory://'))->limiter('n', '1/minute');
            $limiter->consume('k');
            $parent = getmypid();
            if (pcntl_fork() === 0) {
                usleep(200_000);
                posix_kill($parent, SIGPROF);
                posix_kill(getmypid(), SIGKILL);
            }
            $limiter->wait('k', 120000);
            echo 'never';
            CODE;
        $result = null;
        $took = elapsed(function () use ($code, &$result) {
            $result = php($code);
        });
        self::assertStringContainsString('Maximum execution time of 30 seconds exceeded', $result[0]);
        self::assertStringContainsString('shut down', $result[0]);
        self::assertStringNotContainsString('never', $result[0]);
        self::assertSame(255, $result[1], 'the exit code');
        // It would have waited for a minute.
        self::assertTrue($took < 20_000, "that it took only $took ms");
    }

    public function testExitInTheMiddleOfAScriptClosesNothingTwice(): void
    {
        foreach (['exit(4);', 'throw new Exception("x");', 'trigger_error("x", E_USER_ERROR);'] as $end) {
            $code = '$l = (new Quotalock\Client(getenv("SERVER")))->limiter("n", "100/minute"); $l->consume("exit");'
                . "register_shutdown_function(fn () => print(\$l->consume('exit')->source)); $end";
            [$output, $code] = php($code, environment: ['SERVER' => server()]);
            self::assertStringContainsString('redis', $output);
            self::assertSame($end === 'exit(4);' ? 4 : 255, $code, 'the exit code');
        }
    }
}
