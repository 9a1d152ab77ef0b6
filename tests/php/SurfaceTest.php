<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Exception\QuotalockException;
use Quotalock\Testing;

/** The extension against tests/spec/api.json, by reflection. */
final class SurfaceTest extends TestCase
{
    /** What has an interface, so that a test can have a double of it. */
    private const HANDLES = ['Client', 'Limiter', 'Reservation', 'Lock', 'Stock', 'Once', 'Cache'];

    private static function api(): array
    {
        $text = (string) file_get_contents(ROOT . '/tests/spec/api.json');
        return json_decode($text, true, flags: JSON_THROW_ON_ERROR);
    }

    /** Canonical names as PHP writes them, without what PHP lacks; a duration, maybe of this type, has its unit. */
    private static function listed(array $canonical, string $type = ''): array
    {
        $api = self::api();
        $lasts = fn (string $name) => array_intersect([$name, "$type.$name"], $api['durations']) !== [];
        $unit = fn (string $name) => $lasts($name) ? 'Ms' : '';
        $had = array_values(array_diff($canonical, $api['only']['php']['lacks']));
        return array_map(fn (string $name) => camel($name) . $unit($name), $had);
    }

    /** @return list<string> */
    private static function names(array $reflections): array
    {
        return array_map(fn (object $each) => $each->getName(), $reflections);
    }

    /** @return iterable<string, array{string, array}> the types and their members */
    public static function types(): iterable
    {
        $api = self::api();
        foreach ($api['types'] as $type => $surface) {
            yield $type => [$type, array_merge_recursive($surface, $api['only']['php'][$type] ?? [])];
        }
    }

    /** @dataProvider types */
    public function testATypeHasExactlyTheMembersOfApiJson(string $type, array $surface): void
    {
        $class = new \ReflectionClass("Quotalock\\$type");
        self::assertTrue($class->isFinal(), 'that it is final');
        $constructor = $class->getConstructor();
        self::assertSame(
            isset($surface['construct']),
            (bool) $constructor?->isPublic(),
            'whether it can be constructed'
        );
        if (isset($surface['construct'])) {
            self::assertSame(
                self::listed($surface['construct'], $type),
                self::names($constructor->getParameters()),
                'the parameters'
            );
        }
        $methods = [];
        foreach ($class->getMethods(\ReflectionMethod::IS_PUBLIC) as $method) {
            if (!$method->isConstructor()) {
                $methods[$method->getName()] = self::names($method->getParameters());
            }
        }
        $wanted = [];
        foreach ($surface['methods'] ?? [] as $method => $parameters) {
            $wanted[camel($method)] = self::listed($parameters, $type);
        }
        ksort($methods);
        ksort($wanted);
        self::assertSame($wanted, $methods, 'the methods');
        self::assertSame(
            self::listed($surface['properties'], $type),
            self::names($class->getProperties()),
            'the properties'
        );
        foreach ($class->getProperties() as $property) {
            $sound = $property->isPublic() && $property->isReadOnly() && $property->hasType();
            self::assertTrue($sound, "that {$property->getName()} is public, readonly and typed");
        }
    }

    public function testTheFunctionsAreThoseOfApiJson(): void
    {
        $api = self::api();
        $functions = array_values(array_filter((array) get_extension_funcs('ratelimit')));
        self::assertSame(
            array_map(fn (string $name) => "Quotalock\\$name", array_keys($api['functions'])),
            $functions,
            'functions'
        );
        foreach ($api['functions'] as $name => $parameters) {
            $function = new \ReflectionFunction("Quotalock\\$name");
            self::assertSame(
                self::listed($parameters),
                self::names($function->getParameters()),
                "the parameters of $name"
            );
        }
    }

    public function testTheHelpersForTestsAreThoseOfApiJson(): void
    {
        $api = self::api();
        $class = new \ReflectionClass(Testing::class);
        $methods = self::names($class->getMethods(\ReflectionMethod::IS_STATIC));
        $wanted = $api['testing'] + $api['only']['php']['testing'];
        self::assertEqualsCanonicalizing(array_map(camel(...), array_keys($wanted)), $methods, 'the methods');
        foreach ($wanted as $name => $parameters) {
            $method = $class->getMethod(camel($name));
            self::assertSame(
                self::listed($parameters, 'Testing'),
                self::names($method->getParameters()),
                "the parameters of $name"
            );
        }
    }

    public function testTheInterfaceOfAHandleHasItsMethodsWithInterfacesWhereItReturnsHandles(): void
    {
        $handles = array_map(fn (string $type) => "Quotalock\\$type", self::HANDLES);
        foreach ($handles as $class) {
            $interface = new \ReflectionClass("{$class}Interface");
            self::assertTrue($interface->isInterface() && is_subclass_of($class, $interface->getName()), "of $class");
            $own = array_diff(self::names((new \ReflectionClass($class))->getMethods()), ['__construct']);
            self::assertSame(array_values($own), self::names($interface->getMethods()), "the methods of $class");
            foreach ($interface->getMethods() as $method) {
                $parts = fn (\ReflectionMethod $of) => array_map(strval(...), $of->getParameters());
                $twin = new \ReflectionMethod($class, $method->getName());
                self::assertSame($parts($twin), $parts($method), "the parameters of {$method->getName()}");
                $returned = (string) $twin->getReturnType();
                $returned .= in_array($returned, $handles, true) ? 'Interface' : '';
                self::assertSame($returned, (string) $method->getReturnType(), "what {$method->getName()} returns");
            }
        }
    }

