<?php

/** A request of php-fpm that asks the limiter that the environment names, and does nothing else. */

declare(strict_types=1);

namespace Quotalock\Bench\Compare;

require __DIR__ . '/../workers/php_peers.php';

$peer = (string) getenv('COMPARE_PEER');
if ($peer !== 'bare') {
    $port = (int) getenv('COMPARE_PORT');
    $task = new Task($peer, 'limit', $port, '', "web-$peer", 100, 1, '', 'same', 1, 0);
    if (!(__NAMESPACE__ . '\\' . LIMITERS[$peer])($task)((string) $_GET['k'])) {
        http_response_code(429);
        exit;
    }
}
echo "found\n";
