<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Laravel;

use Illuminate\Tests\Integration\Queue\RateLimitedTest;
use Quotalock\Laravel\Queue\RateLimited;
use Quotalock\Tests\Frameworks\Upstream;

$clock = 'winds the clock of a cache, and none is asked here';
const QUEUETEST_FILE = 'tests/Integration/Queue/RateLimitedTest.php';
Upstream::load(QUEUETEST_FILE, Upstream::having(QUEUETEST_FILE, [
    'testRateLimitedJobsAreNotExecutedOnLimitReached2' =>
        'tells a mock of a cache what to answer, and no cache is asked here',
    'testItCanLimitPerMinute' => $clock,
    'testItCanLimitPerSecond' => $clock,
    'testMiddlewareSerialization' => 'reads private properties of Laravel\'s own class',
]), ['use Illuminate\Queue\Middleware\RateLimited;' => 'use ' . RateLimited::class . ';']);

/** Laravel's own tests of the middleware of jobs `RateLimited`. */
final class QueueTest extends RateLimitedTest
{
}
