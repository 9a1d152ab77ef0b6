<?php

// Consumes in PHP: `worker.php URL PREFETCH SECONDS`; tells how many decisions it got, and the time.
// BENCH_POLICY is the policy, unless it is one that admits all.

declare(strict_types=1);

use Quotalock\Client;

const CALLS = 100;

[, $url, $prefetch, $seconds] = $argv;
$client = new Client($url, timeoutMs: 5000);
$limiter = $client->limiter('bench', getenv('BENCH_POLICY') ?: '1000000000/h', prefetch: (int) $prefetch ?: null);
for ($n = 0; $n < 1_000; $n++) {
    $limiter->consume('k');
}
echo "ready\n";
fgets(STDIN);
$calls = 0;
$begin = hrtime(true);
do {
    for ($n = 0; $n < CALLS; $n++) {
        $limiter->consume('k');
    }
    $calls += CALLS;
    $passed = (hrtime(true) - $begin) / 1e9;
} while ($passed < (float) $seconds);
$client->close();
echo json_encode([$calls, $passed]), "\n";
