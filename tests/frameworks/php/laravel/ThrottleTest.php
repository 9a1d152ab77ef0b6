<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Laravel;

use Illuminate\Http\Response;
use Illuminate\Testing\TestResponse;
use Illuminate\Tests\Integration\Http\ThrottleRequestsTest;
use Quotalock\Laravel\ThrottleRequests;
use Quotalock\Tests\Frameworks\Upstream;
use Symfony\Component\HttpKernel\Exception\HttpExceptionInterface;

use function Quotalock\Tests\prefix;

$users = 'needs a database of users';
const THROTTLETEST_FILE = 'tests/Integration/Http/ThrottleRequestsTest.php';
Upstream::load(THROTTLETEST_FILE, Upstream::having(THROTTLETEST_FILE, [
    'testItCanGenerateDefinitionViaStaticMethod' => 'expects the name of Laravel\'s own class',
    'testItFailsIfNamedLimiterDoesNotExistAndAuthenticatedUserDoesNotHaveFallbackProperty' => $users,
    'testItFallbacksToUserPropertyWhenThereIsNoNamedLimiterWhenAuthenticated' => $users,
    'testItFallbacksToUserAccessorWhenThereIsNoNamedLimiterWhenAuthenticated' => $users,
]), ['use Illuminate\Routing\Middleware\ThrottleRequests;' => 'use ' . ThrottleRequests::class . ';']);

/** Laravel's own tests of the middleware `throttle`. */
final class ThrottleTest extends ThrottleRequestsTest
{
    private bool $handles = true;

    protected function withoutExceptionHandling(): static
    {
        $this->handles = false;
        return $this;
    }

    /** What Laravel's tests look at; a denial is an answer, unless a test asks for the exception. */
    protected function get(string $path): TestResponse
    {
        try {
            return new TestResponse(parent::get($path));
        } catch (HttpExceptionInterface $problem) {
            return $this->handles
                ? new TestResponse(new Response('', $problem->getStatusCode(), $problem->getHeaders()))
                : throw $problem;
        }
    }

    protected function url(): string
    {
        return 'memory://' . prefix();
    }
}
