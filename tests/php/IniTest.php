<?php

declare(strict_types=1);

namespace Quotalock\Tests;

/** Where a client's settings come from: the argument, the ini setting, the environment, the default. */
final class IniTest extends TestCase
{
    /** The server of a client made by this code, with these ini settings and this environment. */
    private static function madeBy(string $arguments, array $ini = [], array $environment = []): string
    {
        $options = [];
        foreach ($ini as $name => $value) {
            array_push($options, '-d', "ratelimit.$name=$value");
        }
        return php("echo (new Quotalock\\Client($arguments))->server;", $options, $environment)[0];
    }

    public function testAnArgumentGoesBeforeIniIniBeforeTheEnvironmentThatBeforeTheDefault(): void
    {
        $environment = ['QUOTALOCK_URL' => 'redis://environment:1'];
        $ini = ['url' => 'redis://ini:1'];
        self::assertSame(
            'argument:1',
            self::madeBy('"redis://argument:1"', $ini, $environment),
            'the server with all three'
        );
        self::assertSame('ini:1', self::madeBy('', $ini, $environment), 'the server without argument');
        self::assertSame('ini:1', self::madeBy('null', $ini, $environment), 'the server with null');
        self::assertSame('environment:1', self::madeBy('', [], $environment), 'the server without ini');
        self::assertSame('127.0.0.1:6379', self::madeBy(''), 'the server by default');
    }

    public function testAnEmptySettingIsNone(): void
    {
        self::assertSame(
            'environment:1',
            self::madeBy('', ['url' => ''], ['QUOTALOCK_URL' => 'redis://environment:1']),
            'with empty ini'
        );
        self::assertSame(
            '127.0.0.1:6379',
            self::madeBy('', ['url' => ''], ['QUOTALOCK_URL' => '']),
            'with empty environment'
        );
        self::assertStringContainsString('redis://', self::madeBy('""'));
    }

    public function testAnIniFileAndIniSetSetThemToo(): void
    {
        $folder = sys_get_temp_dir() . '/quotalock-ini-' . bin2hex(random_bytes(6));
        mkdir($folder);
        file_put_contents(
            "$folder/php.ini",
            "[ratelimit]\nratelimit.url = \"redis://file:1\"\nratelimit.prefix = file\n"
        );
        $code = '$a = new Quotalock\Client(); ini_set("ratelimit.url", "redis://runtime:1");'
            . ' ini_set("ratelimit.prefix", "run"); $b = new Quotalock\Client();'
            . ' echo "$a->server $a->prefix $b->server $b->prefix";';
        [$output] = php($code, ['-c', $folder]);
        self::assertSame('file:1 file runtime:1 run', $output, 'the settings before and after');
        unlink("$folder/php.ini");
        rmdir($folder);
    }

    public function testOnErrorPrefixAndTimeoutComeFromIniAsWell(): void
    {
        $code = '$c = new Quotalock\Client(); echo $c->prefix, " ", $c->limiter("n", "1/s")->consume("k")->source;'
            . 'try { (new Quotalock\Client(onError: "raise"))->limiter("n", "1/s")->consume("k"); }'
            . ' catch (Quotalock\Exception\UnavailableException $e) { echo " ", $e->getErrorCode(); }';
        $options = ['-d', 'ratelimit.url=redis://127.0.0.1:' . freePort(), '-d', 'ratelimit.on_error=open'];
        [$output] = php($code, [...$options, '-d', 'ratelimit.prefix=mine', '-d', 'ratelimit.timeout_ms=9000']);
        self::assertSame('mine open unavailable', $output, 'the settings');
    }

    public function testTheTimeoutOfIniIsKept(): void
    {
        $server = new RedisServer();
        $server->signal(SIGSTOP);
        $code = '$t = hrtime(true); try { Quotalock\limit("n", "k", "1/s"); }'
            . ' catch (Quotalock\Exception\TimeoutException) { echo (int) ((hrtime(true) - $t) / 1e6); }';
        $output = '';
        $stalls = stalls(function () use ($code, $server, &$output) {
            [$output] = php($code, ['-d', "ratelimit.url={$server->url()}", '-d', 'ratelimit.timeout_ms=120']);
        });
        self::assertTrue((int) $output >= 110 && (int) $output < 1500 + $stalls, "that \"$output\" ms is about 120");
    }

