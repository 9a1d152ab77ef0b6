<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;

/** How a loader and whoever waits for one can end: nothing of them stays behind. */
final class CacheEndsTest extends TestCase
{
    /**
     * How a loader can end without a value, and what its script's exit code is then.
     *
     * @return array<string, array{string, int}>
     */
    public static function stops(): array
    {
        return [
            'exit' => ['exit(3);', 3],
            'exception' => ['throw new DomainException("thrown");', 255],
            'error' => ['trigger_error("the end", E_USER_ERROR);', 255],
            'undefined' => ['nosuch();', 255],
            'memory' => ['str_repeat("x", 1 << 40);', 255],
            'time' => ['set_time_limit(1); for (;;);', 255],
            'handler' => ['pcntl_async_signals(true); pcntl_signal(SIGUSR1, function () { exit(4); });
                posix_kill(getmypid(), SIGUSR1); sleep(1);', 4],
            'array' => ['return [];', 255],
        ];
    }

    /** @dataProvider stops */
    public function testHoweverALoaderEndsTheNextOneLoadsAtOnce(string $stop, int $wanted): void
    {
        $prefix = prefix();
        $begin = '$client = new Quotalock\Client(getenv("SERVER"), getenv("PREFIX"));';
        $calls = [
            '$client->cache("home", leaseMs: 60_000, errorTtlMs: 0)->get("x", $end);',
            '$client->cache("home", leaseMs: 60_000, errorTtlMs: 0)->getMany(["y", "z"], $end);',
            '$client->cache("home", leaseMs: 60_000, errorTtlMs: 0)->getJson("j", $end);',
            '$client->once("coupon", leaseMs: 60_000)->run("x", $end);',
        ];
        foreach ($calls as $i => $call) {
            if ($stop === 'return [];' && $i !== 0) {
                continue;
            }
            $code = "$begin \$end = function () { echo 'in,'; $stop }; $call echo 'never';";
            $environment = ['SERVER' => server(), 'PREFIX' => $prefix];
            [$output, $exit] = php($code, ['-d', 'memory_limit=64M'], $environment);
            self::assertStringContainsString('in,', $output);
            self::assertStringNotContainsString('never', $output);
            self::assertSame($wanted, $exit, 'the exit code');
        }
        $client = new Client(server(), $prefix);
        $cache = $client->cache('home');
        self::assertSame('v', $cache->get('x', fn () => 'v', 0), 'what get loads');
        self::assertSame(
            ['y' => 'v', 'z' => null],
            $cache->getMany(['y', 'z'], fn () => ['y' => 'v'], 0),
            'what getMany loads'
        );
        self::assertSame([1], $cache->getJson('j', fn () => [1], 0), 'what getJson loads');
        self::assertSame('v', $client->once('coupon')->run('x', fn () => 'v', 0), 'what run returns');
    }

    public function testWhatAHandlerThrowsAndExitInItEndAWaitAndLeaveNothing(): void
    {
        $ends = ['throw new DomainException("enough");' => 'enough', 'echo "bye"; exit(3);' => 'bye'];
        foreach ($ends as $do => $says) {
            $prefix = prefix();
            $cache = (new Client(server(), $prefix))->cache('home', leaseMs: 60_000);
            $output = '';
            $cache->get('x', function () use ($do, $prefix, &$output) {
                $code = <<<CODE
                    pcntl_async_signals(true);
                    pcntl_signal(SIGALRM, function () { $do });
                    pcntl_alarm(1);
                    \$client = new Quotalock\Client(getenv('SERVER'), getenv('PREFIX'));
                    \$cache = \$client->cache('home', leaseMs: 60_000);
                    \$cache->get('x', fn () => 'never', 60_000);
                    echo 'never';
                    CODE;
                $took = elapsed(function () use ($code, $prefix, &$output) {
                    [$output] = php($code, [], ['SERVER' => server(), 'PREFIX' => $prefix]);
                });
                // It would have waited for a minute.
                self::assertTrue($took < 20_000, "that the wait ended after $took ms");
                return 'v';
            });
            self::assertStringContainsString($says, $output);
            self::assertStringNotContainsString('never', str_replace("'never'", '', $output));
            self::assertSame('v', $cache->get('x', never(...)), 'what is there');
            self::assertSame(true, $cache->invalidate('x'), 'whether it was');
            self::assertSame('w', $cache->get('x', fn () => 'w', 0), 'what is loaded');
        }
    }

    public function testPhpFpmFreesWhatARequestWasLoadingHoweverItEnded(): void
    {
        $server = new RedisServer();
        $fpm = new Fpm(pool($server, 'pm = static', 'pm.max_children = 1', 'php_admin_value[memory_limit] = 64M'));
        $cache = (new Client($server->url(), 'pool'))->cache('home');
        foreach (['exit', 'exception', 'error', 'memory', 'time', 'return'] as $how) {
            $body = $fpm->get('cache.php', ['how' => $how]);
            self::assertStringContainsString('in', "$how> $body");
            $found = $cache->get('x', fn () => 'ours', 0);
            self::assertSame($how === 'return' ? 'theirs' : 'ours', $found, "what is there after $how");
            $cache->invalidate('x');
        }
        self::assertStringNotContainsString('signal', strtolower($fpm->log()));
    }
}
