<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Psr;

use Quotalock\Client;
use Quotalock\Psr\CachePool;
use Quotalock\Tests\Frameworks\Upstream;

use function Quotalock\Tests\client;
use function Quotalock\Tests\server;

$cleared = 'clear() is refused: the keys of a cache lie beside limits and locks';
Upstream::load('src/CachePoolTest.php', [
    'testClear' => $cleared,
    'testClearWithDeferredItems' => $cleared,
], [
    "Remove everything\n        \$this->cache->clear();" =>
        "Remove both\n        \$this->cache->deleteItems(['key', 'key2']);",
    '$this->cache->clear();' => '// Each test has a cache of its own.',
]);

/** The tests of PSR-6 that caches in PHP share. */
final class CachePoolTest extends \Cache\IntegrationTests\CachePoolTest
{
    private ?Client $client = null;

    public function createCachePool()
    {
        // Several pools of a test are one cache.
        return new CachePool($this->client ??= client(server()));
    }
}
