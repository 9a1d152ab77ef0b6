<?php

/** The PHP service of act 3: the limit of one client address, which the Python and the Node service share. */

declare(strict_types=1);

$limiter = (new Quotalock\Client())->limiter('clients', getenv('CLIENT_POLICY'));
$decision = $limiter->consume($_GET['client']);

if (!$decision->allowed) {
    http_response_code(429);
    header('Retry-After: ' . max(1, (int) ceil($decision->retryAfterMs / 1000)));
}
