<?php

declare(strict_types=1);

namespace Quotalock\Psr;

use Psr\SimpleCache\CacheInterface;
use Quotalock\Client;

/** A cache of PSR-16, versions 1 to 3. Every value has a time to live; clear() is refused. */
final class SimpleCache implements CacheInterface
{
    private readonly Values $values;

    /**
     * @param non-empty-string $name part of the keys in Redis
     * @param int $defaultTtl seconds that a value is kept which has no time to live: at most ten years
     */
    public function __construct(Client $client, string $name = 'psr16', int $defaultTtl = 3600)
    {
        $this->values = new Values($client, $name, $defaultTtl);
    }

    public function get($key, $default = null): mixed
    {
        $found = $this->values->find(Values::key($key));
        return $found === null ? $default : $found[0];
    }

    public function set($key, $value, $ttl = null): bool
    {
        $this->values->put(Values::key($key), $value, Values::seconds($ttl));
        return true;
    }

    public function delete($key): bool
    {
        $this->values->forget(Values::key($key));
        return true;
    }

    /** @throws NotPromised always */
    public function clear(): bool
    {
        throw NotPromised::clear();
    }

    public function getMultiple($keys, $default = null): iterable
    {
        $values = [];
        foreach (self::keys($keys) as $key) {
            $values[$key] = $this->get($key, $default);
        }
        return $values;
    }

    public function setMultiple($values, $ttl = null): bool
    {
        is_iterable($values) || throw new InvalidArgument('Values are an array or Traversable');
        $seconds = Values::seconds($ttl);
        $checked = [];
        foreach ($values as $key => $value) {
            $checked[] = [Values::key(is_int($key) ? (string) $key : $key), $value];
        }
        foreach ($checked as [$key, $value]) {
            $this->values->put($key, $value, $seconds);
        }
        return true;
    }

    public function deleteMultiple($keys): bool
    {
        foreach (self::keys($keys) as $key) {
            $this->values->forget($key);
        }
        return true;
    }

    public function has($key): bool
    {
        return $this->values->find(Values::key($key)) !== null;
    }

    /** @return list<string> */
    private static function keys(mixed $keys): array
    {
        is_iterable($keys) || throw new InvalidArgument('Keys are an array or Traversable');
        return array_map(Values::key(...), is_array($keys) ? array_values($keys) : iterator_to_array($keys, false));
    }
}
