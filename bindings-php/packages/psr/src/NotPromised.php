<?php

declare(strict_types=1);

namespace Quotalock\Psr;

/** Something that Quotalock's cache does not promise. */
final class NotPromised extends \LogicException implements \Psr\Cache\CacheException, \Psr\SimpleCache\CacheException
{
    /** Its keys share the database with limits and locks, and are spread over servers. */
    public static function clear(): self
    {
        return new self(
            "Quotalock's cache cannot be cleared: its keys share the database with limits and locks. Delete the keys,"
                . ' or give the cache another name, and the old values expire',
        );
    }

    /** What one call invalidates lies under one key. */
    public static function tags(): self
    {
        return new self(
            "Quotalock's cache has no tags: delete the keys, or make what they depend on a part of them, such as a"
                . ' version',
        );
    }
}
