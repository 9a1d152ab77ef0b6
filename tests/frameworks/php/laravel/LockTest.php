<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Laravel;

use Illuminate\Tests\Integration\Cache\RedisCacheLockTest;
use Quotalock\Tests\Frameworks\Upstream;

// Asks an object without the lock for the owner, which only the object with the lock knows here.
$asked = '$this->assertTrue($secondLock->isOwnedBy($firstLock->owner()));';
const LOCKTEST_FILE = 'tests/Integration/Cache/RedisCacheLockTest.php';
Upstream::load(LOCKTEST_FILE, Upstream::having(LOCKTEST_FILE, [
    'testRedisLockCanHaveASeparateConnection' =>
        'a setting of Laravel\'s Redis store: locks here have a client, not a connection',
]), [
    "store('redis')" => "store('quotalock')",
    'use InteractsWithRedis;' => '',
    '$this->setUpRedis();' => '',
    '$this->tearDownRedis();' => '',
    ...(str_contains((string) file_get_contents(Upstream::find(LOCKTEST_FILE)), $asked) ? [$asked => ''] : []),
]);

/** Laravel's own tests of the locks of its Redis store. */
final class LockTest extends RedisCacheLockTest
{
}
