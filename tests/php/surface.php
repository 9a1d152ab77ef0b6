<?php

/** The extension against tests/spec/api.json, by reflection. */

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Exception\QuotalockException;
use Quotalock\Testing;

$api = json_decode((string) file_get_contents(ROOT . '/tests/spec/api.json'), true, flags: JSON_THROW_ON_ERROR);

/** A canonical name as PHP writes it. */
$camel = fn (string $name): string => lcfirst(str_replace('_', '', ucwords($name, '_')));
/** As that, of a value; what is a duration, maybe only in this type, says its unit. */
$cased = function (string $name, string $type = '') use ($api, $camel): string {
    return $camel($name) . (array_intersect([$name, "$type.$name"], $api['durations']) === [] ? '' : 'Ms');
};
$names = fn (array $reflections): array => array_map(fn (object $each) => $each->getName(), $reflections);
/** Canonical names as PHP writes them, without what PHP lacks. */
$listed = fn (array $canonical, string $type = ''): array => array_map(
    fn (string $name) => $cased($name, $type),
    array_values(array_diff($canonical, $api['only']['php']['lacks']))
);

foreach ($api['types'] as $type => $surface) {
    $surface = array_merge_recursive($surface, $api['only']['php'][$type] ?? []);
    test("$type has exactly the members of api.json", function () use ($type, $surface, $names, $listed, $camel) {
        $class = new \ReflectionClass("Quotalock\\$type");
        holds($class->isFinal(), 'that it is final');
        $constructor = $class->getConstructor();
        same(isset($surface['construct']), (bool) $constructor?->isPublic(), 'whether it can be constructed');
        if (isset($surface['construct'])) {
            same($listed($surface['construct'], $type), $names($constructor->getParameters()), 'the parameters');
        }
        $methods = [];
        foreach ($class->getMethods(\ReflectionMethod::IS_PUBLIC) as $method) {
            if (!$method->isConstructor()) {
                $methods[$method->getName()] = $names($method->getParameters());
            }
        }
        $wanted = [];
        foreach ($surface['methods'] ?? [] as $method => $parameters) {
            $wanted[$camel($method)] = $listed($parameters, $type);
        }
        ksort($methods);
        ksort($wanted);
        same($wanted, $methods, 'the methods');
        same($listed($surface['properties'], $type), $names($class->getProperties()), 'the properties');
        foreach ($class->getProperties() as $property) {
            $sound = $property->isPublic() && $property->isReadOnly() && $property->hasType();
            holds($sound, "that {$property->getName()} is public, readonly and typed");
        }
    });
}

test('the functions are those of api.json', function () use ($api, $names, $listed) {
    $functions = array_values(array_filter((array) get_extension_funcs('ratelimit')));
    same(array_map(fn (string $name) => "Quotalock\\$name", array_keys($api['functions'])), $functions, 'functions');
    foreach ($api['functions'] as $name => $parameters) {
        $function = new \ReflectionFunction("Quotalock\\$name");
        same($listed($parameters), $names($function->getParameters()), "the parameters of $name");
    }
});

test('the helpers for tests are those of api.json', function () use ($api, $names, $listed, $camel) {
    $class = new \ReflectionClass(Testing::class);
    $methods = $names($class->getMethods(\ReflectionMethod::IS_STATIC));
    same(array_map($camel, array_keys($api['testing'])), $methods, 'the methods');
    foreach ($api['testing'] as $name => $parameters) {
        $method = $class->getMethod($camel($name));
        same($listed($parameters), $names($method->getParameters()), "the parameters of $name");
    }
});

test('there is an exception for each code', function () use ($api) {
    foreach ($api['errors'] as $code => $name) {
        $class = "Quotalock\\Exception\\{$name}Exception";
        $error = new $class('why', 7);
        holds($error instanceof QuotalockException, "that $class is a QuotalockException");
        same($code, $error->getErrorCode(), "the code of $class");
        same(['why', 7], [$error->getMessage(), $error->getCode()], 'what it was made with');
        $parent = str_starts_with($code, 'invalid') ? \InvalidArgumentException::class : \RuntimeException::class;
        same($parent, get_parent_class($error), "the parent of $class");
        same([__FILE__, true], [$error->getFile(), $error->getLine() > 0], 'where it was made');
    }
});

