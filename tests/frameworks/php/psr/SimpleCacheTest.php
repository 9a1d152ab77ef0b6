<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Psr;

use Quotalock\Psr\SimpleCache;
use Quotalock\Tests\Frameworks\Upstream;

use function Quotalock\Tests\client;
use function Quotalock\Tests\server;

Upstream::load('src/SimpleCacheTest.php', [
    'testClear' => 'clear() is refused: the keys of a cache lie beside limits and locks',
], ['$this->cache->clear();' => '// Each test has a cache of its own.']);

/** The tests of PSR-16 that caches in PHP share. */
final class SimpleCacheTest extends \Cache\IntegrationTests\SimpleCacheTest
{
    public function createSimpleCache()
    {
        return new SimpleCache(client(server()));
    }
}
