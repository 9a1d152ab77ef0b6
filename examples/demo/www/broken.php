<?php

/**
 * The limiter of the incident, as it ran in production: one purchase per window, fails open, silently.
 *
 * The key may expire between SET and DECR. DECR then makes it anew at -1 and without a TTL, SET NX never replaces it,
 * and every buyer is refused for ever.
 */

declare(strict_types=1);

function limited(string $key, int $windowMs): bool
{
    try {
        $redis = new Redis();
        $redis->pconnect('127.0.0.1', (int) getenv('REDIS_PORT'));
        $redis->set($key, 1, ['nx', 'px' => $windowMs]);
        return $redis->decr($key) < 0;
    } catch (RedisException) {
        return false;
    }
}

if (limited('checkout:hot-item', (int) getenv('WINDOW_MS'))) {
    http_response_code(429);
    exit("Try again later.\n");
}
echo "Bought.\n";
