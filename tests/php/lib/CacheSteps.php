<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use PHPUnit\Framework\Assert;
use PHPUnit\Framework\AssertionFailedError;
use Quotalock\Cache;
use Quotalock\Client;
use Quotalock\Once;
use Quotalock\Testing;

/** The steps of one vector about caches or about what is done once. */
final class CacheSteps
{
    /** What is given in microseconds. */
    private const DURATIONS = ['fresh', 'stale', 'lease', 'negative', 'error_ttl', 'ttl'];

    /** @var array<string, Cache|Once> by their labels */
    private array $handles = [];

    public function __construct(private readonly Client $client, private readonly array $case)
    {
        foreach (['caches' => 'cache', 'onces' => 'once'] as $list => $method) {
            foreach ($case[$list] ?? [] as $label => $options) {
                $this->handles[$label] = self::handle($client, $method, $options);
            }
        }
    }

    /** The cache or once of these options. */
    public static function handle(Client $client, string $method, array $options): Cache|Once
    {
        $arguments = ['name' => $method === 'cache' ? 'home' : 'coupon'];
        foreach ($options as $name => $value) {
            match (true) {
                in_array($name, self::DURATIONS, true) => $arguments[camel("{$name}_ms")] = intdiv($value, 1000),
                default => $arguments[camel($name)] = $value,
            };
        }
        return $client->$method(...$arguments);
    }

    /** Makes what cannot be made, or a call that is refused. */
    public static function refused(Client $client, array $case): void
    {
        $handle = self::handle($client, $case['make'], $case['options']);
        $call = $case['call'];
        $value = isset($call['size']) ? str_repeat('x', $call['size']) : 'v';
        try {
            match ($call['op']) {
                'get' => $handle->get($call['key'], fn () => $value),
                'get_many' => $handle->getMany($call['keys'], fn (array $keys) => array_fill_keys($keys, $value)),
                'peek' => $handle->peek($call['key']),
                'put' => $handle->put($call['key'], $value),
                'claim' => $handle->claim($call['key'], $value),
                'run' => $handle->run($call['key'], fn () => $value),
            };
        } finally {
            if (isset($call['size']) && in_array($call['op'], ['get', 'run'], true)) {
                // The way is free again.
                $way = $call['op'];
                Assert::assertSame(
                    'small',
                    $handle->$way($call['key'], fn () => 'small', 0),
                    'what the next caller makes'
                );
            }
        }
    }

    public function execute(): void
    {
        $this->performAll($this->case['steps'], 'steps');
    }

    private function performAll(array $steps, string $where): void
    {
        foreach ($steps as $i => $step) {
            Testing::setTime($this->client, $step['at']);
            $handle = $this->handles[$step['cache'] ?? $step['once']];
            $key = Vectors::bytes($step, isset($step['once']) ? 'id' : 'key');
            if (isset($step['error'])) {
                refused($step['error'], fn () => $this->perform($handle, $key, $step, "{$where}[$i]"));
                continue;
            }
            $found = $this->perform($handle, $key, $step, "{$where}[$i]");
            if (array_key_exists('expect', $step)) {
                Assert::assertSame(self::wanted($step['expect']), $found, "the answer of {$where}[$i]");
            }
        }
    }

    private function perform(Cache|Once $handle, ?string $key, array $step, string $where): ?array
    {
        $value = fn (): ?string => Vectors::bytes($step, 'value');
        return match ($step['op']) {
            'get' => $this->made($step['load'], 'loaded', $where, fn ($load) => $handle->get($key, $load, 0)),
            'run' => $this->made($step['function'], 'ran', $where, fn ($run) => $handle->run($key, $run, 0)),
            'get_many' => self::many($handle, $step),
            'peek' => self::seen($handle, $key),
            'put' => self::nothing($handle->put($key, $value())),
            'invalidate' => ['existed' => $handle->invalidate($key)],
            'claim' => self::claimed($handle, $key, $value()),
            'release' => ['released' => $handle->release($key)],
            'redis_key' => [
                'redis_key' => bin2hex(substr($handle->redisKey($key), strlen("{$this->client->prefix}:"))),
            ],
            'plant', 'persist', 'raw' => Vectors::raw($this->client, $handle->redisKey($key), $step),
        };
    }

    /** What a call with this loader answers. */
    private function made(array $load, string $called, string $where, \Closure $call): array
    {
        $was = false;
        $loader = function () use ($load, $where, &$was): ?string {
            $was = true;
            $this->performAll($load['during'] ?? [], "$where, in it");
            if (isset($load['until'])) {
                Testing::setTime($this->client, $load['until']);
            }
            if (isset($load['error'])) {
                throw new \DomainException($load['error']);
            }
            return Vectors::bytes($load, 'value');
        };
        try {
            $value = $call($loader);
        } catch (\DomainException $error) {
            return ['raised' => $error->getMessage()];
        }
        return [$called => $was, 'value' => self::hex($value)];
    }

    private static function many(Cache $cache, array $step): array
    {
        $loaded = [];
        $values = array_combine($step['keys'], $step['load']['values']);
        $found = $cache->getMany($step['keys'], function (array $keys) use ($values, &$loaded): array {
            $loaded = $keys;
            return array_intersect_key($values, array_flip($keys));
        }, 0);
        Assert::assertSame($step['keys'], array_map(strval(...), array_keys($found)), 'the keys of the answer');
        return ['loaded' => $loaded, 'values' => array_values($found)];
    }

    private static function seen(Cache $cache, string $key): ?array
    {
        $seen = $cache->peek($key);
        return $seen === null ? null
            : ['age' => $seen->ageMs, 'stale' => $seen->stale, 'value' => self::hex($seen->value)];
    }

    private static function claimed(Once $once, string $id, ?string $value): array
    {
        $claimed = $once->claim($id, $value);
        return [
            'first' => $claimed->first,
            'running' => $claimed->running,
            'value' => self::hex($claimed->value),
        ];
    }

    private static function nothing(bool $answer): ?array
    {
        return $answer ? null : throw new AssertionFailedError('it was not stored');
    }

    private static function hex(?string $bytes): ?string
    {
        return $bytes === null ? null : bin2hex($bytes);
    }

    /** What a vector expects, with bytes in hexadecimal and times in milliseconds, of which all of them are whole. */
    private static function wanted(?array $expect): ?array
    {
        if ($expect === null) {
            return null;
        }
        foreach (['value', 'redis_key'] as $name) {
            if (array_key_exists($name, $expect) || isset($expect["{$name}_hex"])) {
                $expect[$name] = self::hex(Vectors::bytes($expect, $name));
                unset($expect["{$name}_hex"]);
            }
        }
        if (isset($expect['age'])) {
            $expect['age'] = Vectors::ms($expect['age']);
        }
        ksort($expect);
        return $expect;
    }
}
