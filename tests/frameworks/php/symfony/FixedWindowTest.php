<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Symfony;

use Quotalock\Tests\Frameworks\ClockedLimiter;
use Quotalock\Tests\Frameworks\Policies;
use Symfony\Component\RateLimiter\Tests\Policy\FixedWindowLimiterTest;

Policies::load(
    'FixedWindowLimiterTest',
    'FixedWindowLimiter',
    "FixedWindowLimiter('test', 10, new \\DateInterval(\$dateIntervalString), \$this->storage);",
    "window(\$this->storage, 'fixed_window', 10, new \\DateInterval(\$dateIntervalString));",
);

/** Symfony's own tests of fixed windows. */
final class FixedWindowTest extends FixedWindowLimiterTest
{
    protected function setUp(): void
    {
        ClockedLimiter::begin(parent::class);
        parent::setUp();
    }
}