test('the extension has no class beside these', function () use ($api) {
    $wanted = ['Quotalock\Exception\QuotalockException', 'Quotalock\Testing'];
    foreach (array_keys($api['types']) as $type) {
        $wanted[] = "Quotalock\\$type";
    }
    foreach ($api['errors'] as $name) {
        $wanted[] = "Quotalock\\Exception\\{$name}Exception";
    }
    $found = (new \ReflectionExtension('ratelimit'))->getClassNames();
    sort($wanted);
    sort($found);
    same($wanted, $found, 'the classes');
});

test('defaults are those of api.json', function () use ($api, $camel) {
    $default = fn (array $method, string $name) => (new \ReflectionParameter($method, $name))->getDefaultValue();
    same($api['defaults']['cost'], $default(['Quotalock\Limiter', 'consume'], 'cost'), 'cost');
    same($api['defaults']['unsettled'], $default(['Quotalock\Limiter', 'reserve'], 'unsettled'), 'unsettled');
    same($api['defaults']['enforce'], $default(['Quotalock\Client', 'limiter'], 'enforce'), 'enforce');
    $memory = $default(['Quotalock\Client', '__construct'], 'requestMemoryMs');
    same($api['defaults']['request_memory_ms'], $memory, 'requestMemoryMs');
    same($api['defaults']['algorithm'], $default(['Quotalock\Rule', '__construct'], 'algorithm'), 'algorithm');
    foreach (['lock', 'lockAll', 'semaphore', 'readLock', 'writeLock'] as $method) {
        foreach (['ttl_ms', 'wait_ms', 'fair', 'floor', 'label', 'replicas_ack', 'ack_timeout_ms'] as $name) {
            $found = $default(['Quotalock\Client', $method], $camel($name));
            same($api['defaults'][$name], $found, "$name of $method");
        }
    }
    foreach (['ttl_ms', 'wait_ms', 'floor', 'label'] as $name) {
        $found = (new \ReflectionParameter('Quotalock\quorum_lock', $camel($name)))->getDefaultValue();
        same($api['defaults'][$name], $found, "$name of quorum_lock");
    }
    same($api['defaults']['weight'], $default(['Quotalock\Client', 'semaphore'], 'weight'), 'weight');
    $waits = ['once' => ['Once' => ['run']], 'cache' => ['Cache' => ['get', 'getMany', 'getJson']]];
    foreach ($waits as $maker => $methods) {
        foreach ($api['defaults'][$maker] as $name => $wanted) {
            $found = $name !== 'wait_ms' ? [$default(['Quotalock\Client', $maker], $camel($name))] : [];
            foreach ($name === 'wait_ms' ? $methods : [] as $class => $names) {
                foreach ($names as $method) {
                    $found[] = $default(["Quotalock\\$class", $method], 'waitMs');
                }
            }
            same(array_fill(0, count($found), $name === 'beta' ? (float) $wanted : $wanted), $found, "$name of $maker");
        }
    }
    $stock = $api['defaults']['stock'];
    $calls = [
        'Client' => ['stock' => ['ledger_cap', 'memory_ms'], 'takeAll' => ['hold_ms'], 'extendAll' => ['hold_ms']],
        'Stock' => ['take' => ['quantity', 'hold_ms'], 'extend' => ['hold_ms'], 'reservations' => ['count'],
            'ledger' => ['count']],
    ];
    foreach ($calls as $class => $methods) {
        foreach ($methods as $method => $names) {
            foreach ($names as $name) {
                $found = $default(["Quotalock\\$class", $method], $camel($name));
                same($stock[$name], $found, "$name of $class::$method");
            }
        }
    }
    [$info] = php(null, ['--ri', 'ratelimit']);
    foreach (['prefix', 'timeout_ms', 'on_error'] as $name) {
        contains("ratelimit.$name => {$api['defaults'][$name]} => default", $info);
    }
});
