<?php

declare(strict_types=1);

namespace Quotalock\Psr;

use Psr\Cache\CacheItemInterface;
use Psr\Cache\CacheItemPoolInterface;
use Quotalock\Client;

/** A cache of PSR-6, versions 1 to 3. Every value has a time to live; clear() is refused. */
final class CachePool implements CacheItemPoolInterface
{
    private readonly Values $values;

    /** @var array<string, CacheItem> what commit() stores */
    private array $deferred = [];

    /**
     * @param non-empty-string $name part of the keys in Redis
     * @param int $defaultTtl seconds that a value is kept which has no time to live: at most ten years
     */
    public function __construct(Client $client, string $name = 'psr6', int $defaultTtl = 3600)
    {
        $this->values = new Values($client, $name, $defaultTtl);
    }

    public function __destruct()
    {
        $this->commit();
    }

    public function getItem($key): CacheItemInterface
    {
        $key = Values::key($key);
        $deferred = $this->deferred[$key] ?? null;
        if ($deferred !== null) {
            $seconds = $deferred->seconds();
            return $seconds === null || $seconds > 0 ? $deferred->stored() : new CacheItem($key, null);
        }
        return new CacheItem($key, $this->values->find($key));
    }

    public function getItems(array $keys = []): iterable
    {
        $items = [];
        foreach (array_map(Values::key(...), $keys) as $key) {
            $items[$key] = $this->getItem($key);
        }
        return $items;
    }

    public function hasItem($key): bool
    {
        return $this->getItem($key)->isHit();
    }

    /** @throws NotPromised always */
    public function clear(): bool
    {
        throw NotPromised::clear();
    }

    public function deleteItem($key): bool
    {
        $key = Values::key($key);
        unset($this->deferred[$key]);
        $this->values->forget($key);
        return true;
    }

    public function deleteItems(array $keys): bool
    {
        foreach (array_map(Values::key(...), $keys) as $key) {
            $this->deleteItem($key);
        }
        return true;
    }

    public function save(CacheItemInterface $item): bool
    {
        $item = self::ours($item);
        unset($this->deferred[$item->getKey()]);
        $this->values->put($item->getKey(), $item->get(), $item->seconds());
        return true;
    }

    public function saveDeferred(CacheItemInterface $item): bool
    {
        $this->deferred[$item->getKey()] = self::ours($item)->stored();
        return true;
    }

    public function commit(): bool
    {
        foreach ($this->deferred as $item) {
            $this->save($item);
        }
        return true;
    }

    private static function ours(CacheItemInterface $item): CacheItem
    {
        return $item instanceof CacheItem ? $item : throw new InvalidArgument('The item is of another pool');
    }
}
