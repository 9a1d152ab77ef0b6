<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Laravel;

use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Http\Exceptions\ThrottleRequestsException;
use Illuminate\Routing\Middleware\ThrottleRequests as LaravelThrottleRequests;
use Illuminate\Support\Facades\RateLimiter;
use Orchestra\Testbench\TestCase;
use Quotalock\Laravel\ThrottleRequests;

/** The recipe for a switch from another limiter: its step in which both decide. */
final class RecipeTest extends TestCase
{
    protected function settings(): array
    {
        return ['throttle' => false];
    }

    public function testBothCountInStepOneSoThatNoLimitBeginsFromZeroWithStepTwo(): void
    {
        $this->app['config']->set('cache.default', 'array');
        // As an application's kernel has it.
        $this->app['router']->aliasMiddleware('throttle', LaravelThrottleRequests::class);
        RateLimiter::for('api', fn () => Limit::perMinutes(60, 5)->by('ada'));
        $page = (string) file_get_contents(__DIR__ . '/../../../../docs/recipes/replace-a-limiter.md');
        preg_match_all('/^```php\n(.*?)^```$/ms', $page, $blocks);
        [$code] = array_values(preg_grep('/Route::middleware/', $blocks[1]));
        eval($code);
        self::assertSame([200, 200, 200, 200, 200, 429], array_map(fn () => $this->status(), range(1, 6)));
        $this->app['router']->get('/search', fn () => 'found')->middleware(ThrottleRequests::class . ':api');
        self::assertSame(429, $this->status(), 'without the old one');
        $this->app['router']->get('/search', fn () => 'found')->middleware('throttle:api');
        self::assertSame(429, $this->status(), 'without the new one');
    }

    private function status(): int
    {
        try {
            return $this->get('/search')->getStatusCode();
        } catch (ThrottleRequestsException $denied) {
            return $denied->getStatusCode();
        }
    }
}
