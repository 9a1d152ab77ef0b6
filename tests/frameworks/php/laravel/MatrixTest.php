<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Laravel;

use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Http\Request;
use Illuminate\Support\Facades\Route;
use Orchestra\Testbench\TestCase;
use Quotalock\Client;
use Quotalock\Laravel\Decider;
use Quotalock\Tests\Frameworks\PlaysMatrix;
use Symfony\Component\HttpKernel\Exception\HttpExceptionInterface;

/** The matrix for `throttle`: with numbers where a limit has neither a name nor a key, else with a named limiter. */
final class MatrixTest extends TestCase
{
    use PlaysMatrix;

    protected function build(array $limits, Client $client): void
    {
        $this->setUp();
        $this->app->instance(Client::class, $client);
        $this->app->forgetInstance(Decider::class);
        config(['quotalock.expose_headers' => in_array(true, array_column($limits, 'expose_headers'), true)]);
        $default = array_filter($limits, fn (array $limit): bool => $limit['default'] ?? false);
        $group = array_map(fn (array $limit): string => $this->middleware('default', $limit), array_values($default));
        Route::middleware($group)->group(function () use ($limits, $default): void {
            $routes = $default === [] ? [] : ['GET /x' => [], 'GET /elsewhere' => []];
            foreach (array_diff_key($limits, $default) as $id => $limit) {
                $middleware = $this->middleware($id, $limit);
                if ($limit['not_found'] ?? false) {
                    $nowhere = fn () => new \Illuminate\Http\Response('nowhere', 404);
                    Route::fallback($nowhere)->middleware($middleware);
                    continue;
                }
                $route = ($limit['method'] ?? 'GET') . ' ' . self::path($limit);
                $twice = $limit['twice'] ?? false;
                $routes[$route] = [...($routes[$route] ?? []), $middleware, ...($twice ? [$middleware] : [])];
            }
            foreach ($routes as $route => $middleware) {
                [$method, $path] = explode(' ', $route);
                $made = $method === 'GET' ? Route::get($path, fn () => 'yes') : Route::post($path, fn () => 'yes');
                $made->middleware($middleware)->name(trim($path, '/'));
            }
        });
    }

    protected function ask(array $asked): array
    {
        // Middleware that Laravel gives each new application makes nothing of an empty text.
        $fields = array_map(fn (mixed $field): mixed => $field === '' ? null : $field, $asked['fields']);
        $server = ['REMOTE_ADDR' => $asked['address']];
        $request = Request::create($asked['path'], $asked['method'], [], [], [], $server);
        // A field of JSON may be of any type.
        $request->query->replace($fields);
        try {
            $response = $this->app['router']->dispatch($request);
            return [$response->getStatusCode(), array_change_key_case($response->headers->all())];
        } catch (\Illuminate\Http\Exceptions\HttpResponseException $answered) {
            $response = $answered->getResponse();
            return [$response->getStatusCode(), array_change_key_case($response->headers->all())];
        } catch (HttpExceptionInterface $problem) {
            return [$problem->getStatusCode(), array_change_key_case($problem->getHeaders())];
        }
    }

    protected function url(): string
    {
        return 'memory://';
    }

    protected static function none(): array
    {
        return ['websocket' => 'Laravel has none'];
    }

    protected static function accepted(): array
    {
        // Laravel makes a digest of each key.
        return ['1,025 bytes'];
    }

    protected static function documented(): array
    {
        // docs/frameworks/laravel.md: routes with the same parameters count together.
        return [
            'two_methods' => [null, ['get' => 3, 'post' => 2]],
            'two_classes' => [['a' => 3, 'b' => 2]],
            'mounts' => [['a' => 3, 'b' => 2]],
            'defaults' => [['get' => 3, 'post' => 2, 'elsewhere' => 2]],
        ];
    }

    /** The middleware that declares a limit. */
    private function middleware(string $id, array $limit): string
    {
        [$most, $seconds] = self::numbers($limit['policy']);
        $key = $limit['key'] ?? 'address';
        if ($key === 'address' && !isset($limit['name']) && !isset($limit['own_body'])) {
            return "throttle:$most," . intdiv($seconds, 60);
        }
        $name = $limit['name'] ?? $id;
        // A limiter has one function, which says what each route is limited to.
        static $given = [];
        $given = ($given[0] ?? null) === $this->app ? $given : [$this->app, []];
        $given[1][$name][self::path($limit)] = function (Request $request) use ($limit, $most, $seconds, $key) {
            $made = $seconds === 60 ? Limit::perMinute($most) : Limit::perHour($most);
            $made->by($key === 'address' ? $request->ip() : $request->input($key));
            $slowly = fn () => new \Illuminate\Http\Response($limit['own_body']);
            return isset($limit['own_body']) ? $made->response($slowly) : $made;
        };
        $of = $given[1][$name];
        $limit = fn (Request $request) => $of['/' . $request->path()]($request);
        $this->app->make(RateLimiter::class)->for($name, $limit);
        return "throttle:$name";
    }
}
