<?php

// Consumes one key in PHP while Redis comes and goes: `worker.php URL POLICY SECONDS`.
// Prints what was admitted, by source.

declare(strict_types=1);

use Quotalock\Client;

[, $url, $policy, $seconds] = $argv;
$limiters = [];
// Several clients, which count as one process.
for ($n = 0; $n < 3; $n++) {
    $limiters[] = (new Client($url, timeoutMs: 500, onError: 'local'))->limiter('flaps', $policy);
}
echo "ready\n";
fgets(STDIN);
$admitted = [];
$end = hrtime(true) + (float) $seconds * 1e9;
while (hrtime(true) < $end) {
    foreach ($limiters as $limiter) {
        $decision = $limiter->consume('k');
        $admitted[$decision->source] = ($admitted[$decision->source] ?? 0) + (int) $decision->allowed;
    }
}
echo json_encode((object) $admitted), "\n";
