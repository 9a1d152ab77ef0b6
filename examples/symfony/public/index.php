<?php

declare(strict_types=1);

use App\Kernel;
use Symfony\Component\HttpFoundation\Request;

require getenv('QUOTALOCK_AUTOLOAD') ?: __DIR__ . '/../vendor/autoload.php';
require_once __DIR__ . '/../src/Kernel.php';

$kernel = new Kernel('prod', false);
$request = Request::createFromGlobals();
$response = $kernel->handle($request);
$response->send();
$kernel->terminate($request, $response);
