<?php

/** The stub that IDEs and PHPStan read, against the extension. */

declare(strict_types=1);

namespace Quotalock\Tests;

test('it says of every class, member, parameter, type and default what the extension says', function () {
    // Without the extension (-n reads no php.ini) the stub's own classes can be declared and looked at.
    $command = escapeshellarg(PHP_BINARY) . ' -n ' . escapeshellarg(__DIR__ . '/scripts/stub_shape.php');
    $stub = json_decode((string) shell_exec($command), true, flags: JSON_THROW_ON_ERROR);
    $extension = json_decode(json_encode(Shape::ofAll(), JSON_THROW_ON_ERROR), true);
    same(array_keys($extension), array_keys($stub), 'what the stub declares');
    foreach ($extension as $name => $shape) {
        foreach ($shape as $aspect => $value) {
            same($value, $stub[$name][$aspect], "$aspect of $name in the stub");
        }
    }
});

test('everything has a type, and none but what a function of others returns is mixed', function () {
    foreach (Shape::ofAll() as $class => $shape) {
        foreach ($shape['members'] ?? ['' => $shape] as $name => $member) {
            $types = [$member['type'] ?? null, ...array_column($member['parameters'] ?? [], 'type')];
            if (!in_array($name, ['__construct()', 'run()', 'getJson()'], true)) {
                $types[] = $member['returns'] ?? null;
            }
            $bad = array_values(array_intersect(['', 'mixed'], array_filter($types, is_string(...))));
            same([], $bad, "the bad types of $class $name");
        }
    }
});
