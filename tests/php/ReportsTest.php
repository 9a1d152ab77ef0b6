<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;

/** Reports: with `report` a process tells Redis, in the background, what its limiters decided. */
final class ReportsTest extends TestCase
{
    /** Fields and values of all reports, one after another. */
    private static function told(RedisServer $server, string $prefix): array
    {
        $entries = (new Connection($server->url()))->xrange("$prefix:reports", '-', '+') ?: [];
        return array_merge([], ...array_column($entries, 1));
    }

    /** How often this was decided. */
    private static function counted(array $told, string $result): int
    {
        preg_match_all("/\\b$result [a-z-]+ (\\d+)/", implode("\n", $told), $found);
        return (int) array_sum($found[1]);
    }

    private static function until(callable $enough): void
    {
        $end = hrtime(true) + 30_000_000_000;
        while (!$enough()) {
            self::assertLessThan($end, hrtime(true), 'it was not reported');
            usleep(20_000);
        }
    }

    public function testABurstIsReportedThoughSilenceFollows(): void
    {
        $server = new RedisServer();
        $limiter = (new Client($server->url(), $prefix = prefix(), report: true))->limiter('login', '5/hour');
        for ($call = 0; $call < 12; $call++) {
            $limiter->consume('k');
        }
        self::until(fn () => self::counted(self::told($server, $prefix), 'denied') === 7);
        $told = self::told($server, $prefix);
        self::assertSame(5, self::counted($told, 'allowed'));
        self::assertContains((string) getmypid(), $told);
        self::assertNotEmpty(preg_grep('/^php\\/\\d/', $told));
        self::assertNotEmpty(preg_grep('/^\\d+ 0 \\d+ 5\\/hour$/', $told));
    }

    public function testWithoutTheOptionNothingIsReported(): void
    {
        $server = new RedisServer();
        (new Client($server->url(), $prefix = prefix()))->limiter('n', '5/hour')->consume('k');
        self::assertSame([], self::told($server, $prefix));
        self::assertSame(0, (new Connection($server->url()))->exists("$prefix:reports"));
    }

    public function testAScriptReportsAtItsEndAndTheIniSwitchesItOn(): void
    {
        $server = new RedisServer();
        $code = '(new Quotalock\Client())->limiter("n", "5/hour")->consume("k");';
        foreach (['On' => 1, 'Off' => 1, '1' => 2, '0' => 2] as $report => $reported) {
            [$output] = php($code, ['-d', "ratelimit.report=$report", '-d', "ratelimit.url={$server->url()}"]);
            self::assertSame('', $output);
            self::assertSame($reported, self::counted(self::told($server, 'ql'), 'allowed'), "with report=$report");
        }
        [$output] = php($code, ['-d', 'ratelimit.report=maybe', '-d', "ratelimit.url={$server->url()}"]);
        self::assertStringContainsString('report of "maybe" is neither On nor Off', $output);
    }

    public function testAWorkerOfFpmReportsOnceASecondAcrossItsRequests(): void
    {
        $server = new RedisServer();
        $fpm = new Fpm(pool($server, 'pm = static', 'pm.max_children = 1', 'php_value[ratelimit.report] = 1'));
        $began = hrtime(true);
        $answers = $fpm->load('shop.php', 2, 200);
        self::assertCount(400, $answers);
        $reports = fn () => (new Connection($server->url()))->xrange('pool:reports', '-', '+') ?: [];
        $told = fn () => array_merge([], ...array_column($reports(), 1));
        self::until(fn () => self::counted($told(), 'allowed') + self::counted($told(), 'denied') === 800);
        // Each request asks twice: for one of a hundred, and for something of its own.
        self::assertSame(500, self::counted($told(), 'allowed'));
        $seconds = intdiv(hrtime(true) - $began, 1_000_000_000);
        self::assertLessThanOrEqual($seconds + 1, count($reports()));
    }
}
