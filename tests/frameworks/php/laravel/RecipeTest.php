<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Laravel;

use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Http\Exceptions\ThrottleRequestsException;
use Illuminate\Http\Request;
use Illuminate\Routing\Middleware\ThrottleRequests as LaravelThrottleRequests;
use Illuminate\Support\Facades\RateLimiter;
use Orchestra\Testbench\TestCase;
use Quotalock\Laravel\ThrottleRequests;

/** What recipes show of Laravel: a switch from its own limiter, whose step in which both decide is here, and logins. */
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
        eval(self::shown('replace-a-limiter'));
        self::assertSame([200, 200, 200, 200, 200, 429], array_map(fn () => $this->status('/search'), range(1, 6)));
        $this->app['router']->get('/search', fn () => 'found')->middleware(ThrottleRequests::class . ':api');
        self::assertSame(429, $this->status('/search'), 'without the old one');
        $this->app['router']->get('/search', fn () => 'found')->middleware('throttle:api');
        self::assertSame(429, $this->status('/search'), 'without the new one');
    }

    public function testLoginsAreLimitedByUserAndAddress(): void
    {
        $this->app->instance('auth', new class {
            public function attempt(array $credentials): bool
            {
                return $credentials['password'] === 's3cret';
            }
        });
        eval(self::shown('login-limits'));
        $login = fn (mixed $email, string $password = 'guess') =>
            $this->status('/login', ['email' => $email, 'password' => $password]);
        $right = array_map(fn (int $try) => $login('ada@example.com', 's3cret'), range(1, 7));
        self::assertSame([200 => 7], array_count_values($right), 'a successful login costs nothing');
        $tries = array_map(fn (int $try) => $login('ada@example.com'), range(1, 6));
        self::assertSame([401, 401, 401, 401, 401, 429], $tries);
        self::assertSame(429, $login(' ADA@example.com', 's3cret'), 'in capitals');
        self::assertSame([422, 422], [$login(['ada@example.com']), $login(' ')], 'no name');
        $others = array_map(fn (int $user) => $login("user$user"), range(1, 46));
        self::assertSame([401 => 45, 429 => 1], array_count_values($others), 'what one address may try');
        $this->app['config']->set('quotalock.url', 'unix:///nonexistent/redis.sock');
        self::assertSame(503, $login('bob@example.com', 's3cret'), 'without Redis');
    }

    /** The example of a recipe that is part of an application. */
    private static function shown(string $recipe): string
    {
        $page = (string) file_get_contents(__DIR__ . "/../../../../docs/recipes/$recipe.md");
        preg_match_all('/^```php\n(.*?)^```$/ms', $page, $blocks);
        [$code] = array_values(preg_grep('/Route::(middleware|post)/', $blocks[1]));
        return $code;
    }

    /** @param array<string, mixed> $fields of a form that is posted, if there are any */
    private function status(string $path, array $fields = []): int
    {
        $request = Request::create($path, $fields === [] ? 'GET' : 'POST', $fields);
        $this->app->instance('request', $request);
        try {
            return $this->app['router']->dispatch($request)->getStatusCode();
        } catch (ThrottleRequestsException $denied) {
            return $denied->getStatusCode();
        }
    }
}