    public function testASettingThatCannotBeIsRefusedWithItsValue(): void
    {
        $bad = [['timeout_ms', 'soon'], ['timeout_ms', '0'], ['timeout_ms', '-5'], ['timeout_ms', '1.5']];
        foreach ([...$bad, ['on_error', 'sometimes'], ['prefix', '{a}']] as [$name, $value]) {
            $output = self::madeBy('"memory://"', [$name => $value]);
            self::assertStringContainsString('Quotalock\Exception\InvalidArgumentException', $output);
            self::assertStringContainsString($value, $output);
        }
        self::assertStringContainsString('InvalidArgumentException', self::madeBy('', ['url' => 'http://x']));
    }

    /** @return iterable<string, array{string, string}> a name that PHP passes over, and what is said of it */
    public static function misspelled(): iterable
    {
        $names = ['quotalock.url' => 'url', 'quotalock.urll' => 'url', 'ratelimit.urll' => 'url',
            'ratelimit.URL' => 'url', 'RateLimit.url' => 'url', 'rate_limit.prefix' => 'prefix',
            'ratelimit.timeout' => 'timeout_ms', 'ratelimit.timeoutms' => 'timeout_ms',
            'quotalock.onerror' => 'on_error'];
        foreach ($names as $name => $meant) {
            yield $name => [$name, "did you mean ratelimit.$meant?"];
        }
        $all = 'use ratelimit.url, ratelimit.prefix, ratelimit.timeout_ms, ratelimit.on_error, '
            . 'ratelimit.deny_cache_max_ms, ratelimit.deny_cache_kb, '
            . 'ratelimit.deny_cache_file, ratelimit.report, ratelimit.metrics_file';
        yield 'of no other' => ['ratelimit.enabled', $all];
    }

    /** @dataProvider misspelled */
    public function testAMisspelledSettingIsToldOfWhenPhpStarts(string $name, string $cure): void
    {
        [$output, $code] = php('echo "went on";', ['-d', "$name=redis://:secret@h"]);
        $wanted = "PHP Startup: the ini setting $name does not exist, and nobody reads it: $cure";
        self::assertStringContainsString($wanted, $output);
        self::assertSame([0, true], [$code, str_ends_with($output, 'went on')], 'how it ended');
        self::assertStringNotContainsString('secret', $output);
        $folder = sys_get_temp_dir() . '/quotalock-ini-' . bin2hex(random_bytes(6));
        mkdir($folder);
        file_put_contents("$folder/php.ini", "[ratelimit]\n$name = \"other\"\n");
        [$output] = php('', ['-c', $folder]);
        unlink("$folder/php.ini");
        rmdir($folder);
        self::assertStringContainsString($wanted, $output, 'of a file');
    }

    public function testWhatIsNotMeantForUsIsNotToldOf(): void
    {
        $others = ['ratelimits.url', 'limit.url', 'redis.session.locking_enabled', 'ratelimit', 'quotalock', 'url',
            'ratelimit_url', 'my.ratelimit.url'];
        $options = [];
        $ours = ['ratelimit.url', 'ratelimit.prefix', 'ratelimit.timeout_ms', 'ratelimit.on_error'];
        foreach ([...$others, ...$ours] as $name) {
            array_push($options, '-d', "$name=1");
        }
        self::assertSame(['', 0], php('', $options), 'what is written');
    }

    public function testTheOneLineFunctionUsesTheseSettings(): void
    {
        $prefix = prefix();
        $code = 'var_dump(Quotalock\limit("n", "k", "2/minute", 2), Quotalock\limit("n", "k", "2/minute"));';
        [$output] = php($code, ['-d', "ratelimit.prefix=$prefix"], ['QUOTALOCK_URL' => server()]);
        self::assertSame("bool(true)\nbool(false)\n", $output, 'the answers');
        self::assertSame(1, (new Connection(server()))->exists("$prefix:limit:n:{k}"), 'whether the key is there');
    }
}
