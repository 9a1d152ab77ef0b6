<?php

declare(strict_types=1);

namespace Quotalock\Tests;

/** php-fpm: workers that share nothing but the limit, that are recycled, and that inherit what they must not use. */
final class FpmTest extends TestCase
{
    /** Fails unless exactly the limit was admitted, and each of its places once. */
    private static function soldOut(array $answers, int $requests): void
    {
        self::assertSame($requests, count($answers), 'the answers');
        $admitted = array_filter($answers, fn (array $answer) => $answer['admitted']);
        $left = array_column($admitted, 'left');
        sort($left);
        self::assertSame(range(0, 99), $left, 'what was left at each admission');
        self::assertSame(
            [],
            array_values(array_filter($answers, fn (array $answer) => !$answer['right'])),
            'the wrong answers'
        );
    }

    public function testEightStaticWorkersAdmitExactlyTheLimitOverAConnectionEach(): void
    {
        $server = new RedisServer();
        $asks = 'php_value[ratelimit.deny_cache_max_ms] = 0';
        $fpm = new Fpm(pool($server, 'pm = static', 'pm.max_children = 8', $asks));
        $answers = $fpm->load('shop.php', 8, 50);
        self::soldOut($answers, 400);
        $pids = array_unique(array_column($answers, 'pid'));
        self::assertTrue(count($pids) > 1 && count($pids) <= 8, 'that several workers answered');
        self::assertSame(
            ["127.0.0.1:$server->port"],
            array_unique(array_column($answers, 'server')),
            'the server of the pool'
        );
        $connections = (new Connection($server->url()))->info('stats')['total_connections_received'];
        // One for each worker at most, this one, and the one that asked whether the server listens.
        self::assertTrue($connections <= 10, "that $connections connections outlive their requests");
        self::assertSame(800, self::callsOf($server), 'the commands, one for each decision');
    }

    /** How often scripts were called that were known, or sent whole. */
    private static function callsOf(RedisServer $server): int
    {
        $calls = 0;
        foreach ((new Connection($server->url()))->info('commandstats') as $command => $stats) {
            if (preg_match('/^cmdstat_eval(sha)?$/', $command)) {
                preg_match('/calls=(\d+),.*failed_calls=(\d+)/', $stats, $found);
                $calls += (int) $found[1] - (int) $found[2];
            }
        }
        return $calls;
    }

    public function testWorkersThatComeOnDemandAndAreRecycledAdmitExactlyTheLimit(): void
    {
        $server = new RedisServer();
        $manager = ['pm = ondemand', 'pm.max_children = 8', 'pm.process_idle_timeout = 1s', 'pm.max_requests = 20'];
        $fpm = new Fpm(pool($server, ...$manager));
        $answers = $fpm->load('shop.php', 8, 50, ['exit' => 1]);
        self::soldOut($answers, 400);
        self::assertTrue(count(array_unique(array_column($answers, 'pid'))) >= 20, 'that workers were recycled');
        self::assertStringNotContainsString('signal', strtolower($fpm->log()));
    }

    public function testAWorkerWhoseScriptEndedInTheMiddleServesTheNextOne(): void
    {
        $server = new RedisServer();
        $fpm = new Fpm(pool($server, 'pm = static', 'pm.max_children = 1', 'php_admin_value[memory_limit] = 64M'));
        $left = 100;
        $pids = [];
        for ($round = 0; $round < 5; $round++) {
            foreach (['exit', 'exception', 'error', 'memory', 'close'] as $how) {
                $body = $fpm->get('end.php', ['how' => $how]);
                $answer = json_decode(strstr($body, '}', true) . '}', true);
                self::assertIsArray($answer, "what was answered to \"$how\": $body");
                self::assertSame(--$left, $answer['left'], "what was left after $how");
                $pids[] = $answer['pid'];
            }
        }
        self::assertSame(1, count(array_unique($pids)), 'the workers');
        // Ours, this one, and the one that asked whether the server listens.
        self::assertTrue(
            (new Connection($server->url()))->info('stats')['total_connections_received'] <= 3,
            'that the connection stayed'
        );
    }

    public function testAHookEndsWithItsRequest(): void
    {
        $server = new RedisServer();
        $settings = ['pm = static', 'pm.max_children = 1', 'php_admin_value[memory_limit] = 64M'];
        $fpm = new Fpm(pool($server, ...$settings, ...['php_admin_flag[display_errors] = off']));
        $answers = [];
        for ($round = 0; $round < 60; $round++) {
            foreach (['exit', 'memory', 'exception', 'fine', 'none'] as $how) {
                $answer = json_decode($fpm->get('hook.php', ['how' => $how]), true);
                if ($how !== 'memory') {
                    self::assertSame($how === 'none' ? [] : [1], $answer['told'] ?? null, "what was told: $how");
                    $answers[] = $answer;
                }
            }
        }
        self::assertSame(1, count(array_unique(array_column($answers, 'pid'))), 'the workers');
        $resident = array_column($answers, 'resident');
        self::assertTrue(end($resident) - $resident[30] < 1 << 20, 'that the worker\'s memory stays the same');
    }

    public function testAConnectionOpenedBeforeTheWorkersWereForkedIsUsedByNoneOfThem(): void
    {
        $server = new RedisServer();
        $user = posix_getpwuid(posix_getuid())['name'];
        $options = ['-d', 'opcache.enable=1', '-d', "opcache.preload_user=$user", '-d', 'opcache.preload='
            . __DIR__ . '/scripts/preload.php', '-d', "ratelimit.url={$server->url()}", '-d', 'ratelimit.prefix=pool',
            '-d', 'ratelimit.timeout_ms=10000'];
        $fpm = new Fpm(['pm = static', 'pm.max_children = 8'], $options);
        $asked = (new Connection($server->url()))->exists('pool:limit:preload:{k}');
        self::assertSame(1, $asked, 'whether the parent asked');
        self::soldOut($fpm->load('shop.php', 8, 50), 400);
    }

    public function testWhatAnAdministratorSetsForAPoolShowsAsSuchHidesItsPasswordAndStays(): void
    {
        $fpm = new Fpm([
            'pm = static',
            'pm.max_children = 1',
            'php_admin_value[ratelimit.url] = redis://app:s3cret@host:7/1',
            'php_value[ratelimit.prefix] = pool',
        ]);
        $settings = json_decode($fpm->get('settings.php'), true);
        self::assertSame(['host:7', 'pool'], [$settings['server'], $settings['prefix']], 'the settings in force');
        self::assertSame([false, 'pool'], [$settings['url set'], $settings['prefix set']], 'what a script may change');
        self::assertStringNotContainsString('s3cret', $settings['info']);
        $info = preg_replace('/\s+/', ' ', $settings['info']);
        self::assertStringContainsString('ratelimit.url => redis://***@host:7/1 => php_admin_value', $info);
        self::assertStringContainsString('ratelimit.prefix => pool => php_value or ini_set', $info);
    }
}
