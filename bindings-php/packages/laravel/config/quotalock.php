<?php

return [
    // redis://, rediss://, redis+cluster://, redis+sentinel://, unix://. What is null is as the extension has it.
    'url' => env('QUOTALOCK_URL'),
    'prefix' => env('QUOTALOCK_PREFIX'),
    'timeout_ms' => env('QUOTALOCK_TIMEOUT_MS'),
    // What a limiter answers when Redis cannot: raise, open, closed or local.
    'on_error' => env('QUOTALOCK_ON_ERROR'),
    // Whether Redis is told once a second what was decided, and who was denied most often: for `quotalock top`.
    'report' => env('QUOTALOCK_REPORT'),
    // Whether the middleware `throttle` and the facade RateLimiter are Quotalock's.
    'throttle' => true,
    // Whether a denied request is answered by a problem (RFC 9457) instead of Laravel's ThrottleRequestsException.
    'problem' => false,
    // Whether Access-Control-Expose-Headers lists the headers of limits, so that pages of other origins can read them.
    'expose_headers' => false,
    // In a Redis Cluster the keys of a named limiter share a slot, since its limits are decided in one call. With true
    // they are spread over the cluster, and no closure of a named limiter may return several limits.
    'spread' => false,
    // How many permits a worker takes from Redis at once at most, and spends without a call: ['api' => 50] for the
    // named limiter api, where all its limits have one key. `throttle:60,1` is the limiter throttle.
    'prefetch' => [],
    // For how many seconds Cache::forever() keeps a value. Null refuses: nothing is kept forever.
    'forever' => null,
    // For how many seconds a lock is held that was made without seconds: at most a week.
    'lock_seconds' => 86400,
];
