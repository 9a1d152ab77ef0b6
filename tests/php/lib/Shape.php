<?php

declare(strict_types=1);

namespace Quotalock\Tests;

/** Everything that reflection tells of the namespace Quotalock, as plain arrays that can be compared. */
final class Shape
{
    /** @return array<string, mixed> */
    public static function ofAll(): array
    {
        $shape = [];
        foreach ([...get_declared_classes(), ...get_declared_interfaces()] as $class) {
            if (preg_match('/^Quotalock\\\\(Exception\\\\)?\w+$/', $class)) {
                $shape[$class] = self::ofClass(new \ReflectionClass($class));
            }
        }
        foreach (array_merge(...array_values(get_defined_functions())) as $function) {
            if (preg_match('/^quotalock\\\\\w+$/', $function)) {
                $reflection = new \ReflectionFunction($function);
                $shape["{$reflection->getName()}()"] = self::ofFunction($reflection);
            }
        }
        ksort($shape);
        return $shape;
    }

    /** @return array<string, mixed> */
    private static function ofClass(\ReflectionClass $class): array
    {
        $members = [];
        foreach ($class->getProperties() as $property) {
            if ($property->getDeclaringClass()->getName() === $class->getName()) {
                $members['$' . $property->getName()] = [
                    'type' => (string) $property->getType(),
                    'modifiers' => implode(' ', \Reflection::getModifierNames($property->getModifiers())),
                ];
            }
        }
        foreach ($class->getMethods() as $method) {
            if ($method->getDeclaringClass()->getName() === $class->getName()) {
                $members[$method->getName() . '()'] = self::ofFunction($method)
                    + ['modifiers' => implode(' ', \Reflection::getModifierNames($method->getModifiers()))];
            }
        }
        $interfaces = $class->getInterfaceNames();
        sort($interfaces);
        return [
            'final' => $class->isFinal(),
            'interface' => $class->isInterface(),
            'parent' => $class->getParentClass() ? $class->getParentClass()->getName() : null,
            'interfaces' => $interfaces,
            'constants' => $class->getConstants(),
            // In the order of their declaration.
            'properties' => array_keys(array_filter($members, fn (string $n) => $n[0] === '$', ARRAY_FILTER_USE_KEY)),
            'members' => self::sorted($members),
        ];
    }

    /** @return array<string, mixed> */
    private static function ofFunction(\ReflectionFunctionAbstract $function): array
    {
        $parameters = [];
        foreach ($function->getParameters() as $parameter) {
            $parameters[$parameter->getName()] = [
                'type' => (string) $parameter->getType(),
                'default' => $parameter->isOptional() ? json_encode($parameter->getDefaultValue()) : 'none',
                'reference' => $parameter->isPassedByReference(),
                'variadic' => $parameter->isVariadic(),
                'attributes' => array_map(fn ($attribute) => $attribute->getName(), $parameter->getAttributes()),
            ];
        }
        return [
            'parameters' => $parameters,
            'names' => array_keys($parameters),
            'returns' => (string) $function->getReturnType(),
        ];
    }

    private static function sorted(array $members): array
    {
        ksort($members);
        return $members;
    }
}
