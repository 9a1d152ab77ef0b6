<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Laravel;

use Illuminate\Tests\Integration\Cache\RedisCacheLockTest;
use Quotalock\Tests\Frameworks\Upstream;

const LOCKTEST_FILE = 'tests/Integration/Cache/RedisCacheLockTest.php';
Upstream::load(LOCKTEST_FILE, Upstream::having(LOCKTEST_FILE, [
    'testRedisLockCanHaveASeparateConnection' =>
        'a setting of Laravel\'s Redis store: locks here have a client, not a connection',
]), [
    "store('redis')" => "store('quotalock')",
    'use InteractsWithRedis;' => '',
    '$this->setUpRedis();' => '',
    '$this->tearDownRedis();' => '',
]);

/** Laravel's own tests of the locks of its Redis store. */
final class LockTest extends RedisCacheLockTest
{
}
