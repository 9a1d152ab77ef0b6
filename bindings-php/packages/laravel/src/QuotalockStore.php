<?php

declare(strict_types=1);

namespace Quotalock\Laravel;

use Illuminate\Contracts\Cache\LockProvider;
use Illuminate\Contracts\Cache\Store;
use Quotalock\Cache;
use Quotalock\Client;

/**
 * Laravel's cache on Quotalock's, and its locks. Every value has a time to live of at most ten years.
 *
 * add(), increment(), decrement() and touch() hold a lock for a moment, since a cache keeps values, not counters.
 */
class QuotalockStore implements LockProvider, Store
{
    private const NAME = 'laravel';

    /** How long a change of a value may take, and how long it may wait for others of the same value. */
    private const CHANGE_MS = 10_000;

    private readonly Cache $reader;

    /**
     * @param int|null $forever seconds that forever() keeps a value; null refuses
     * @param int $lockSeconds how long a lock without seconds is held
     * @param list<string>|bool|null $classes those that values may have, as unserialize() takes them; null is any
     */
    public function __construct(
        private readonly Client $client,
        private readonly string $prefix = '',
        private readonly ?int $forever = null,
        private readonly int $lockSeconds = 86_400,
        private readonly array|bool|null $classes = null,
    ) {
        $this->reader = $client->cache(self::NAME);
    }

    public function get($key)
    {
        return $this->find($key)[0] ?? null;
    }

    public function many(array $keys)
    {
        $values = [];
        foreach ($keys as $key) {
            $values[$key] = $this->get($key);
        }
        return $values;
    }

    public function put($key, $value, $seconds)
    {
        $ms = (int) ceil($seconds * 1000);
        if ($ms <= 0) {
            return $this->forget($key) || true;
        }
        $this->client->cache(self::NAME, freshMs: $ms)->put($this->prefix . $key, "$ms:" . serialize($value));
        return true;
    }

    public function putMany(array $values, $seconds)
    {
        foreach ($values as $key => $value) {
            $this->put($key, $value, $seconds);
        }
        return true;
    }

    /** Stores a value unless there is one. */
    public function add($key, $value, $seconds)
    {
        return $this->change($key, function () use ($key, $value, $seconds): bool {
            return $this->find($key) === null && $this->put($key, $value, $seconds);
        });
    }

    public function increment($key, $value = 1)
    {
        return $this->change($key, function () use ($key, $value): int {
            [$old, $ms] = $this->find($key) ?? [0, null];
            if ($ms === null) {
                $this->forever($key, $value);
                return $value;
            }
            $this->put($key, $old + $value, $ms / 1000);
            return $old + $value;
        });
    }

    public function decrement($key, $value = 1)
    {
        return $this->increment($key, -$value);
    }

    /** @throws \LogicException unless the setting `forever` says for how long */
    public function forever($key, $value)
    {
        if ($this->forever === null) {
            throw new \LogicException(
                "Quotalock's cache keeps nothing forever: give \"$key\" a time to live, or set quotalock.forever to the"
                    . ' seconds that Cache::forever() stands for (see docs/frameworks/laravel.md)',
            );
        }
        return $this->put($key, $value, $this->forever);
    }

    /** Has a value kept for so many seconds from now. False if there is none. */
    public function touch($key, $seconds)
    {
        return $this->change($key, function () use ($key, $seconds): bool {
            $found = $this->find($key);
            return $found !== null && $this->put($key, $found[0], $seconds);
        });
    }

    public function forget($key)
    {
        return $this->reader->invalidate($this->prefix . $key);
    }

    /** @throws \LogicException always */
    public function flush()
    {
        throw new \LogicException(
            "Quotalock's cache cannot be flushed: its keys share the database with limits and locks. Forget the keys,"
                . ' or change cache.prefix, and the old values expire (see docs/frameworks/laravel.md)',
        );
    }

    public function getPrefix()
    {
        return $this->prefix;
    }

    public function lock($name, $seconds = 0, $owner = null)
    {
        return new QuotalockLock($this->client, $this->prefix . $name, $seconds ?: $this->lockSeconds, $owner);
    }

    public function restoreLock($name, $owner)
    {
        return $this->lock($name, 0, $owner);
    }

    /** @return array{mixed, int}|null the value and for how many milliseconds more it is kept */
    private function find(string $key): ?array
    {
        $seen = $this->reader->peek($this->prefix . $key);
        if ($seen?->value === null || $seen->stale) {
            return null;
        }
        [$ms, $value] = explode(':', $seen->value, 2);
        return [unserialize($value, ['allowed_classes' => $this->classes ?? true]), max((int) $ms - $seen->ageMs, 1)];
    }

    /** @template T @param callable(): T $change @return T */
    private function change(string $key, callable $change): mixed
    {
        $name = 'cache:' . self::NAME . ":$this->prefix$key";
        return $this->client->lock($name, self::CHANGE_MS)->run($change, self::CHANGE_MS);
    }
}
