<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Laravel;

use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Http\Exceptions\HttpResponseException;
use Illuminate\Http\Exceptions\ThrottleRequestsException;
use Illuminate\Support\Facades\Route;
use Orchestra\Testbench\TestCase;
use Quotalock\Client;

/** What the middleware `throttle` does beyond Laravel's. */
final class MoreThrottleTest extends TestCase
{
    public function testARequestThatOneLimitDeniesCostsTheOthersNothing(): void
    {
        $this->limit(fn () => [Limit::perMinute(5)->by('user'), Limit::perMinute(1)->by('address')]);
        self::assertSame('yes', $this->get('/')->getContent());
        for ($i = 0; $i < 3; $i++) {
            $denied = $this->denied();
            self::assertSame([1, 0], [$denied['X-RateLimit-Limit'], $denied['X-RateLimit-Remaining']]);
        }
        $user = $this->app->make(Client::class)->limiter('named', '5/minute', 'named')->peek('k' . md5('nameduser'));
        self::assertSame(4, $user->remaining);
    }

    public function testLimitsOfOneKeyAreOnePolicy(): void
    {
        $this->limit(fn () => [Limit::perMinute(2)->by('user'), Limit::perHour(9)->by('user')]);
        $headers = $this->get('/')->headers;
        $policy = '"named:2/minute";q=2;w=60, "named:9/hour";q=9;w=3600';
        self::assertSame($policy, $headers->get('RateLimit-Policy'));
        self::assertSame(['2', '1'], [$headers->get('X-RateLimit-Limit'), $headers->get('X-RateLimit-Remaining')]);
    }

    public function testALimitOfNothingDeniesAndIsNotCounted(): void
    {
        $this->limit(fn () => Limit::perMinute(0)->by('user'));
        self::assertSame([0, 60], [$this->denied()['X-RateLimit-Limit'], $this->denied()['Retry-After']]);
    }

    public function testAnOwnAnswerGetsTheHeaders(): void
    {
        $answer = fn ($request, array $headers) => new \Illuminate\Http\Response('wait', 420, $headers);
        $this->limit(fn () => Limit::perMinute(1)->by('user')->response($answer));
        $this->get('/');
        try {
            $this->get('/');
            self::fail('it was admitted');
        } catch (HttpResponseException $answered) {
            self::assertSame(420, $answered->getResponse()->getStatusCode());
            self::assertGreaterThan(50, (int) $answered->getResponse()->headers->get('Retry-After'));
        }
    }

    public function testAKeyOfNothingIsAnError(): void
    {
        $this->limit(fn () => Limit::perMinute(1)->by(null));
        $this->expectException(\LogicException::class);
        $this->expectExceptionMessage('"named": by() was given nothing');
        $this->get('/');
    }

    private function limit(\Closure $limits): void
    {
        $this->app->make(RateLimiter::class)->for('named', $limits);
        Route::get('/', fn () => 'yes')->middleware('throttle:named');
    }

    /** @return array<string, mixed> the headers of a denial */
    private function denied(): array
    {
        try {
            $this->get('/');
        } catch (ThrottleRequestsException $denied) {
            self::assertSame(429, $denied->getStatusCode());
            return $denied->getHeaders();
        }
        self::fail('it was admitted');
    }
}
