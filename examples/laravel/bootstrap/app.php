<?php

declare(strict_types=1);

use App\Http\Kernel;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Foundation\Application;
use Illuminate\Foundation\Exceptions\Handler;

// In an application of yours Composer loads them.
require_once __DIR__ . '/../app/Http/Kernel.php';
require_once __DIR__ . '/../app/Providers/AppServiceProvider.php';

// The example writes nothing beside itself.
$folder = sys_get_temp_dir() . '/quotalock-laravel-' . Application::VERSION;
is_dir($folder) || mkdir($folder);
$_ENV['APP_SERVICES_CACHE'] = "$folder/services.php";
$_ENV['APP_PACKAGES_CACHE'] = "$folder/packages.php";
$app = new Application(dirname(__DIR__));
$app->useStoragePath($folder);
$app->singleton(Illuminate\Contracts\Http\Kernel::class, Kernel::class);
$app->singleton(ExceptionHandler::class, Handler::class);
return $app;
