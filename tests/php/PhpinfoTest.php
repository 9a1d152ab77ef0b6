<?php

declare(strict_types=1);

namespace Quotalock\Tests;

/** The section of phpinfo(): the settings in force, who set them, and no password. */
final class PhpinfoTest extends TestCase
{
    public function testItShowsTheVersionAndTheDefaults(): void
    {
        [$info, $code] = php(null, ['--ri', 'ratelimit']);
        self::assertSame(0, $code, 'the exit code');
        self::assertStringContainsString('Quotalock => ' . phpversion('ratelimit'), $info);
        self::assertStringContainsString('ratelimit.url => redis://127.0.0.1:6379 => default', $info);
        self::assertStringContainsString('ratelimit.prefix => ql => default', $info);
        self::assertStringContainsString('ratelimit.timeout_ms => 500 => default', $info);
        self::assertStringContainsString('ratelimit.on_error => raise => default', $info);
    }

    public function testItSaysWhoSetAValue(): void
    {
        $options = ['-d', 'ratelimit.prefix=shop', '-d', 'ratelimit.timeout_ms=50'];
        $code = 'ini_set("ratelimit.timeout_ms", "70"); phpinfo(INFO_MODULES);';
        [$info] = php($code, $options, ['QUOTALOCK_URL' => 'redis://host:7']);
        self::assertStringContainsString(
            'ratelimit.url => redis://host:7 => environment variable QUOTALOCK_URL',
            $info
        );
        self::assertStringContainsString('ratelimit.prefix => shop => ini file or -d', $info);
        self::assertStringContainsString('ratelimit.timeout_ms => 70 => php_value or ini_set', $info);
    }

    public function testItHidesPasswordsInGoodURLsAndInBadOnes(): void
    {
        $good = ['redis://app:s3cret@host:6379/1', 'redis://:s3cret@host'];
        foreach ([...$good, 'app:s3cret@host', 'http://s3cret@x'] as $url) {
            [$info] = php('phpinfo(INFO_GENERAL | INFO_CONFIGURATION | INFO_MODULES);', ['-d', "ratelimit.url=$url"]);
            self::assertStringContainsString('ratelimit.url => ', $info);
            self::assertStringContainsString('***', $info);
            self::assertStringNotContainsString('s3cret', $info);
            [$info] = php(null, ['-d', "ratelimit.url=$url", '--ri', 'ratelimit']);
            self::assertStringNotContainsString('s3cret', $info);
            [$info] = php('phpinfo(INFO_MODULES);', [], ['QUOTALOCK_URL' => $url]);
            self::assertStringNotContainsString('s3cret', $info);
        }
    }

    public function testPHPItselfShowsNoPasswordOfTheConfiguredURLAndNobodyElseInATrace(): void
    {
        $ini = ['-d', 'ratelimit.url=redis://app:s3cret@127.0.0.1:1', '-d', 'zend.exception_ignore_args=0'];
        $settings = ['-d', 'ratelimit.timeout_ms=50', '-d', 'ratelimit.on_error=open'];
        [$reflected] = php(null, [...$ini, '--re', 'ratelimit']);
        self::assertStringContainsString("Current = 'redis://***@127.0.0.1:1'", $reflected);
        self::assertStringNotContainsString('s3cret', $reflected);
        $looks = [
            'ini_get("ratelimit.url")',
            'ini_get_all("ratelimit")',
            '(new ReflectionExtension("ratelimit"))->getINIEntries()',
            'new Quotalock\Client()',
            '(new Quotalock\Client())->limiter("n", "1/s")->consume("k")',
            '(array) (new Quotalock\Client("redis://app:s3cret@127.0.0.1:1"))->limiter("n", "1/s")',
        ];
        foreach ($looks as $look) {
            $code = "var_dump($look); print_r($look); var_export($look);";
            [$shown] = php($code, [...$ini, ...$settings]);
            self::assertStringNotContainsString('s3cret', $shown);
        }
        $makes = [
            'new Quotalock\Client("redis://app:s3cret@host:port")',
            'new Quotalock\Client("redis://app:s3cret@host", "{")',
            '(fn () => new Quotalock\Client(timeoutMs: 0, url: "redis://app:s3cret@host"))()',
            '(new ReflectionClass(Quotalock\Client::class))->newInstance("redis://app:s3cret@host", null, -1)',
        ];
        foreach ($makes as $make) {
            $code = "try { $make; } catch (Throwable \$e) { echo \$e, 'caught';"
                . ' $ours = fn (array $of): bool => ($of["class"] ?? "") === Quotalock\Client::class;'
                . ' var_dump(array_filter($e->getTrace(), $ours)); }';
            [$shown] = php($code, $ini);
            self::assertStringContainsString('caught', $shown);
            self::assertStringContainsString('SensitiveParameterValue', $shown);
            self::assertStringNotContainsString('s3cret', preg_replace('/newInstance\(.*/', '', $shown));
        }
    }

    public function testWhatPHPDoesNotShowIsWhatIsUsedAndStaysIt(): void
    {
        $server = new RedisServer('--requirepass', 's3cret');
        $code = 'echo ini_get("ratelimit.url"), "\\n"; $ask = fn () => Quotalock\limit("n", "k", "9/minute");'
            . 'var_dump($ask()); ini_set("ratelimit.url", ini_get("ratelimit.url")); var_dump($ask());'
            . 'ini_set("ratelimit.url", "redis://127.0.0.1:1");'
            . 'try { $ask(); } catch (Exception) { echo "away\n"; }'
            . 'echo ini_get("ratelimit.url");';
        [$output] = php($code, ['-d', "ratelimit.url={$server->url(':s3cret@')}"]);
        $shown = "redis://***@127.0.0.1:$server->port";
        self::assertSame("$shown\nbool(true)\nbool(true)\naway\nredis://127.0.0.1:1", $output, 'what it says');
    }
}
