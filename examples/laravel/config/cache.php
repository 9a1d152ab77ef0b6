<?php

return [
    'default' => env('CACHE_STORE', 'quotalock'),
    'stores' => ['quotalock' => ['driver' => 'quotalock']],
    'prefix' => 'example',
];
