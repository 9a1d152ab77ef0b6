<?php

declare(strict_types=1);

namespace Quotalock\Laravel;

use Illuminate\Cache\CacheManager;
use Illuminate\Cache\RateLimiter as BaseRateLimiter;
use Illuminate\Contracts\Foundation\Application;
use Illuminate\Support\ServiceProvider;
use Quotalock\Client;
use Quotalock\Support\Clients;

/** Registers the client, the cache driver `quotalock`, the rate limiter and the middleware `throttle`. */
final class QuotalockServiceProvider extends ServiceProvider
{
    private const CLIENT = ['url', 'prefix', 'timeout_ms', 'on_error', 'report'];

    public function register(): void
    {
        $this->mergeConfigFrom(__DIR__ . '/../config/quotalock.php', 'quotalock');
        $this->app->singleton(Client::class, function (Application $app): Client {
            $settings = array_intersect_key((array) $app['config']['quotalock'], array_flip(self::CLIENT));
            return Clients::make($settings, 'config/quotalock.php');
        });
        $this->app->singleton(Decider::class, fn (Application $app): Decider => new Decider(
            $app->make(Client::class),
            (bool) $app['config']['quotalock.spread'],
            (array) $app['config']['quotalock.prefetch'],
            self::application($app),
        ));
        if ($this->app['config']['quotalock.throttle']) {
            $ours = fn ($base, Application $app): RateLimiter => new RateLimiter(
                $app->make(Client::class),
                self::application($app),
            );
            $this->app->extend(BaseRateLimiter::class, $ours);
        }
        $this->callAfterResolving('cache', function (CacheManager $cache): void {
            $cache->extend('quotalock', fn (Application $app, array $config) => $cache->repository(new QuotalockStore(
                $app->make(Client::class),
                $config['prefix'] ?? (string) ($app['config']['cache.prefix'] ?? ''),
                $config['forever'] ?? $app['config']['quotalock.forever'],
                $config['lock_seconds'] ?? $app['config']['quotalock.lock_seconds'],
                $app['config']['cache.serializable_classes'] ?? null,
            )));
        });
        if (!isset($this->app['config']['cache.stores.quotalock'])) {
            $this->app['config']->set('cache.stores.quotalock', ['driver' => 'quotalock']);
        }
    }

    /** What Laravel tells applications apart by that share a cache. */
    private static function application(Application $app): string
    {
        return (string) ($app['config']['cache.prefix'] ?? $app['config']['app.name'] ?? '');
    }

    public function boot(): void
    {
        Clients::requireExtension();
        if ($this->app->runningInConsole()) {
            $target = $this->app->configPath('quotalock.php');
            $this->publishes([__DIR__ . '/../config/quotalock.php' => $target], 'quotalock');
        }
        if ($this->app['config']['quotalock.throttle'] && $this->app->bound('router')) {
            $this->app['router']->aliasMiddleware('throttle', ThrottleRequests::class);
        }
    }
}
