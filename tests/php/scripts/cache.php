<?php

/** A request that loads a value and ends as it is told meanwhile. */

$client = new Quotalock\Client();
$cache = $client->cache('home', leaseMs: 60_000, errorTtlMs: 0);
$cache->get('x', function () {
    echo 'in';
    // Out of memory, PHP throws away what it has not yet sent.
    while (ob_get_level() > 0) {
        ob_end_flush();
    }
    match ($_GET['how']) {
        'exit' => exit,
        'exception' => throw new DomainException('thrown'),
        'error' => trigger_error('the end', E_USER_ERROR),
        'memory' => str_repeat('x', 1 << 40),
        'time' => set_time_limit(1),
        'return' => null,
    };
    while ($_GET['how'] === 'time') {
    }
    return 'theirs';
});