    public function testThereIsAnExceptionForEachCode(): void
    {
        $api = self::api();
        foreach ($api['errors'] as $code => $name) {
            $class = "Quotalock\\Exception\\{$name}Exception";
            $error = new $class('why', 7);
            self::assertTrue($error instanceof QuotalockException, "that $class is a QuotalockException");
            self::assertSame($code, $error->getErrorCode(), "the code of $class");
            self::assertSame(['why', 7], [$error->getMessage(), $error->getCode()], 'what it was made with');
            $parent = str_starts_with($code, 'invalid') ? \InvalidArgumentException::class : \RuntimeException::class;
            self::assertSame($parent, get_parent_class($error), "the parent of $class");
            self::assertSame([__FILE__, true], [$error->getFile(), $error->getLine() > 0], 'where it was made');
        }
    }

    public function testTheExtensionHasNoClassBesideThese(): void
    {
        $api = self::api();
        $wanted = ['Quotalock\Exception\QuotalockException', 'Quotalock\Testing'];
        foreach (array_keys($api['types']) as $type) {
            $wanted[] = "Quotalock\\$type";
        }
        foreach (self::HANDLES as $type) {
            $wanted[] = "Quotalock\\{$type}Interface";
        }
        foreach ($api['errors'] as $name) {
            $wanted[] = "Quotalock\\Exception\\{$name}Exception";
        }
        $found = (new \ReflectionExtension('ratelimit'))->getClassNames();
        sort($wanted);
        sort($found);
        self::assertSame($wanted, $found, 'the classes');
    }

    public function testDefaultsAreThoseOfApiJson(): void
    {
        $api = self::api();
        $default = fn (array $method, string $name) => (new \ReflectionParameter($method, $name))->getDefaultValue();
        self::assertSame($api['defaults']['cost'], $default(['Quotalock\Limiter', 'consume'], 'cost'), 'cost');
        self::assertSame(
            $api['defaults']['unsettled'],
            $default(['Quotalock\Limiter', 'reserve'], 'unsettled'),
            'unsettled'
        );
        self::assertSame($api['defaults']['enforce'], $default(['Quotalock\Client', 'limiter'], 'enforce'), 'enforce');
        $memory = $default(['Quotalock\Client', '__construct'], 'requestMemoryMs');
        self::assertSame($api['defaults']['request_memory_ms'], $memory, 'requestMemoryMs');
        self::assertSame(
            $api['defaults']['algorithm'],
            $default(['Quotalock\Rule', '__construct'], 'algorithm'),
            'algorithm'
        );
        foreach (['lock', 'lockAll', 'semaphore', 'readLock', 'writeLock'] as $method) {
            foreach (['ttl_ms', 'wait_ms', 'fair', 'token_above', 'label', 'replicas_ack', 'ack_timeout_ms'] as $name) {
                $found = $default(['Quotalock\Client', $method], camel($name));
                self::assertSame($api['defaults'][$name], $found, "$name of $method");
            }
        }
        foreach (['ttl_ms', 'wait_ms', 'token_above', 'label'] as $name) {
            $found = (new \ReflectionParameter('Quotalock\quorum_lock', camel($name)))->getDefaultValue();
            self::assertSame($api['defaults'][$name], $found, "$name of quorum_lock");
        }
        self::assertSame($api['defaults']['weight'], $default(['Quotalock\Client', 'semaphore'], 'weight'), 'weight');
        $waits = ['once' => ['Once' => ['run']], 'cache' => ['Cache' => ['get', 'getMany', 'getJson']]];
        foreach ($waits as $maker => $methods) {
            foreach ($api['defaults'][$maker] as $name => $wanted) {
                $found = $name !== 'wait_ms' ? [$default(['Quotalock\Client', $maker], camel($name))] : [];
                foreach ($name === 'wait_ms' ? $methods : [] as $class => $names) {
                    foreach ($names as $method) {
                        $found[] = $default(["Quotalock\\$class", $method], 'waitMs');
                    }
                }
                self::assertSame(
                    array_fill(0, count($found), $name === 'beta' ? (float) $wanted : $wanted),
                    $found,
                    "$name of $maker"
                );
            }
        }
        $stock = $api['defaults']['stock'];
        $calls = [
            'Client' => ['stock' => ['ledger_cap', 'retention_ms'], 'takeAll' => ['hold_ms'],
                'extendAll' => ['hold_ms']],
            'Stock' => ['take' => ['quantity', 'hold_ms'], 'extend' => ['hold_ms'], 'reservations' => ['count'],
                'ledger' => ['count']],
        ];
        foreach ($calls as $class => $methods) {
            foreach ($methods as $method => $names) {
                foreach ($names as $name) {
                    $found = $default(["Quotalock\\$class", $method], camel($name));
                    self::assertSame($stock[$name], $found, "$name of $class::$method");
                }
            }
        }
        [$info] = php(null, ['--ri', 'ratelimit']);
        foreach (['prefix', 'timeout_ms', 'on_error'] as $name) {
            self::assertStringContainsString("ratelimit.$name => {$api['defaults'][$name]} => default", $info);
        }
    }
}
