<?php

declare(strict_types=1);

namespace Quotalock\Tests;

/** What is counted: exactly what happened, by name, in all workers of a pool, and never a key. */
final class MetricsTest extends TestCase
{
    /** What a script has counted in a process of its own that has `$client`: by name and labels. */
    private static function counted(string $script, string $url, array $options = [], array $environment = []): array
    {
        // The process' own thread may still count, so both forms are read until nothing changed between two readings.
        $code = "\$client = new Quotalock\\Client('$url', '" . prefix() . "', 10_000); $script; "
            . '$giveUp = microtime(true) + 50; do { $metrics = Quotalock\metrics(); $text = Quotalock\prometheus(); } '
            . 'while ($metrics != Quotalock\metrics() && microtime(true) < $giveUp); '
            . 'echo "\n--", json_encode([$metrics, $text], JSON_PARTIAL_OUTPUT_ON_ERROR);';
        [$output, $status] = php($code, $options, $environment);
        self::assertSame(0, $status, $output);
        [$metrics, $text] = json_decode(explode("\n--", $output)[1], true);
        $counts = self::counts($text);
        $told = [];
        foreach ($metrics as $metric) {
            foreach ($metric['samples'] as $sample) {
                $labels = [];
                foreach ($sample['labels'] as $name => $value) {
                    $labels[] = "$name=\"$value\"";
                }
                $histogram = $metric['kind'] === 'histogram' ? '_count' : '';
                $name = substr($metric['name'], strlen('quotalock_')) . $histogram;
                $labels = $labels ? '{' . implode(',', $labels) . '}' : '';
                $told[$name . $labels] = $sample['value'] ?? $sample['count'];
            }
        }
        self::assertSame($told, array_intersect_key($counts, $told), 'both say the same');
        return $counts;
    }

    /** What a text for Prometheus says. */
    private static function counts(string $text): array
    {
        preg_match_all('/^quotalock_(\S+?(?:\{.*\})?) (\d+)$/m', $text, $lines, PREG_SET_ORDER);
        return array_combine(array_column($lines, 1), array_map('intval', array_column($lines, 2)));
    }

    private static function decisions(array $counts): array
    {
        return array_filter($counts, fn ($name) => str_starts_with($name, 'decisions_total{'), ARRAY_FILTER_USE_KEY);
    }

    public function testDecisionsAreCountedByLimiterResultAndSource(): void
    {
        $server = new RedisServer();
        $counts = self::counted(
            '$n = $client->limiter("n", "3/hour"); $tried = $client->limiter("tried", "1/hour", enforce: false);'
            . 'for ($i = 0; $i < 5; $i++) { $n->consume("secret:42"); $tried->consume("k"); }'
            . 'try { $n->require("secret:42"); } catch (Quotalock\Exception\RateLimitedException) { }'
            . '$n->peek("k"); $n->refund("k", 1); $n->reset("k");'
            . '$client->consumeAll([[$n, "a", 1], [$tried, "k", 1]]);',
            $server->url(),
            ['-d', 'ratelimit.deny_cache_max_ms=60000']
        );
        self::assertSame([
            'decisions_total{limiter="n",result="allowed",source="redis"}' => 4,
            'decisions_total{limiter="n",result="denied",source="redis"}' => 1,
            'decisions_total{limiter="n",result="denied",source="deny-cache"}' => 2,
            'decisions_total{limiter="tried",result="allowed",source="redis"}' => 1,
            'decisions_total{limiter="tried",result="would_deny",source="redis"}' => 5,
        ], self::decisions($counts));
        self::assertSame(4 + 5 + 3 + 1, $counts['call_duration_seconds_count{kind="limiter"}']);
        self::assertStringNotContainsString('secret', json_encode($counts));
    }

    public function testAServerThatIsAwayShowsInDecisionsAndInItsBreaker(): void
    {
        $port = freePort();
        foreach (['closed' => ['denied', 'closed'], 'raise' => ['error', 'redis']] as $how => [$result, $source]) {
            $counts = self::counted(
                "\$away = new Quotalock\\Client('redis://app:s3cret@127.0.0.1:$port', onError: '$how');"
                . 'try { $away->limiter("n", "3/hour")->consume("k"); }'
                . 'catch (Quotalock\Exception\UnavailableException) { }',
                'memory://',
                ['-d', 'ratelimit.timeout_ms=10000']
            );
            self::assertSame(
                ["decisions_total{limiter=\"n\",result=\"$result\",source=\"$source\"}" => 1],
                self::decisions($counts)
            );
            self::assertSame(1, $counts["breaker_opened_total{server=\"127.0.0.1:$port\",trouble=\"unreachable\"}"]);
            self::assertStringNotContainsString('s3cret', json_encode($counts));
        }
    }

