<?php

/** What PHPUnit runs before the tests of the PHP extension. */

declare(strict_types=1);

namespace Quotalock\Tests;

const ROOT = __DIR__ . '/../..';

// A deprecation or a warning is a failure of the test that caused it; what PHPUnit itself uses is not ours to judge.
set_error_handler(function (int $level, string $message, string $file, int $line): bool {
    if (str_contains($message, ': two limiters have the name ')) {
        // Tests change policies, and vectors do; OneNameTest tests the warning.
        return true;
    }
    $ours = str_starts_with($file, realpath(ROOT) . '/');
    return $ours ? throw new \ErrorException($message, 0, $level, $file, $line) : true;
});
spl_autoload_register(function (string $class): void {
    if (str_starts_with($class, __NAMESPACE__ . '\\')) {
        $path = __DIR__ . '/lib/' . substr($class, strlen(__NAMESPACE__) + 1) . '.php';
        is_file($path) && require $path;
    }
});
require __DIR__ . '/lib/functions.php';

if (!extension_loaded('ratelimit')) {
    fwrite(STDERR, "The extension is not loaded: run `make test SUITE=php`.\n");
    exit(2);
}
// Without servers no test could run: this ends the run with a message.
servers();
// Clients are patient unless a test says otherwise: tests share the machine, which may stand still for a while.
ini_set('ratelimit.timeout_ms', '10000');
