<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Laravel;

use Illuminate\Tests\Integration\Http\ThrottleRequestsTest;
use Quotalock\Laravel\ThrottleRequests;
use Quotalock\Tests\Frameworks\Upstream;

use function Quotalock\Tests\prefix;

const THROTTLETEST_FILE = 'tests/Integration/Http/ThrottleRequestsTest.php';
Upstream::load(THROTTLETEST_FILE, Upstream::having(THROTTLETEST_FILE, [
    'testItCanGenerateDefinitionViaStaticMethod' => 'expects the name of Laravel\'s own class',
]), ['use Illuminate\Routing\Middleware\ThrottleRequests;' => 'use ' . ThrottleRequests::class . ';']);

/** Laravel's own tests of the middleware `throttle`. */
final class ThrottleTest extends ThrottleRequestsTest
{
    protected function url(): string
    {
        return 'memory://' . prefix();
    }
}
