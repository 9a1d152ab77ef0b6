<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Symfony;

use Quotalock\Tests\Frameworks\ClockedLimiter;
use Quotalock\Tests\Frameworks\Policies;
use Symfony\Component\RateLimiter\Tests\Policy\TokenBucketLimiterTest;

Policies::load(
    'TokenBucketLimiterTest',
    'TokenBucketLimiter',
    "TokenBucketLimiter('test', \$initialTokens, \$rate ?? Rate::perSecond(10), \$this->storage);",
    'bucket($this->storage, $initialTokens, $rate ?? Rate::perSecond(10));',
);

/** Symfony's own tests of token buckets. */
final class TokenBucketTest extends TokenBucketLimiterTest
{
    protected function setUp(): void
    {
        ClockedLimiter::begin(parent::class);
        parent::setUp();
    }
}
