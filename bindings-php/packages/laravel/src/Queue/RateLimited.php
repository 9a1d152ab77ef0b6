<?php

declare(strict_types=1);

namespace Quotalock\Laravel\Queue;

use Illuminate\Container\Container;
use Illuminate\Queue\Middleware\RateLimited as BaseRateLimited;
use Quotalock\Laravel\Decider;

/** Laravel's middleware of jobs `RateLimited`, which decides about all limits of a job in one atomic call. */
class RateLimited extends BaseRateLimited
{
    protected function handleJob($job, $next, array $limits)
    {
        $decider = Container::getInstance()->make(Decider::class);
        $decision = $decider->decide($this->limiterName, array_values($limits));
        if ($decision->allowed) {
            return $next($job);
        }
        return $this->shouldRelease ? $job->release(Decider::retryAfter($decision)) : false;
    }
}
