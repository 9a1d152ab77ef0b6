<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks;

use Quotalock\Client;
use Quotalock\Symfony\RateLimiter\Limiter;
use Quotalock\Symfony\RateLimiter\LimiterFactory;
use Quotalock\Symfony\RateLimiter\RateLimit;
use Quotalock\Testing;
use Symfony\Bridge\PhpUnit\ClockMock;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\Reservation;
use Symfony\Component\RateLimiter\Util\TimeUtil;

use function Quotalock\Tests\prefix;

/** A limiter that goes by the clock which Symfony's tests wind. */
final class ClockedLimiter implements LimiterInterface
{
    private readonly LimiterInterface $limiter;

    private function __construct(private readonly Client $client, array $config)
    {
        $this->limiter = (new LimiterFactory($client, ['id' => 'test'] + $config))->create('key');
    }

    /**
     * Stops the clock at a whole second, which is when Symfony's answers are exact, and at the edge of a window:
     * sliding windows lie at multiples of their period here, and begin with the first call there.
     */
    public static function begin(string $test): void
    {
        ClockMock::withClockMock(1_700_000_004);
        array_map(ClockMock::register(...), [$test, LimiterFactory::class, RateLimit::class]);
    }

    /** A limiter of that policy, on a store of the test's own, in the place of what Symfony keeps states in. */
    public static function window(object $storage, string $policy, int $limit, \DateInterval $interval): self
    {
        $interval = TimeUtil::dateIntervalToSeconds($interval) . ' seconds';
        return new self(self::client($storage), ['policy' => $policy, 'limit' => $limit, 'interval' => $interval]);
    }

    /** A bucket that gets an amount at an interval, as the rate of Symfony's says. */
    public static function bucket(object $storage, int $limit, object $rate): self
    {
        preg_match('/^(.*)-(\d+)$/', (string) $rate, $found);
        $interval = TimeUtil::dateIntervalToSeconds(new \DateInterval($found[1])) . ' seconds';
        $rate = ['interval' => $interval, 'amount' => (int) $found[2]];
        return new self(self::client($storage), ['policy' => 'token_bucket', 'limit' => $limit, 'rate' => $rate]);
    }

    public function consume(int $tokens = 1): RateLimit
    {
        return $this->now()->consume($tokens);
    }

    public function reserve(int $tokens = 1, ?float $maxTime = null): Reservation
    {
        return $this->now()->reserve($tokens, $maxTime);
    }

    public function reset(): void
    {
        $this->now()->reset();
    }

    private function now(): Limiter
    {
        Testing::setTime($this->client, (int) round(ClockMock::microtime(true) * 1e6));
        return $this->limiter;
    }

    private static function client(object $storage): Client
    {
        static $clients = null;
        $clients ??= new \WeakMap();
        return $clients[$storage] ??= new Client('memory://', prefix());
    }
}
