<?php

return [
    'url' => env('QUOTALOCK_URL'),
    'prefix' => env('QUOTALOCK_PREFIX'),
    'timeout_ms' => 2000,
    'on_error' => env('QUOTALOCK_ON_ERROR'),
    'problem' => true,
];
