<?php

declare(strict_types=1);

namespace Orchestra\Testbench;

use Illuminate\Cache\CacheServiceProvider;
use Illuminate\Config\Repository;
use Illuminate\Foundation\Application;
use Illuminate\Http\Request;
use Illuminate\Support\Carbon;
use Illuminate\Support\Facades\Facade;
use Mockery;
use Quotalock\Client;
use Quotalock\Laravel\QuotalockServiceProvider;
use Quotalock\Testing;

use function Quotalock\Tests\prefix;
use function Quotalock\Tests\server;

/** As much of an application as Laravel's own tests ask of Testbench, with Quotalock's package in it. */
abstract class TestCase extends \PHPUnit\Framework\TestCase
{
    /** @var Application */
    protected $app;

    protected function setUp(): void
    {
        $this->app = new Application(sys_get_temp_dir() . '/quotalock-laravel');
        $this->app->instance('config', new Repository([
            'cache' => [
                'default' => 'quotalock',
                'prefix' => '',
                'stores' => ['array' => ['driver' => 'array'], 'quotalock' => ['driver' => 'quotalock']],
            ],
            'quotalock' => ['url' => $this->url(), 'prefix' => prefix()] + $this->settings(),
        ]));
        Facade::setFacadeApplication($this->app);
        Facade::clearResolvedInstances();
        $this->app->register(CacheServiceProvider::class);
        $this->app->register(QuotalockServiceProvider::class);
        $this->app->alias('cache.store', \Illuminate\Contracts\Cache\Repository::class);
        $this->app->alias('events', \Illuminate\Contracts\Events\Dispatcher::class);
        $this->app->boot();
    }

    protected function tearDown(): void
    {
        Carbon::setTestNow();
        if (class_exists(Mockery::class, false)) {
            $this->addToAssertionCount(Mockery::getContainer()->mockery_getExpectationCount());
        }
        Mockery::close();
        Facade::clearResolvedInstances();
    }

    /** Where limits are kept: a test that winds the clock has a memory of its own. */
    protected function url(): string
    {
        return server();
    }

    /** Further settings of config/quotalock.php. @return array<string, mixed> */
    protected function settings(): array
    {
        return [];
    }

    protected function withoutExceptionHandling(): static
    {
        return $this;
    }

    /** Asks the application, at the time that the test has wound Carbon to. */
    protected function get(string $path): mixed
    {
        if (Carbon::hasTestNow()) {
            Testing::setTime($this->app->make(Client::class), (int) Carbon::now()->getPreciseTimestamp(6));
        }
        $request = Request::create($path);
        $this->app->instance('request', $request);
        return $this->app['router']->dispatch($request);
    }
}
