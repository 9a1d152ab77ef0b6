<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Symfony;

use Quotalock\Symfony\Semaphore\SemaphoreStore;
use Quotalock\Tests\Frameworks\Upstream;
use Symfony\Component\Semaphore\PersistingStoreInterface;
use Symfony\Component\Semaphore\Tests\Store\AbstractStoreTestCase;

use function Quotalock\Tests\client;
use function Quotalock\Tests\server;

Upstream::load('src/Symfony/Component/Semaphore/Tests/Store/AbstractStoreTestCase.php', [
    'testPutOffExpirationWhenSaveHasNotBeenCalled' => 'expects the words of RedisStore ("the script returns ...")',
]);

/** Symfony's own tests of stores for semaphores. */
final class SemaphoreStoreTest extends AbstractStoreTestCase
{
    protected function getStore(): PersistingStoreInterface
    {
        return new SemaphoreStore(client(server()));
    }
}
