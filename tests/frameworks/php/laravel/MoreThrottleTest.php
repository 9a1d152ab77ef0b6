<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Laravel;

use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Http\Exceptions\HttpResponseException;
use Illuminate\Http\Exceptions\ThrottleRequestsException;
use Illuminate\Http\Request;
use Illuminate\Support\Facades\Route;
use Orchestra\Testbench\TestCase;
use Quotalock\Client;
use Quotalock\Laravel\Decider;
use Quotalock\Laravel\Queue\RateLimited;
use Quotalock\Support\InvalidKey;
use Symfony\Component\HttpKernel\Exception\BadRequestHttpException;

use function Quotalock\Tests\thrown;

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

    /** @dataProvider nothings */
    public function testAKeyOfNothingIsA400(mixed $nothing): void
    {
        $this->limit(fn () => [Limit::perMinute(1)->by('user'), Limit::perMinute(1)->by($nothing)]);
        $this->expectException(BadRequestHttpException::class);
        $this->expectExceptionMessage('"named" gave ' . get_debug_type($nothing) . ' as the key');
        $this->get('/');
    }

    /** @return list<array{mixed}> what is the key of nobody, or of too many */
    public static function nothings(): array
    {
        return [[null], [false], [true], [[]], [1.5]];
    }

    public function testATextThatIsAListIsA400(): void
    {
        $this->limit(fn (Request $request) => Limit::perMinute(1)->by(strtolower($request->input('email'))));
        $this->expectException(BadRequestHttpException::class);
        $this->app['router']->dispatch(Request::create('/', 'GET', ['email' => ['a']]));
    }

    public function testTwoPoliciesOfOneAddressAreTwoLimits(): void
    {
        Route::get('/a', fn () => 'yes')->middleware('throttle:100,60');
        Route::post('/a', fn () => 'yes')->middleware('throttle:5,60');
        $admitted = ['GET' => 0, 'POST' => 0];
        for ($round = 0; $round < 20; $round++) {
            foreach (['GET', 'POST'] as $method) {
                $admitted[$method] += (int) ($this->status('/a', $method) === 200);
            }
        }
        self::assertSame(['GET' => 20, 'POST' => 5], $admitted);
    }

    public function testHeadIsItsGetAndAFallbackLimitsWhatNoRouteHas(): void
    {
        Route::get('/a', fn () => 'yes')->middleware('throttle:6,60');
        $nowhere = fn () => new \Illuminate\Http\Response('nowhere', 404);
        Route::fallback($nowhere)->middleware('throttle:5,60');
        $admitted = array_map(fn (int $round) => $this->status('/a', $round % 2 ? 'HEAD' : 'GET'), range(1, 10));
        self::assertSame(6, array_count_values($admitted)[200]);
        $nowhere = array_map(fn (int $round) => $this->status("/nowhere/$round"), range(1, 10));
        self::assertSame([404 => 5, 429 => 5], array_count_values($nowhere));
    }

    public function testTwoApplicationsAreTwoLimits(): void
    {
        $client = $this->app->make(Client::class);
        $admitted = [];
        foreach (['one_cache_', 'other_cache_', 'one_cache_'] as $application) {
            $decider = new Decider($client, application: $application);
            $limit = (object) ['key' => 'a', 'maxAttempts' => 1, 'decaySeconds' => 60, 'decayMinutes' => 1];
            $admitted[] = $decider->decide(Decider::UNNAMED, [$limit])->allowed;
            $facade = new \Quotalock\Laravel\RateLimiter($client, $application);
            $admitted[] = $facade->attempt('a', 1, fn () => true);
        }
        self::assertSame([true, true, true, true, false, false], $admitted);
    }

    public function testAKeyOfTheFacadeMayBeOfAnyLength(): void
    {
        $limiter = $this->app->make(RateLimiter::class);
        foreach ([str_repeat('a', 5000), str_repeat('a', 4999) . 'b'] as $key) {
            self::assertSame([1, 2, 2], [$limiter->hit($key), $limiter->hit($key), $limiter->attempts($key)]);
        }
    }

    public function testAnOwnBodyWithoutAStatusIs429(): void
    {
        $slowly = fn () => new \Illuminate\Http\Response('slowly');
        $this->limit(fn () => Limit::perMinute(1)->by('user')->response($slowly));
        $this->get('/');
        try {
            $this->get('/');
            self::fail('it was admitted');
        } catch (HttpResponseException $answered) {
            self::assertSame([429, 'slowly'], [
                $answered->getResponse()->getStatusCode(), $answered->getResponse()->getContent(),
            ]);
            self::assertGreaterThan(50, (int) $answered->getResponse()->headers->get('Retry-After'));
        }
    }

    public function testPagesOfAnotherOriginReadTheHeadersIfTheSettingsSaySo(): void
    {
        $this->limit(fn () => Limit::perMinute(1)->by('user'));
        config(['quotalock.expose_headers' => true]);
        $exposed = $this->get('/')->headers->get('Access-Control-Expose-Headers');
        self::assertStringStartsWith('RateLimit-Policy, RateLimit, Retry-After', $exposed);
        self::assertSame($exposed, $this->denied()['Access-Control-Expose-Headers']);
    }

    public function testALimiterThatGivesNothingIsAnError(): void
    {
        $this->limit(fn () => null);
        $this->expectException(\LogicException::class);
        $this->expectExceptionMessage('"named" gave nothing: Limit::none()');
        $this->get('/');
    }

    public function testAGuestIsAnAddressAndOfIpv6ANetwork(): void
    {
        Route::get('/guests', fn () => 'yes')->middleware('throttle:1,1');
        $ask = function (string $address): int {
            $request = Request::create('/guests', 'GET', [], [], [], ['REMOTE_ADDR' => $address]);
            try {
                return $this->app['router']->dispatch($request)->getStatusCode();
            } catch (ThrottleRequestsException $denied) {
                return $denied->getStatusCode();
            }
        };
        self::assertSame([200, 429, 200], [$ask('192.0.2.1'), $ask('192.0.2.1'), $ask('192.0.2.2')]);
        self::assertSame(
            [200, 429, 200],
            [$ask('2001:db8:1:2::1'), $ask('2001:db8:1:2:ffff::1'), $ask('2001:db8:1:3::1')],
        );
    }

    public function testAJobIsLimitedByTheSameRules(): void
    {
        $ran = 0;
        $run = function (mixed $limits) use (&$ran): array {
            $this->app->make(RateLimiter::class)->for('jobs', fn () => $limits);
            $job = new class {
                public array $released = [];

                public function release(int $seconds): void
                {
                    $this->released[] = $seconds;
                }
            };
            (new RateLimited('jobs'))->handle($job, function () use (&$ran): void {
                $ran++;
            });
            return $job->released;
        };
        self::assertSame([[], [60]], [$run(Limit::perMinute(1)->by('a')), $run(Limit::perMinute(1)->by('a'))]);
        self::assertSame([[3600], [], 2], [$run(Limit::perHour(0)), $run([Limit::none()]), $ran]);
        foreach ([null, Limit::perMinute(1)->by(null)] as $nothing) {
            $class = $nothing === null ? \LogicException::class : InvalidKey::class;
            $problem = thrown($class, fn () => $run($nothing));
            self::assertStringStartsWith('The rate limiter "jobs" gave n', $problem->getMessage());
        }
        self::assertSame(2, $ran);
    }

    public function testADeniedJobIsReleasedForAsLongAsItSays(): void
    {
        $this->app->make(RateLimiter::class)->for('jobs', fn () => Limit::perHour(0));
        $job = new class {
            public array $released = [];

            public function release(mixed $delay): void
            {
                $this->released[] = $delay;
            }
        };
        $at = new \DateTimeImmutable('@2000000000');
        foreach ([7, $at, null] as $delay) {
            $middleware = (new RateLimited('jobs'))->releaseAfter($delay);
            unserialize(serialize($middleware))->handle($job, fn () => self::fail('it ran'));
        }
        self::assertEquals([7, $at, 3600], $job->released);
    }

    public function testALimiterTakesALeaseThatItsSettingsName(): void
    {
        $decider = new Decider($this->app->make(Client::class), false, ['api' => 10, 'small' => 10]);
        $ask = function (string $name, Limit $limit) use ($decider): string {
            return $decider->decide($name, Decider::limits($name, $limit->by('a')))->source;
        };
        $sources = array_map(fn () => $ask('api', Limit::perHour(100)), range(1, 20));
        self::assertGreaterThan(10, array_count_values($sources)['lease'] ?? 0, implode(' ', $sources));
        self::assertSame(['redis'], array_unique([$ask('other', Limit::perHour(9)), $ask('other', Limit::perHour(9))]));
        $problem = thrown(\LogicException::class, fn () => $ask('small', Limit::perHour(9)));
        self::assertStringStartsWith('The rate limiter "small": prefetch ', $problem->getMessage());
    }

    private function status(string $path, string $method = 'GET'): int
    {
        try {
            return $this->app['router']->dispatch(Request::create($path, $method))->getStatusCode();
        } catch (ThrottleRequestsException $denied) {
            return $denied->getStatusCode();
        }
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
