<?php

declare(strict_types=1);

namespace Quotalock\Tests;

/** One name of limiters with two policies that charge one key within a period: the process warns once, with both places. */
final class OneNameTest extends TestCase
{
    private const BEGINNING = <<<'PHP'
        <?php
        $found = [];
        set_error_handler(function (int $level, string $message) use (&$found): bool {
            $found[] = [$level, $message];
            return true;
        });
        $client = new Quotalock\Client(getenv('QUOTALOCK_URL'), prefix: 'names' . getmypid(), timeoutMs: 10000);
        $loose = fn () => $client->limiter('search', '100/minute');
        $strict = fn () => $client->limiter('search', '5/hour');

        PHP;

    /** @return array{string, list<array{int, string}>} the file of a program, and what it warned of */
    private static function warned(string $url, string $script): array
    {
        $file = (string) tempnam(sys_get_temp_dir(), 'one-name-');
        try {
            file_put_contents($file, self::BEGINNING . $script . "\necho json_encode(\$found);\n");
            [$output] = php($file, environment: ['QUOTALOCK_URL' => $url]);
            $found = json_decode($output, true);
            self::assertIsArray($found, $output);
            return [$file, $found];
        } finally {
            unlink($file);
        }
    }

    /** @return iterable<string, array{string, string}> */
    public static function ways(): iterable
    {
        $ways = [
            'consume' => 'foreach ([$loose(), $strict()] as $limiter) $limiter->consume("alice");',
            'require' => 'foreach ([$loose(), $strict()] as $limiter) $limiter->require("alice");',
            'a limiter for each call' => 'for ($i = 0; $i < 3; $i++) {
                $loose()->consume("alice");
                $strict()->consume("alice");
            }',
            'consumeAll' => 'foreach ([$loose(), $strict()] as $limiter) $client->consumeAll([[$limiter, "alice"]]);',
            'reserve' => 'foreach ([$loose(), $strict()] as $limiter) {
                $held = $limiter->reserve("alice", 1, 60000);
                $held->settle(1);
            }',
            'request ids' => 'foreach ([$loose(), $strict()] as $limiter) {
                $limiter->consume("alice", requestId: $limiter->policy);
            }',
        ];
        foreach (['memory' => 'memory://names', 'redis' => server()] as $server => $url) {
            foreach ($ways as $way => $script) {
                yield "$way, $server" => [$url, $script];
            }
        }
    }

    /** @dataProvider ways */
    public function testTwoPoliciesOnOneKeyAreWarnedOfOnce(string $url, string $script): void
    {
        $silent = "\nif (!\$found) \$found[] = [0, 'no warning came with the calls themselves'];";
        $again = "\nforeach ([\$loose(), \$strict(), \$loose()] as \$limiter) {\n"
            . "    \$limiter->consume('alice');\n    \$limiter->consume('bob');\n}";
        [$file, $found] = self::warned($url, $script . $silent . $again);
        self::assertCount(1, $found, (string) json_encode($found));
        self::assertSame(E_USER_WARNING, $found[0][0]);
        $wanted = 'two limiters have the name "search" and charged the key "alice" within a period: ';
        self::assertStringStartsWith($wanted, substr($found[0][1], (int) strpos($found[0][1], 'two limiters')));
        // In either order: what was charged before the second limiter was made is not known.
        self::assertStringContainsString("one by 100/minute ($file:8)", $found[0][1]);
        self::assertStringContainsString("one by 5/hour ($file:9)", $found[0][1]);
    }

    public function testTheOneLineWarnsToo(): void
    {
        $script = 'foreach (["3/hour", "2/hour", "3/hour"] as $policy) Quotalock\limit("login", "alice", $policy);';
        [$file, $found] = self::warned('memory://', $script);
        self::assertCount(1, $found, (string) json_encode($found));
        self::assertStringContainsString("2/hour ($file:10), one by 3/hour ($file:10)", $found[0][1]);
    }

    public function testPlansOfUsersAreNotWarnedOf(): void
    {
        [, $found] = self::warned('memory://', <<<'PHP'
            for ($user = 0; $user < 300; $user++) {
                for ($call = 0; $call < 2; $call++) {
                    $client->limiter('api', 10 * ($user % 3 + 1) . '/minute')->consume("user:$user");
                    $client->limiter('api', 10 * ($user % 3 + 1) . '/minute')->peek('user:0');
                }
            }
            PHP);
        self::assertSame([], $found);
    }

    public function testAPackageIsNotThePlace(): void
    {
        // As in a package: a class of ours makes the limiter for the developer's code.
        [$file, $found] = self::warned('memory://', <<<'PHP'
            eval('namespace Quotalock\Packages; class Maker {
                static function make($client, $policy) { return $client->limiter("made", $policy); }
            }');
            foreach (['4/hour', '3/hour'] as $policy) $made[] = Quotalock\Packages\Maker::make($client, $policy);
            foreach ($made as $limiter) $limiter->consume('alice');
            PHP);
        self::assertCount(1, $found, (string) json_encode($found));
        self::assertStringContainsString("4/hour ($file:13), one by 3/hour ($file:13)", $found[0][1]);
    }

    public function testAHandlerThatThrowsFailsNoCall(): void
    {
        $script = <<<'PHP'
            ini_set('error_log', $log = __FILE__ . '.log');
            set_error_handler(function (int $level, string $message): bool { throw new ErrorException($message); });
            $loose()->consume('alice');
            [$first, $second] = [$loose(), $strict()];
            $first->consume('alice');
            $found[] = [$second->consume('alice')->allowed, (string) file_get_contents($log)];
            unlink($log);
            PHP;
        [, $found] = self::warned('memory://', $script);
        self::assertCount(1, $found, (string) json_encode($found));
        self::assertTrue($found[0][0]);
        self::assertStringContainsString('two limiters have the name "search"', $found[0][1]);
    }
}
