<?php

declare(strict_types=1);

namespace Quotalock\Tests;

/** The stub that IDEs and PHPStan read, against the extension. */
final class StubTest extends TestCase
{
    public function testItSaysOfEveryClassMemberParameterTypeAndDefaultWhatTheExtensionSays(): void
    {
        // Without the extension (-n reads no php.ini) the stub's own classes can be declared and looked at.
        $command = escapeshellarg(PHP_BINARY) . ' -n ' . escapeshellarg(__DIR__ . '/scripts/stub_shape.php');
        $stub = json_decode((string) shell_exec($command), true, flags: JSON_THROW_ON_ERROR);
        $extension = json_decode(json_encode(Shape::ofAll(), JSON_THROW_ON_ERROR), true);
        self::assertSame(array_keys($extension), array_keys($stub), 'what the stub declares');
        foreach ($extension as $name => $shape) {
            foreach ($shape as $aspect => $value) {
                self::assertSame($value, $stub[$name][$aspect], "$aspect of $name in the stub");
            }
        }
    }

    public function testEverythingHasATypeAndNoneButWhatAFunctionOfOthersReturnsIsMixed(): void
    {
        foreach (Shape::ofAll() as $class => $shape) {
            foreach ($shape['members'] ?? ['' => $shape] as $name => $member) {
                $types = [$member['type'] ?? null, ...array_column($member['parameters'] ?? [], 'type')];
                if (!in_array($name, ['__construct()', 'run()', 'getJson()'], true)) {
                    $types[] = $member['returns'] ?? null;
                }
                $bad = array_values(array_intersect(['', 'mixed'], array_filter($types, is_string(...))));
                self::assertSame([], $bad, "the bad types of $class $name");
            }
        }
    }
}
