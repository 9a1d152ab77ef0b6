<?php

declare(strict_types=1);

namespace Quotalock\Symfony\RateLimiter;

use Quotalock\Client;
use Symfony\Component\HttpFoundation\RateLimiter\AbstractRequestRateLimiter;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\RateLimiter\RateLimit as BaseRateLimit;

/**
 * Limits requests by several limiters, like Symfony's class of this kind, but in one atomic call: a request that one of
 * them denies costs the others nothing. In a Redis Cluster the limiters need a common scope.
 */
abstract class AbstractRequestLimiter extends AbstractRequestRateLimiter
{
    public function __construct(private readonly Client $client)
    {
    }

    public function consume(Request $request): BaseRateLimit
    {
        $limiters = $this->getLimiters($request);
        $charges = [];
        foreach ($limiters as $limiter) {
            if (!$limiter instanceof Limiter) {
                return parent::consume($request);
            }
            $charges[] = [$limiter->limiter, $limiter->key];
        }
        if ($charges === []) {
            return parent::consume($request);
        }
        $decision = $this->client->consumeAll($charges);
        return new RateLimit($decision, $decision->retryAfterMs ?? 0);
    }
}
