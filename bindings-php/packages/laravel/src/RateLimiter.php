<?php

declare(strict_types=1);

namespace Quotalock\Laravel;

use Closure;
use Illuminate\Cache\RateLimiter as BaseRateLimiter;
use Quotalock\Client;
use Quotalock\Decision;
use Quotalock\Limiter;
use Quotalock\Rule;
use Quotalock\Support\Keys;
use Quotalock\Support\Names;

/**
 * What the facade RateLimiter does, without a cache. A key counts in a fixed window, which its first hit opens.
 *
 * attempt() decides and counts in one atomic call, before the callback. Who asks tooManyAttempts() and then hit() asks
 * twice, as in Laravel: of many at the same moment, more than the limit may pass in between.
 */
class RateLimiter extends BaseRateLimiter
{
    /** As many as a limiter can count: hit() knows no limit. */
    private const MOST = 4_503_599_627_370_496;

    /** Longer than any window, so that whoever asks does not end one. */
    private const LONGEST_S = 3_153_600_000;

    private readonly string $name;

    /** @param string $application what tells applications on one Redis apart */
    public function __construct(private readonly Client $client, string $application = '')
    {
        // Without the parent's, which wants a cache.
        $this->name = Names::generated($application, 'laravel', 'key');
    }

    /** What was registered by this name. Limits of one key are rules of one policy, so none gets a key of its own. */
    public function limiter($name)
    {
        $name = match (true) {
            $name instanceof \BackedEnum => $name->value,
            $name instanceof \UnitEnum => $name->name,
            default => $name,
        };
        return $this->limiters[$name] ?? null;
    }

    public function attempt($key, $maxAttempts, Closure $callback, $decaySeconds = 60)
    {
        $limiter = $maxAttempts < 1 ? null : $this->window((int) $maxAttempts, $decaySeconds);
        $key = $this->cleanRateLimiterKey($key);
        if (!$limiter?->consume($key)->allowed) {
            return false;
        }
        try {
            return $callback() ?? true;
        } catch (\Throwable $problem) {
            // As in Laravel, what failed does not count.
            $limiter->refund($key, 1);
            throw $problem;
        }
    }

    public function tooManyAttempts($key, $maxAttempts)
    {
        return $this->attempts($key) >= $maxAttempts;
    }

    public function hit($key, $decaySeconds = 60)
    {
        return $this->increment($key, $decaySeconds);
    }

    public function increment($key, $decaySeconds = 60, $amount = 1)
    {
        $limiter = $this->window(self::MOST, $decaySeconds);
        return self::count($limiter->consume($this->cleanRateLimiterKey($key), (int) $amount));
    }

    public function decrement($key, $decaySeconds = 60, $amount = 1)
    {
        $limiter = $this->window(self::MOST, $decaySeconds);
        return self::count($limiter->refund($this->cleanRateLimiterKey($key), (int) $amount));
    }

    public function attempts($key)
    {
        return self::count($this->look($key));
    }

    public function resetAttempts($key)
    {
        return $this->window(self::MOST, 60)->reset($this->cleanRateLimiterKey($key));
    }

    public function remaining($key, $maxAttempts)
    {
        return max($maxAttempts - $this->attempts($key), 0);
    }

    public function clear($key)
    {
        $this->resetAttempts($key);
    }

    public function availableIn($key)
    {
        $decision = $this->look($key);
        // When nobody could be asked, and `on_error` is `closed`, there is no window.
        $ms = max($decision->resetAfterMs, $decision->retryAfterMs ?? 0);
        return self::count($decision) === 0 ? 0 : (int) ceil($ms / 1000);
    }

    /** As Laravel has it, and of any length. */
    public function cleanRateLimiterKey($key)
    {
        return Keys::fitted((string) parent::cleanRateLimiterKey($key));
    }

    private function look($key): Decision
    {
        return $this->window(self::MOST, self::LONGEST_S)->peek($this->cleanRateLimiterKey($key));
    }

    private function window(int $most, \DateTimeInterface|\DateInterval|float|int $seconds): Limiter
    {
        $seconds = is_object($seconds) ? max($this->secondsUntil($seconds), 1) : $seconds;
        return $this->client->limiter($this->name, new Rule($most, (int) ceil($seconds * 1000)));
    }

    private static function count(Decision $decision): int
    {
        return $decision->limit - $decision->remaining;
    }
}
