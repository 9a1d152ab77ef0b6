<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks;

use PHPUnit\Framework\AssertionFailedError;

/** Loads tests that a framework's authors wrote, so that a class here can run them against Quotalock. */
final class Upstream
{
    /**
     * Loads a file of tests. What is excluded does not run: each with its reason, and each must be there.
     *
     * @param string $file below the framework's folder
     * @param array<string, string> $excluded reasons by the names of tests
     * @param array<string, string> $instead texts to replace, such as what a test makes
     */
    public static function load(string $file, array $excluded = [], array $instead = []): void
    {
        $path = self::find($file);
        $code = (string) file_get_contents($path);
        foreach ($excluded as $test => $reason) {
            $instead["function $test("] = "function excluded$test(";
        }
        foreach ($instead as $old => $new) {
            if (!str_contains($code, $old)) {
                throw new AssertionFailedError("$file has no \"$old\": adapt what is excluded or replaced");
            }
            $code = str_replace($old, $new, $code);
        }
        // What PHPUnit reads since version 10, as the one that runs reads it.
        $code = preg_replace("/#\\[DataProvider\\('(\\w+)'\\)\\]/", '/** @dataProvider $1 */', $code);
        // A file of its own, so that a failure names a line.
        $copy = HOME . '/adapted/' . (getenv('QUOTALOCK_RUN') ?: 'alone') . "/$file";
        is_dir(dirname($copy)) || mkdir(dirname($copy), 0777, true);
        file_put_contents($copy, $code);
        require_once $copy;
        foreach ($excluded as $test => $reason) {
            printf("  excluded: %s::%s: %s\n", basename($file, '.php'), $test, $reason);
        }
    }

    /**
     * What of these exclusions a version has: not every test is in each.
     *
     * @param array<string, string> $excluded
     * @return array<string, string>
     */
    public static function having(string $file, array $excluded): array
    {
        $code = (string) file_get_contents(self::find($file));
        $has = fn (string $test): bool => str_contains($code, "function $test(");
        return array_filter($excluded, $has, ARRAY_FILTER_USE_KEY);
    }

    /** Where a file of a framework is. */
    public static function find(string $file): string
    {
        foreach (explode(' ', (string) getenv('QUOTALOCK_FRAMEWORKS') . ' cache-tests') as $framework) {
            if (is_file($path = HOME . "/$framework/$file")) {
                return $path;
            }
        }
        throw new AssertionFailedError("$file is in no framework: run tests/frameworks/php/fetch.sh");
    }
}
