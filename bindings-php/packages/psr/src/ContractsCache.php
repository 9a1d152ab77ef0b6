<?php

declare(strict_types=1);

namespace Quotalock\Psr;

use Quotalock\Client;
use Symfony\Contracts\Cache\CacheInterface;

/**
 * A cache of Symfony's contracts: of all callers who miss a value, on whatever machine, one loads it, and the others
 * get what it loaded.
 */
final class ContractsCache implements CacheInterface
{
    private readonly Values $values;

    /**
     * @param non-empty-string $name part of the keys in Redis
     * @param int $defaultTtl seconds that a value is kept whose item does not say: at most ten years
     */
    public function __construct(Client $client, string $name = 'contracts', private readonly int $defaultTtl = 3600)
    {
        $this->values = new Values($client, $name, $defaultTtl);
    }

    /** `$beta` is as in Symfony: `INF` loads anew, 0 never loads early. */
    public function get(string $key, callable $callback, ?float $beta = null, ?array &$metadata = null): mixed
    {
        $key = Values::key($key);
        $metadata = [];
        if ($beta === INF) {
            $this->values->forget($key);
        }
        $item = null;
        $value = null;
        $save = true;
        $load = function () use ($key, $callback, &$item, &$value, &$save): string {
            $item = new ContractsItem($key, null);
            $value = $callback($item, $save);
            return serialize($value);
        };
        $early = $beta === null || $beta === INF ? 1.0 : $beta;
        $text = $this->values->cacheOf($this->defaultTtl, $early)->get($key, $load);
        if ($item === null) {
            return unserialize((string) $text);
        }
        if (!$save) {
            $this->values->forget($key);
        } elseif ($item->seconds() !== null) {
            $this->values->put($key, $value, $item->seconds());
        }
        return $value;
    }

    public function delete(string $key): bool
    {
        $this->values->forget(Values::key($key));
        return true;
    }
}
