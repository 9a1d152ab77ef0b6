<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Laravel;

use Illuminate\Support\Carbon;
use PHPUnit\Framework\TestCase;
use Quotalock\Client;
use Quotalock\Exception\UnavailableException;
use Quotalock\Laravel\RateLimiter;
use Quotalock\Support\Clients;
use Quotalock\Testing;

use function Quotalock\Tests\client;
use function Quotalock\Tests\forked;
use function Quotalock\Tests\server;
use function Quotalock\Tests\thrown;

/** The facade's RateLimiter: Laravel's own tests of it tell a mock of a cache what it is asked, and none is asked here. */
final class RateLimiterTest extends TestCase
{
    private const NOW = 1_700_000_000_000_000;

    private Client $client;

    private RateLimiter $limiter;

    protected function setUp(): void
    {
        $this->client = client();
        $this->limiter = new RateLimiter($this->client);
        Testing::setTime($this->client, self::NOW);
    }

    public function testHitsAreCountedInAWindowThatTheFirstOneOpens(): void
    {
        self::assertSame([0, false, 0], [
            $this->limiter->attempts('key'),
            $this->limiter->tooManyAttempts('key', 1),
            $this->limiter->availableIn('key'),
        ]);
        self::assertSame([1, 2, 7], [
            $this->limiter->hit('key', 60), $this->limiter->hit('key', 60), $this->limiter->increment('key', 60, 5),
        ]);
        Testing::setTime($this->client, self::NOW + 10_000_000);
        self::assertSame(8, $this->limiter->hit('key', 60));
        self::assertSame([8, 50, true, false, 2, 2], [
            $this->limiter->attempts('key'), $this->limiter->availableIn('key'),
            $this->limiter->tooManyAttempts('key', 8), $this->limiter->tooManyAttempts('key', 9),
            $this->limiter->remaining('key', 10), $this->limiter->retriesLeft('key', 10),
        ]);
        Testing::setTime($this->client, self::NOW + 60_000_000);
        self::assertSame([0, false], [$this->limiter->attempts('key'), $this->limiter->tooManyAttempts('key', 8)]);
    }

    public function testAWindowMayBeAnIntervalOrEndAtATime(): void
    {
        Carbon::setTestNow('2026-01-01 00:00:00');
        $this->limiter->hit('interval', new \DateInterval('PT90S'));
        $this->limiter->hit('time', Carbon::now()->addSeconds(90));
        Carbon::setTestNow();
        self::assertSame([90, 90], [$this->limiter->availableIn('interval'), $this->limiter->availableIn('time')]);
        self::assertSame(0, $this->limiter->remaining('time', 0));
    }

    public function testClearingForgetsTheWindow(): void
    {
        $this->limiter->hit('key', 3600);
        $this->limiter->clear('key');
        self::assertSame([0, 0], [$this->limiter->attempts('key'), $this->limiter->availableIn('key')]);
        self::assertSame(1, $this->limiter->hit('key', 60));
        self::assertSame(60, $this->limiter->availableIn('key'));
    }

    public function testAnAttemptRunsTheCallbackAndReturnsItsResult(): void
    {
        $attempt = fn (mixed $result): mixed => $this->limiter->attempt('key', 3, fn () => $result, 60);
        self::assertSame(['foo', true, false], [$attempt('foo'), $attempt(null), $attempt(false)]);
        $this->limiter->attempt('key', 3, fn () => self::fail('a denied attempt ran'), 60);
        self::assertFalse($attempt('foo'));
        self::assertSame(3, $this->limiter->attempts('key'));
        self::assertFalse($this->limiter->attempt('none', 0, fn () => self::fail('it ran'), 60));
    }

    public function testAnAttemptThatThrowsDoesNotCount(): void
    {
        try {
            $this->limiter->attempt('key', 1, fn () => throw new \RuntimeException('failed'), 60);
            self::fail('nothing was thrown');
        } catch (\RuntimeException $problem) {
            self::assertSame('failed', $problem->getMessage());
        }
        self::assertTrue($this->limiter->attempt('key', 1, fn () => null, 60));
    }

    public function testOfManyAttemptsAtOnceNoMoreThanTheLimitPass(): void
    {
        $limiter = new RateLimiter(client(server()));
        $children = array_map(fn () => forked(function () use ($limiter): int {
            $passed = 0;
            for ($i = 0; $i < 25; $i++) {
                $passed += (int) $limiter->attempt('key', 10, fn () => true, 600);
            }
            return $passed;
        }), range(1, 4));
        self::assertSame(10, array_sum(array_map(fn (\Closure $child) => $child(), $children)));
    }

    public function testWithoutRedisItDoesAsItsPolicySays(): void
    {
        $ask = function (string $onError): array {
            $limiter = new RateLimiter(client('redis://127.0.0.1:1', onError: $onError));
            $ran = $limiter->attempt('key', 1, fn () => 'ran', 60);
            return [$ran, $limiter->tooManyAttempts('key', 1), $limiter->availableIn('key')];
        };
        self::assertSame(['ran', false, 0], $ask('open'));
        self::assertSame([false, true, 1], $ask('closed'));
        self::assertSame(['ran', true, 60], $ask('local'));
        thrown(UnavailableException::class, fn () => $ask('raise'));
    }

    public function testASettingThatCannotBeIsToldWithItsPlace(): void
    {
        $wrong = [
            '"urls" is no setting' => ['urls' => 'redis://h'], 'url' => ['url' => ['redis://h']],
            'timeout_ms "5s" is no whole number' => ['timeout_ms' => '5s'],
            'timeout_ms true is no whole number' => ['timeout_ms' => true],
            'on_error "shut" is unknown' => ['on_error' => 'shut'],
        ];
        foreach ($wrong as $message => $settings) {
            $problem = thrown(\LogicException::class, fn () => Clients::make($settings, 'config/quotalock.php'));
            self::assertStringStartsWith('config/quotalock.php: ', $problem->getMessage());
            self::assertStringContainsString($message, $problem->getMessage());
        }
    }

    public function testKeysWithAccentsAreThoseWithout(): void
    {
        $this->limiter->hit('jôhn', 60);
        self::assertSame(1, $this->limiter->attempts('john'));
    }
}
