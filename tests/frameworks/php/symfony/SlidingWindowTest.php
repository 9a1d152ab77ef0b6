<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Symfony;

use Quotalock\Tests\Frameworks\ClockedLimiter;
use Quotalock\Tests\Frameworks\Policies;
use Symfony\Component\RateLimiter\Tests\Policy\SlidingWindowLimiterTest;

Policies::load(
    'SlidingWindowLimiterTest',
    'SlidingWindowLimiter',
    "SlidingWindowLimiter('test', 10, new \\DateInterval('PT12S'), \$this->storage);",
    "window(\$this->storage, 'sliding_window', 10, new \\DateInterval('PT12S'));",
);

/** Symfony's own tests of sliding windows. */
final class SlidingWindowTest extends SlidingWindowLimiterTest
{
    protected function setUp(): void
    {
        ClockedLimiter::begin(parent::class);
        parent::setUp();
    }
}
