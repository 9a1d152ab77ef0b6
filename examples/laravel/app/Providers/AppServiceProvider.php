<?php

declare(strict_types=1);

namespace App\Providers;

use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Http\Request;
use Illuminate\Support\Facades\Cache;
use Illuminate\Support\Facades\RateLimiter;
use Illuminate\Support\Facades\Route;
use Illuminate\Support\ServiceProvider;

/** Limits and routes, as in any application of Laravel's. */
final class AppServiceProvider extends ServiceProvider
{
    public function boot(): void
    {
        RateLimiter::for('api', fn (Request $request): array => [
            self::inTenSeconds(3)->by($request->ip()),
            Limit::perHour(100)->by($request->ip()),
        ]);
        Route::middleware('throttle:api')->get('/api/hello', fn () => ['hello' => 'world']);
        Route::middleware('throttle:2,1')->get('/login', fn () => ['welcome' => true]);
        Route::get('/report', function (): array {
            $lock = Cache::lock('report', 10);
            $answer = ['locked' => $lock->get(), 'again' => Cache::lock('report', 10)->get()];
            $lock->release();
            return $answer;
        });
        Route::get('/cache', fn () => ['value' => Cache::remember('value', 60, fn () => random_int(1, PHP_INT_MAX))]);
        // A lock that this request takes and another one releases.
        Route::get('/take', fn () => ['owner' => tap(Cache::lock('job', 60))->get()->owner()]);
        Route::get('/finish', fn (Request $request) => [
            'released' => Cache::restoreLock('job', $request->query('owner'))->release(),
        ]);
    }
    /** Before version 11, Laravel's own limits were of a minute at least; a fraction of one is fine here. */
    private static function inTenSeconds(int $most): Limit
    {
        return method_exists(Limit::class, 'perSecond')
            ? Limit::perSecond($most, 10)
            : tap(Limit::perMinute($most), fn (Limit $limit) => $limit->decayMinutes = 1 / 6);
    }
}
