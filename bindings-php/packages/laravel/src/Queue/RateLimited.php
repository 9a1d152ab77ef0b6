<?php

declare(strict_types=1);

namespace Quotalock\Laravel\Queue;

use Illuminate\Container\Container;
use Illuminate\Queue\Middleware\RateLimited as BaseRateLimited;
use Quotalock\Laravel\Decider;

/** Laravel's middleware of jobs `RateLimited`, which decides about all limits of a job in one atomic call. */
class RateLimited extends BaseRateLimited
{
    /** @var \DateTimeInterface|int|null when a denied job is tried again; null is when the limits admit it */
    public $releaseAfter;

    public function handle($job, $next)
    {
        $limiter = $this->limiter->limiter($this->limiterName);
        $limits = $limiter === null ? [] : Decider::limits($this->limiterName, $limiter($job));
        return $limits === [] ? $next($job) : $this->handleJob($job, $next, $limits);
    }

    /** Has denied jobs tried again after so many seconds, or at a time. Laravel has it since version 12. */
    public function releaseAfter($releaseAfter)
    {
        $this->releaseAfter = $releaseAfter;
        return $this;
    }

    public function __sleep()
    {
        return array_values(array_unique([...parent::__sleep(), 'releaseAfter']));
    }

    protected function handleJob($job, $next, array $limits)
    {
        $closed = Decider::closed($limits);
        if ($closed !== null) {
            return $this->later($job, Decider::retryAfter($closed));
        }
        $decider = Container::getInstance()->make(Decider::class);
        $decision = $decider->decide($this->limiterName, array_values($limits));
        return $decision->allowed ? $next($job) : $this->later($job, Decider::retryAfter($decision));
    }

    private function later($job, int $seconds): mixed
    {
        return $this->shouldRelease ? $job->release($this->releaseAfter ?: $seconds) : false;
    }
}
