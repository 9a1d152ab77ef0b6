<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Laravel;

use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Http\Response;
use Illuminate\Support\Facades\Route;
use Orchestra\Testbench\TestCase;
use Symfony\Component\HttpKernel\Exception\HttpExceptionInterface;

use function Quotalock\Tests\thrown;

/** Limits that count by the response: `Limit::after()`, which Laravel has since version 12. */
final class AfterTest extends TestCase
{
    public function testAResponseThatDoesNotCountIsNotCharged(): void
    {
        $this->limit(fn () => self::after(2, fn (Response $response): bool => $response->getStatusCode() === 404));
        $remaining = fn (string $path): string => $this->get($path)->headers->get('X-RateLimit-Remaining');
        self::assertSame(['2', '2', '2'], array_map($remaining, ['/found', '/found', '/found']));
        self::assertSame(['1', '1', '0'], array_map($remaining, ['/missing', '/found', '/missing']));
        self::assertSame([429, 429], [$this->status('/missing'), $this->status('/found')]);
    }

    public function testRequestsAtTheSameTimeDoNotExceedIt(): void
    {
        $this->limit(fn () => self::after(1, fn (Response $response): bool => $response->getStatusCode() === 404));
        $meanwhile = null;
        Route::get('/slow', function () use (&$meanwhile): Response {
            $meanwhile = $this->status('/missing');
            return new Response('missing', 404);
        })->middleware('throttle:named');
        self::assertSame([404, 429], [$this->status('/slow'), $meanwhile]);
        self::assertSame(429, $this->status('/missing'));
    }

    public function testARequestThatFailsCountsForNone(): void
    {
        $this->limit(fn () => [self::after(1, fn (): bool => true), Limit::perMinute(5)->by('all')]);
        $fails = new \Illuminate\Pipeline\Pipeline($this->app);
        $ask = fn () => $fails->send(\Illuminate\Http\Request::create('/'))->through('throttle:named')->then(
            fn () => throw new \RuntimeException('failed'),
        );
        $this->app->bind('throttle', \Quotalock\Laravel\ThrottleRequests::class);
        thrown(\RuntimeException::class, $ask);
        thrown(\RuntimeException::class, $ask);
        self::assertSame([200, 429], [$this->status('/found'), $this->status('/found')]);
    }

    public function testOtherLimitsOfTheKeyCountEachRequest(): void
    {
        $this->limit(fn () => [
            Limit::perMinute(5)->by('user'),
            self::after(3, fn (Response $response): bool => $response->getStatusCode() === 404),
            self::after(4, fn (Response $response): bool => $response->getStatusCode() === 200),
        ]);
        $shown = fn (string $path): array => [
            preg_replace('/t=\d+/', 't', $this->get($path)->headers->get('RateLimit')),
            $this->get($path)->headers->get('X-RateLimit-Remaining'),
        ];
        self::assertSame(['"named";r=4;t, "named";r=3;t, "named";r=3;t', '2'], $shown('/found'));
        self::assertSame(['"named";r=2;t, "named";r=2;t, "named";r=2;t', '1'], $shown('/missing'));
        self::assertSame([200, 429], [$this->status('/found'), $this->status('/found')]);
    }

    /** A limit of a minute that counts what a function says. */
    private static function after(int $most, \Closure $counts): Limit
    {
        if (method_exists(Limit::class, 'after')) {
            return Limit::perMinute($most)->by('user')->after($counts);
        }
        // As later versions have it.
        $limit = new class ('user', $most) extends Limit {
            public ?\Closure $afterCallback = null;
        };
        $limit->afterCallback = $counts;
        return $limit;
    }

    private function limit(\Closure $limits): void
    {
        $this->app->make(RateLimiter::class)->for('named', $limits);
        Route::get('/found', fn () => 'found')->middleware('throttle:named');
        Route::get('/missing', fn () => new Response('missing', 404))->middleware('throttle:named');
    }

    private function status(string $path): int
    {
        try {
            return $this->get($path)->getStatusCode();
        } catch (HttpExceptionInterface $denied) {
            return $denied->getStatusCode();
        }
    }
}
