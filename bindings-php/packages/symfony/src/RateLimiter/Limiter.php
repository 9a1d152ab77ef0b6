<?php

declare(strict_types=1);

namespace Quotalock\Symfony\RateLimiter;

use Quotalock\Decision;
use Symfony\Component\RateLimiter\Exception\MaxWaitDurationExceededException;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\Reservation;

/** A limiter of Quotalock's for one key. */
final class Limiter implements LimiterInterface
{
    /** A hundred years. */
    private const FOREVER_MS = 3_153_600_000_000;

    public function __construct(public readonly \Quotalock\Limiter $limiter, public readonly string $key)
    {
    }

    /** No token asks without taking any; fewer than none are given back. */
    public function consume(int $tokens = 1): RateLimit
    {
        $decision = match (true) {
            $tokens < 0 => $this->limiter->refund($this->key, -$tokens),
            default => $this->limiter->consume($this->key, $tokens),
        };
        return $this->answer($decision, $tokens);
    }

    /**
     * Waits for the tokens, and takes them: unlike Symfony's limiters this one sleeps here, and what it returns is due.
     * A limiter that others use at the same time cannot tell how long they will take.
     */
    public function reserve(int $tokens = 1, ?float $maxTime = null): Reservation
    {
        $most = $maxTime === null ? self::FOREVER_MS : (int) ceil(max($maxTime, 0) * 1000);
        $answer = $this->answer($this->limiter->wait($this->key, $most, max($tokens, 0)), $tokens);
        if (!$answer->isAccepted()) {
            $message = 'The rate limiter wait time is longer than the provided maximum time (%s seconds).';
            throw new MaxWaitDurationExceededException(sprintf($message, $maxTime), $answer);
        }
        return new Reservation(microtime(true), $answer);
    }

    public function reset(): void
    {
        $this->limiter->reset($this->key);
    }

    /** What Symfony calls the answer. */
    public function answer(Decision $decision, int $tokens): RateLimit
    {
        if (!$decision->allowed && $decision->retryAfterMs === null) {
            throw new \InvalidArgumentException(sprintf(
                'Cannot reserve more tokens (%d) than the size of the rate limiter (%d).',
                $tokens,
                $decision->limit,
            ));
        }
        $wait = $decision->retryAfterMs ?? 0;
        if ($decision->allowed && $decision->remaining === 0) {
            // Symfony tells when there is a token again as soon as the last one is taken.
            $wait = $this->limiter->peek($this->key)->retryAfterMs ?? 0;
        }
        return new RateLimit($decision, $wait);
    }
}
