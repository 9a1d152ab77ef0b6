<?php

declare(strict_types=1);

namespace Quotalock\Tests;

/** The last reference to an object of each class goes in the midst of an end: nothing crashes, and nothing is kept. */
final class ObjectEndsTest extends TestCase
{
    /** How a script ends, its exit code then, and what it says. */
    private const STOPS = [
        'uncaught' => [255, 'the end'],
        'caught' => [0, 'caught'],
        'exit' => [3, ''],
        'error' => [255, 'the end'],
        'undefined' => [255, 'nosuch'],
        'memory' => [255, 'emory'],
        'time' => [255, 'Maximum execution time of 1 second exceeded'],
        'finally' => [3, ''],
    ];

    /** @return iterable<string, array{string}> what throws while the last reference goes */
    public static function unwindings(): iterable
    {
        $all = ['exception', 'argument', 'call', 'load', 'generator', 'forgotten', 'fiber', 'collected', 'destructor'];
        foreach ($all as $how) {
            yield $how => [$how];
        }
    }

    /** @return iterable<string, array{string, string, int, string}> how a script ends, and in the midst of what */
    public static function stops(): iterable
    {
        foreach (self::STOPS as $how => [$code, $said]) {
            foreach (['array', 'property', 'run', 'load'] as $where) {
                yield "$how in $where" => [$how, $where, $code, $said];
            }
        }
    }

    /** @dataProvider unwindings */
    public function testEveryClassLivesThroughItThatItsLastObjectGoesWithAnException(string $how): void
    {
        self::assertSame(["done\n", 0], self::ended(prefix(), $how));
    }

    /** @dataProvider stops */
    public function testEveryClassLivesThroughItThatItsLastObjectGoesWithTheScript(
        string $how,
        string $where,
        int $code,
        string $said
    ): void {
        $prefix = prefix();
        [$output, $exit] = self::ended($prefix, $how, $where);
        self::assertSame($code, $exit, "the exit code, after \"$output\"");
        self::assertStringStartsWith("begun\n", $output);
        self::assertStringContainsString($said, $output);
        self::assertStringNotContainsString('ArgumentCountError', $output);
        self::assertStringNotContainsString('Quotalock\\Exception', $output);
        // Each client has a prefix of its own. Whatever was locked is free, also the lock around all.
        $redis = new Connection(server());
        $locked = $redis->keys("$prefix*:lock:*");
        self::assertCount($where === 'run' ? 4 : 3, $locked, 'the locks');
        foreach ($locked as $key) {
            preg_match('/^(.+):lock:{(.+)}$/', $key, $parts);
            $lock = (new \Quotalock\Client(server(), $parts[1]))->lock($parts[2]);
            self::assertSame([], $lock->inspect()->holders, "who still holds $key");
        }
    }

    /**
     * What `scripts/object_ends.php` wrote, and its exit code.
     *
     * @return array{string, int}
     */
    private static function ended(string $prefix, string ...$arguments): array
    {
        $script = [__DIR__ . '/scripts/object_ends.php', ...$arguments];
        $options = ['-d', 'memory_limit=64M', '-d', 'log_errors=0', ...$script];
        return php(null, $options, ['SERVER' => server(), 'PREFIX' => $prefix]);
    }
}
