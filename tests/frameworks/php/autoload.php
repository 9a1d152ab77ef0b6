<?php

/**
 * Loads what Composer would: the packages, and the frameworks that QUOTALOCK_FRAMEWORKS names, folders of
 * target/frameworks/php such as `symfony-6.4 laravel-10`.
 */

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks;

const ROOT = __DIR__ . '/../../..';
const HOME = ROOT . '/target/frameworks/php';

spl_autoload_register(function (string $class): void {
    static $roots = null;
    $roots ??= roots();
    // Symfony's bundle turns on what it finds: this would need more than is there.
    if (str_starts_with($class, 'Symfony\\Component\\Clock\\') && !interface_exists(\Psr\Clock\ClockInterface::class)) {
        return;
    }
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
        ['Psr\\Http\\Server\\', __DIR__ . '/lib/psr15'],
        ['Composer\\', __DIR__ . '/lib/composer'],
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
        // As they are built, and in their source package.
        is_dir("$folder/Symfony/Polyfill") && $roots[] = ['Symfony\\Polyfill\\', "$folder/Symfony/Polyfill"];
        is_dir("$folder/Php85") && $roots[] = ['Symfony\\Polyfill\\', $folder];
        is_file("$folder/LoggerInterface.php") && $roots[] = ['Psr\\Log\\', $folder];
        is_file("$folder/CacheItemInterface.php") && $roots[] = ['Psr\\Cache\\', $folder];
        is_file("$folder/ClockInterface.php") && $roots[] = ['Psr\\Clock\\', $folder];
        is_file("$folder/CacheInterface.php") && $roots[] = ['Psr\\SimpleCache\\', $folder];
        is_dir("$folder/Carbon") && $roots[] = ['Carbon\\', "$folder/Carbon"];
        is_dir("$folder/Monolog") && $roots[] = ['Monolog\\', "$folder/Monolog"];
        if (is_dir("$folder/Illuminate")) {
            $roots[] = ['Illuminate\\', "$folder/Illuminate"];
            foreach (['Collections', 'Conditionable', 'Macroable', 'Reflection'] as $part) {
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
const FILES = [
    'Illuminate/Collections/functions', 'Illuminate/Collections/helpers', 'Illuminate/Reflection/helpers',
    'Illuminate/Support/functions', 'Illuminate/Support/helpers', 'Illuminate/Foundation/helpers',
    'Illuminate/Events/functions', 'Illuminate/Filesystem/functions', 'Illuminate/Log/functions',
    'Symfony/Contracts/Deprecation/function', 'Symfony/Component/String/Resources/functions',
    'Symfony/Polyfill/Php85/bootstrap', 'Symfony/Polyfill/Php86/bootstrap', 'Symfony/Polyfill/DeepClone/bootstrap',
    'Php85/bootstrap', 'Php86/bootstrap', 'DeepClone/bootstrap',
];
foreach (explode(' ', (string) getenv('QUOTALOCK_FRAMEWORKS')) as $framework) {
    foreach (FILES as $file) {
        $path = HOME . "/$framework/src/$file.php";
        is_file($path) && require_once $path;
    }
}