    public function testLocksStocksCachesAndOnceAreCounted(): void
    {
        $server = new RedisServer();
        $counts = self::counted(
            '$one = $client->lock("sku:42"); $other = $client->lock("sku:42");'
            . '$one->acquire(); $other->acquire(0); $other->acquire(30); $one->release(); $other->acquire(1_000);'
            . '$client->lock("sku:42")->forceRelease(); $other->extend();'
            . '$sale = $client->stock("sale"); $sale->open(2);'
            . 'foreach (["a", "b", "c"] as $buyer) { $sale->take($buyer, 1); }'
            . '$home = $client->cache("home"); $orders = $client->once("orders");'
            . 'for ($i = 0; $i < 2; $i++) { $home->get("k", fn () => "x"); $orders->run("secret:1", fn () => "x"); }',
            $server->url()
        );
        $expected = [
            'lock_acquisitions_total{result="acquired"}' => 2,
            'lock_acquisitions_total{result="refused"}' => 2,
            'lock_acquisitions_total{result="error"}' => 0,
            'lock_wait_seconds_count' => 4,
            'lock_hold_seconds_count' => 2,
            'locks_lost_total' => 1,
            'lock_releases_total' => 1,
            'stock_takes_total{stock="sale",outcome="held"}' => 2,
            'stock_takes_total{stock="sale",outcome="sold_out"}' => 1,
            'cache_gets_total{cache="home",result="hit"}' => 1,
            'cache_gets_total{cache="home",result="loaded"}' => 1,
            'once_total{once="orders",result="repeated"}' => 1,
            'once_total{once="orders",result="first"}' => 1,
        ];
        self::assertSame($expected, array_intersect_key($counts, $expected));
        self::assertSame(0, preg_match('/secret|sku/', json_encode($counts)));
    }

    public function testWhicheverWorkerOfFpmIsAskedTellsOfAllAlsoOfThoseThatWereKilled(): void
    {
        $server = new RedisServer();
        $fpm = new Fpm(pool($server, 'pm = static', 'pm.max_children = 4', 'pm.max_requests = 20'));
        $answers = $fpm->load('metrics.php', 4, 50);
        self::assertGreaterThan(4, count(array_unique(array_column($answers, 'pid'))), 'that workers were recycled');
        try {
            $fpm->get('metrics.php', ['kill' => 1]);
        } catch (\RuntimeException) {
            // It was killed before it had answered.
        }
        for ($asked = 0; $asked < 8; $asked++) {
            $decisions = self::decisions(self::counts($fpm->get('metrics.php', ['tell' => 1])));
            self::assertSame(10, $decisions['decisions_total{limiter="page",result="allowed",source="redis"}']);
            self::assertSame(201, array_sum($decisions), 'every decision of every worker');
        }
    }

    public function testProcessesThatNameAFileCountTogether(): void
    {
        $file = sys_get_temp_dir() . '/quotalock-metrics-' . bin2hex(random_bytes(6));
        $consume = '$client->limiter("n", "9/hour")->consume("k");';
        $name = 'decisions_total{limiter="n",result="allowed",source="memory"}';
        try {
            $ways = [[['-d', "ratelimit.metrics_file=$file"], []], [[], ['QUOTALOCK_METRICS_FILE' => $file]]];
            foreach ([...$ways, ...$ways] as $at => [$options, $environment]) {
                self::assertSame($at + 1, self::counted($consume, 'memory://', $options, $environment)[$name]);
            }
            self::assertSame(1, self::counted($consume, 'memory://')[$name], 'and nobody else');
        } finally {
            @unlink($file);
        }
        [$told] = php('echo "went on";', ['-d', 'ratelimit.metrics_file=/proc/no/such']);
        self::assertStringContainsString('metrics file /proc/no/such cannot be made', $told);
        self::assertStringEndsWith('went on', $told);
    }

    public function testPhpinfoSaysWhoCountsTogetherAndTheEnvironmentSwitchesItOff(): void
    {
        [$info] = php(null, ['--ri', 'ratelimit']);
        self::assertStringContainsString('Metrics => counted by the workers together', $info);
        [$info] = php(null, ['--ri', 'ratelimit'], ['QUOTALOCK_METRICS' => 'off']);
        self::assertStringContainsString('Metrics => off', $info);
        $off = ['QUOTALOCK_METRICS' => 'off'];
        self::assertSame([], self::counted('$client->limiter("n", "9/hour")->consume("k");', 'memory://', [], $off));
    }
}
