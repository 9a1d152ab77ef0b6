<?php

/** Ends in the middle of something, in one of several ways. */

declare(strict_types=1);

$limiter = (new Quotalock\Client())->limiter('end', '100/hour');
echo json_encode(['left' => $limiter->consume('k')->remaining, 'pid' => getmypid()]);
while (ob_get_level() > 0) {
    // Out of memory, PHP throws away what it has not yet sent.
    ob_end_flush();
}
match ($_GET['how']) {
    'exit' => exit,
    'exception' => throw new RuntimeException('the end'),
    'error' => trigger_error('the end', E_USER_ERROR),
    'memory' => str_repeat('x', 1 << 40),
    'close' => fastcgi_finish_request() && $limiter->consume('after'),
};
