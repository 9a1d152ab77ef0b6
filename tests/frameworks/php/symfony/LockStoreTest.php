<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Symfony;

use Quotalock\Symfony\Lock\LockStore;
use Quotalock\Tests\Frameworks\Upstream;
use Symfony\Component\Lock\PersistingStoreInterface;
use Symfony\Component\Lock\Test\AbstractStoreTestCase as StoreTestCaseOfSymfony7;
use Symfony\Component\Lock\Tests\Store\AbstractStoreTestCase as StoreTestCaseOfSymfony5;
use Symfony\Component\Lock\Tests\Store\BlockingStoreTestTrait;
use Symfony\Component\Lock\Tests\Store\ExpiringStoreTestTrait;
use Symfony\Component\Lock\Tests\Store\SharedLockStoreTestTrait;

use function Quotalock\Tests\client;
use function Quotalock\Tests\server;

$sides = 'a lock changes its side by release and acquire, so the store refuses to do it in one step';
Upstream::load('src/Symfony/Component/Lock/Tests/Store/SharedLockStoreTestTrait.php', [
    'testSharedLockPromote' => $sides,
    'testSharedLockPromoteAllowed' => $sides,
    'testSharedLockDemote' => $sides,
]);

$tests = class_exists(StoreTestCaseOfSymfony7::class) ? StoreTestCaseOfSymfony7::class : StoreTestCaseOfSymfony5::class;
class_alias($tests, __NAMESPACE__ . '\\StoreTestCase');

/** Symfony's own tests of stores for locks. */
final class LockStoreTest extends StoreTestCase
{
    use BlockingStoreTestTrait;
    use ExpiringStoreTestTrait;
    use SharedLockStoreTestTrait;

    protected function getStore(): PersistingStoreInterface
    {
        static $client = null;
        $client ??= client(server());
        return new LockStore($client);
    }

    protected function getClockDelay(): int
    {
        return 250_000;
    }
}
