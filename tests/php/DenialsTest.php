<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Exception\InvalidArgumentException;
use Quotalock\Exception\RateLimitedException;

/** Remembered denials: this process, its children and its fellow workers answer without asking. */
final class DenialsTest extends TestCase
{
    public function testADenialIsAnsweredAgainWithoutAskingUntilItIsReset(): void
    {
        $server = new RedisServer();
        $limiter = (new Client($server->url(), prefix(), denyCacheMaxMs: 60_000))->limiter('n', '10/hour');
        self::assertTrue($limiter->consume('k', 8)->allowed);
        self::assertSame('redis', $limiter->consume('k', 3)->source);
        $asked = self::calls($server);
        $known = $limiter->consume('k', 3);
        $told = [$known->source, $known->allowed, $known->remaining, $known->cost];
        self::assertSame(['deny-cache', false, 2, 3], $told);
        self::assertGreaterThan(3_500_000, $known->retryAfterMs);
        self::assertSame('deny-cache', $limiter->consume('k', 9)->source);
        self::assertNull($limiter->consume('k', 11)->retryAfterMs);
        try {
            $limiter->require('k', 3);
            self::fail('it was not refused');
        } catch (RateLimitedException $limited) {
            self::assertSame('deny-cache', $limited->getDecision()->source);
            self::assertStringContainsString('"k" is over the limit of "n"', $limited->getMessage());
        }
        self::assertSame($asked, self::calls($server), 'the calls that the server saw');
        self::assertTrue($limiter->consume('k', 2)->allowed, 'a lower cost is asked about');
        $limiter->refund('k', 5);
        self::assertTrue($limiter->consume('k', 3)->allowed);
        self::assertFalse($limiter->consume('k', 3)->allowed);
        self::assertTrue($limiter->reset('k'));
        self::assertTrue($limiter->consume('k', 3)->allowed);
    }

    public function testItIsTrustedForSoLongAndSwitchedOffByZero(): void
    {
        $server = new RedisServer();
        $off = (new Client($server->url(), prefix(), denyCacheMaxMs: 0))->limiter('n', '1/hour');
        $off->consume('k');
        self::assertSame(['redis', 'redis'], [$off->consume('k')->source, $off->consume('k')->source]);
        $brief = (new Client($server->url(), prefix(), denyCacheMaxMs: 40))->limiter('n', '1/hour');
        $brief->consume('k');
        $asked = $brief->consume('k');
        self::assertSame('redis', $asked->source);
        $until = hrtime(true) + 40_000_000;
        do {
            $source = $brief->consume('k')->source;
        } while ($source === 'deny-cache');
        self::assertSame(['redis', true], [$source, hrtime(true) >= $until - 5_000_000]);
        foreach ([-1, 60_001] as $ms) {
            thrown(InvalidArgumentException::class, fn () => new Client('memory://', denyCacheMaxMs: $ms));
        }
    }

    public function testAForkedChildKnowsWhatItsParentWasDenied(): void
    {
        $server = new RedisServer();
        $limiter = (new Client($server->url(), prefix(), denyCacheMaxMs: 60_000))->limiter('n', '1/hour');
        $limiter->consume('k');
        $limiter->consume('k');
        $child = pcntl_fork();
        if ($child === 0) {
            $known = $limiter->consume('k')->source === 'deny-cache' && $limiter->reset('k');
            posix_kill(getmypid(), $known ? SIGKILL : SIGTERM);
        }
        pcntl_waitpid($child, $status);
        self::assertSame(SIGKILL, pcntl_wtermsig($status));
        self::assertTrue($limiter->consume('k')->allowed, 'the child has reset it');
    }

    public function testWorkersOfFpmShareDenialsAndUnderAttackTheServerSeesFewCalls(): void
    {
        $server = new RedisServer();
        $fpm = new Fpm(pool($server, 'pm = static', 'pm.max_children = 4'));
        $fpm->load('denied.php', 4, 20, ['policy' => '5/hour']);
        $before = self::calls($server);
        $answers = $fpm->load('denied.php', 4, 500, ['policy' => '5/hour', 'calls' => 10]);
        $asked = self::calls($server) - $before;
        self::assertSame(2_000, count($answers));
        $workers = array_unique(array_column(array_filter($answers, fn ($a) => $a['cached'] > 0), 'pid'));
        self::assertGreaterThan(1, count($workers), 'that workers know what others were denied');
        self::assertSame([0], array_values(array_unique(array_column($answers, 'admitted'))));
        self::assertLessThan(20_000 * 2 / 100, $asked, 'the calls that the server saw of 20,000');
        $reset = json_decode($fpm->get('denied.php', ['reset' => 1, 'policy' => '5/hour']), true);
        self::assertTrue($reset['reset']);
        $admitted = array_sum(array_column($fpm->load('denied.php', 4, 20, ['policy' => '5/hour']), 'admitted'));
        self::assertSame(5, $admitted, 'what was admitted after one worker reset it');
    }

    public function testTheSizeComesFromIniAndIsShown(): void
    {
        [$info] = php(null, ['--ri', 'ratelimit']);
        self::assertStringContainsString('ratelimit.deny_cache_kb => 2048 => default', $info);
        self::assertStringContainsString('ratelimit.deny_cache_max_ms => 1000 => default', $info);
        self::assertMatchesRegularExpression('/Remembered denials => 0 of \d+, shared by the workers/', $info);
        [$info] = php(null, ['-d', 'ratelimit.deny_cache_kb=64', '--ri', 'ratelimit']);
        self::assertStringContainsString('ratelimit.deny_cache_kb => 64 => ini file or -d', $info);
        [$info] = php(null, ['-d', 'ratelimit.deny_cache_kb=0', '--ri', 'ratelimit']);
        self::assertStringContainsString('Remembered denials => off', $info);
        foreach (['15', '-1', 'much', '1048577', '1.5'] as $size) {
            [$told] = php('echo "went on";', ['-d', "ratelimit.deny_cache_kb=$size"]);
            self::assertStringContainsString('deny_cache_kb of ', $told);
            self::assertStringContainsString($size, $told);
            self::assertStringEndsWith('went on', $told);
        }
    }

    public function testWithoutMemoryForItEveryCallAsks(): void
    {
        $server = new RedisServer();
        $code = '$l = (new Quotalock\Client())->limiter("n", "1/hour");'
            . 'for ($i = 0; $i < 3; $i++) { echo $l->consume("k")->source, " "; }';
        [$output] = php($code, ['-d', 'ratelimit.deny_cache_kb=0', '-d', "ratelimit.url={$server->url()}"]);
        self::assertSame('redis redis redis ', $output);
    }

    private static function calls(RedisServer $server): int
    {
        $stats = (new Connection($server->url()))->info('commandstats')['cmdstat_evalsha'] ?? 'calls=0';
        preg_match('/calls=(\d+)/', $stats, $found);
        return (int) $found[1];
    }
}
