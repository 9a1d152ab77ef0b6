<?php

/** The same endpoint with Quotalock. The address of Redis is the pool's `php_admin_value[ratelimit.url]`. */

declare(strict_types=1);

$checkout = (new Quotalock\Client())->limiter('checkout', '1/' . getenv('WINDOW_MS') . 'ms');
$decision = $checkout->consume('hot-item');

if (!$decision->allowed) {
    http_response_code(429);
    header('Retry-After: ' . max(1, (int) ceil($decision->retryAfterMs / 1000)));
    exit("Try again later.\n");
}
echo "Bought.\n";
