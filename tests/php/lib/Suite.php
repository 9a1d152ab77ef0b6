<?php

declare(strict_types=1);

namespace Quotalock\Tests;

/** The tests, in the order of their files. */
final class Suite
{
    private static string $part = '';

    /** @var array<string, \Closure> */
    private static array $tests = [];

    /** Names the part to which the tests belong that follow. */
    public static function part(string $part): void
    {
        self::$part = $part;
    }

    /** Adds a test: it fails by throwing. */
    public static function add(string $name, \Closure $test): void
    {
        $name = self::$part . ': ' . $name;
        if (isset(self::$tests[$name])) {
            throw new \LogicException("two tests are called \"$name\"");
        }
        self::$tests[$name] = $test;
    }

    /** Runs all of them and returns the exit code. */
    public static function run(): int
    {
        $failed = 0;
        $process = getmypid();
        foreach (self::$tests as $name => $test) {
            try {
                $test();
            } catch (\Throwable $problem) {
                $failed++;
                echo "FAILED $name: ", self::describe($problem), "\n";
            }
            // A forked child that came back here would run all other tests once more.
            if (getmypid() !== $process) {
                exit(1);
            }
        }
        $passed = count(self::$tests) - $failed;
        echo "$passed passed, $failed failed\n";
        return $failed > 0 || $passed === 0 ? 1 : 0;
    }

    private static function describe(\Throwable $problem): string
    {
        $text = $problem instanceof Failure ? $problem->getMessage() : $problem::class . ' ' . $problem->getMessage();
        foreach ([['file' => $problem->getFile(), 'line' => $problem->getLine()], ...$problem->getTrace()] as $frame) {
            if (isset($frame['file']) && dirname($frame['file']) === dirname(__DIR__)) {
                return str_replace("\n", ' / ', $text) . ' (' . basename($frame['file']) . ":{$frame['line']})";
            }
        }
        return $text;
    }
}
