<?php

/**
 * What PHPUnit runs before the tests of the framework packages. QUOTALOCK_FRAMEWORKS names the folders of
 * target/frameworks/php to load frameworks from, such as `symfony-6.4 laravel-10`.
 */

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks;

const ROOT = __DIR__ . '/../../..';
const HOME = ROOT . '/target/frameworks/php';

require ROOT . '/tests/php/lib/functions.php';
spl_autoload_register(function (string $class): void {
    static $roots = null;
    $roots ??= roots();
    foreach ($roots as [$prefix, $folder]) {
        if (str_starts_with($class, $prefix)) {
            $path = $folder . '/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
            if (is_file($path)) {
                require_once $path;
                return;
            }
        }
    }
});

/** @return list<array{string, string}> where the classes are whose names begin so */
function roots(): array
{
    $roots = [
        [__NAMESPACE__ . '\\', __DIR__ . '/lib'],
        ['Orchestra\\Testbench\\', __DIR__ . '/lib/testbench'],
        ['Quotalock\\Tests\\', ROOT . '/tests/php/lib'],
    ];
    $packages = ['Support' => 'support', 'Symfony' => 'symfony', 'Laravel' => 'laravel', 'Psr' => 'psr'];
    foreach ($packages as $name => $folder) {
        $roots[] = ["Quotalock\\$name\\", ROOT . "/bindings-php/packages/$folder/src"];
    }
    foreach (explode(' ', (string) getenv('QUOTALOCK_FRAMEWORKS')) as $framework) {
        $folder = HOME . "/$framework/src";
        foreach (['Component', 'Contracts', 'Bundle', 'Bridge'] as $part) {
            is_dir("$folder/Symfony/$part") && $roots[] = ["Symfony\\$part\\", "$folder/Symfony/$part"];
        }
        if (is_dir("$folder/Illuminate")) {
            $roots[] = ['Illuminate\\', "$folder/Illuminate"];
            foreach (['Collections', 'Conditionable', 'Macroable'] as $part) {
                $roots[] = ['Illuminate\\Support\\', "$folder/Illuminate/$part"];
            }
        }
    }
    $roots[] = ['Cache\\IntegrationTests\\', HOME . '/cache-tests/src'];
    // Debian's packages of everything else.
    $roots[] = ['', '/usr/share/php'];
    return $roots;
}

// What Composer would load at once.
foreach (explode(' ', (string) getenv('QUOTALOCK_FRAMEWORKS')) as $framework) {
    foreach (['Collections/helpers', 'Support/helpers', 'Foundation/helpers', 'Events/functions', 'Filesystem/functions'] as $helpers) {
        $path = HOME . "/$framework/src/Illuminate/$helpers.php";
        is_file($path) && require_once $path;
    }
}

if (!extension_loaded('ratelimit')) {
    fwrite(STDERR, "The extension is not loaded: run `make test-frameworks-php`.\n");
    exit(2);
}
// Without servers no test could run: this ends the run with a message.
\Quotalock\Tests\servers();
// Clients are patient unless a test says otherwise: tests share the machine, which may stand still for a while.
ini_set('ratelimit.timeout_ms', '10000');
