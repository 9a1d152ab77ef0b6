<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Symfony;

use Quotalock\Tests\Frameworks\ClockedLimiter;
use Quotalock\Tests\Frameworks\Policies;
use Symfony\Bridge\PhpUnit\ClockMock;
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

    /** Instead of what is excluded. */
    public function testWhoeverWaitsAsTheyAreToldIsAdmitted(): void
    {
        $limiter = ClockedLimiter::window(new \stdClass(), 'sliding_window', 10, new \DateInterval('PT12S'));
        self::assertTrue($limiter->consume(8)->isAccepted());
        $denied = $limiter->consume(4);
        self::assertSame([false, 2, 10], [$denied->isAccepted(), $denied->getRemainingTokens(), $denied->getLimit()]);
        $wait = $denied->getRetryAfter()->format('U.u') - ClockMock::microtime(true);
        ClockMock::usleep((int) ($wait * 1e6) - 1_000);
        self::assertFalse($limiter->consume(4)->isAccepted());
        ClockMock::usleep(1_000);
        self::assertTrue($limiter->consume(4)->isAccepted());
    }
}
