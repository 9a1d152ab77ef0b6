<?php

/** What PHPUnit runs before the tests of the framework packages. */

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks;

require __DIR__ . '/autoload.php';
define('Quotalock\Tests\ROOT', ROOT);
require ROOT . '/tests/php/lib/functions.php';

// A warning is a failure of the test that caused it; what frameworks do themselves is not ours to judge.
set_error_handler(function (int $level, string $message, string $file, int $line): bool {
    $ours = str_starts_with($file, realpath(ROOT) . '/') && !str_starts_with($file, realpath(ROOT) . '/target/');
    return $ours && error_reporting() & $level ? throw new \ErrorException($message, 0, $level, $file, $line) : true;
});
if (!extension_loaded('ratelimit')) {
    fwrite(STDERR, "The extension is not loaded: run `make test SUITE=frameworks-php`.\n");
    exit(2);
}
// Without servers no test could run: this ends the run with a message.
\Quotalock\Tests\servers();
// Clients are patient unless a test says otherwise: tests share the machine, which may stand still for a while.
ini_set('ratelimit.timeout_ms', '10000');
