<?php

/** Three lines in PHP: at most ten checkouts a minute for each user. Redis: `ratelimit.url`, then QUOTALOCK_URL. */

declare(strict_types=1);

$checkout = (new Quotalock\Client())->limiter('checkout', '10/minute;100/hour');
$decision = $checkout->consume('user:42');
echo $decision->allowed ? "go ahead, {$decision->remaining} left\n" : "retry in {$decision->retryAfterMs} ms\n";

// Or in one line, where only the answer matters.
if (!Quotalock\limit('checkout', 'user:42', '10/minute;100/hour')) {
    http_response_code(429);
    exit;
}
echo "and again\n";
