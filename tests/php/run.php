<?php

/**
 * Runs the tests of the PHP extension: `php -d extension=.../ratelimit.so tests/php/run.php [PART ...]`.
 *
 * Each file of this folder but this one is a part and holds tests by what they are about. Prints a line per failure
 * and at the end `N passed, N failed`; the exit code is 1 if any failed. QUOTALOCK_TEST_SERVERS and QUOTALOCK_TEST_UNIX
 * name the servers (tests/harness/with_servers.py sets them).
 */

declare(strict_types=1);

namespace Quotalock\Tests;

// Not the runner's business: a deprecation or a warning in a test is a failure of that test.
set_error_handler(function (int $level, string $message, string $file, int $line): never {
    throw new \ErrorException($message, 0, $level, $file, $line);
});
spl_autoload_register(function (string $class): void {
    if (str_starts_with($class, __NAMESPACE__ . '\\')) {
        require __DIR__ . '/lib/' . substr($class, strlen(__NAMESPACE__) + 1) . '.php';
    }
});
require __DIR__ . '/lib/functions.php';

if (!extension_loaded('ratelimit')) {
    fwrite(STDERR, "The extension is not loaded: run `make test-php`.\n");
    exit(2);
}
// Clients are patient unless a test says otherwise: tests share the machine, which may stand still for a while.
ini_set('ratelimit.timeout_ms', '10000');
$parts = array_slice($argv, 1) ?: array_map(fn (string $path) => basename($path, '.php'), glob(__DIR__ . '/*.php'));
foreach (array_diff($parts, ['run']) as $part) {
    Suite::part($part);
    require __DIR__ . "/$part.php";
}
exit(Suite::run());
