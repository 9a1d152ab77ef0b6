<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Symfony;

use Quotalock\Symfony\RateLimiter\AbstractRequestLimiter;
use Quotalock\Tests\Frameworks\Upstream;
use Symfony\Component\HttpFoundation\Tests\RateLimiter\AbstractRequestRateLimiterTest;

Upstream::load('src/Symfony/Component/HttpFoundation/Tests/RateLimiter/MockAbstractRequestRateLimiter.php', [], [
    'extends AbstractRequestRateLimiter' => 'extends \\' . AbstractRequestLimiter::class,
]);

/** Symfony's own tests of request limiters. */
final class RequestLimiterTest extends AbstractRequestRateLimiterTest
{
}
