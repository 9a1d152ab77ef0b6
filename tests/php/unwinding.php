<?php

/** The last reference to an object goes while an exception is on its way, or while the script ends. */

declare(strict_types=1);

namespace Quotalock\Tests;

const UNWINDINGS = [
    'exception', 'argument', 'call', 'load', 'generator', 'forgotten', 'fiber', 'collected', 'destructor',
];

foreach (UNWINDINGS as $how) {
    test("every class lives through it that its last object goes by: $how", function () use ($how) {
        same(["done\n", 0], unwound($how, 10));
    });
}

test('every class lives through it that its last object goes with the script', function () {
    same(["done\n", 0], unwound('exits', 1));
    foreach (['uncaught' => 'the end', 'memory' => 'emory'] as $how => $said) {
        [$output, $code] = unwound($how, 1);
        same(255, $code, $output);
        contains("done\n", $output);
        contains($said, $output);
    }
});

/** What the script of that name in `scripts` wrote, and its exit code. */
function unwound(string $how, int $rounds): array
{
    $options = ['-d', 'memory_limit=64M', '-d', 'log_errors=0', __DIR__ . '/scripts/unwinding.php', $how, "$rounds"];
    return php(null, $options, ['SERVER' => server()]);
}
