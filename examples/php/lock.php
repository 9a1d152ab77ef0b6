<?php

/** Locks: work that one process at a time may do, or a few. Redis: QUOTALOCK_URL. */

declare(strict_types=1);

use Quotalock\Lock;

$client = new Quotalock\Client();

// Waits for up to five seconds; released however the function ends: by returning, an exception, exit, a fatal error.
$sold = $client->lock('sku:42')->run(function (Lock $lock): string {
    // A lock is a lease, and may be over before the work is. Let what it protects refuse whoever comes too late:
    // UPDATE stock SET fence = :token, ... WHERE sku = 42 AND fence < :token
    return $lock->token > 0 ? 'sold, with a token' : 'sold';
}, waitMs: 5_000);
echo "$sold\n";

// By hand, for work that takes longer than the ttl: it says that it is still alive, and stops if it lost the lock.
$report = $client->lock('report', ttlMs: 10_000, label: 'nightly report');
if ($report->acquire()) {
    try {
        foreach (['January', 'February'] as $month) {
            echo $report->extend() ? "$month\n" : throw new RuntimeException('another one is at it');
        }
        $holder = $client->lock('report')->inspect()->holders[0];
        echo "the $holder->label holds it\n";
    } finally {
        $report->release();
    }
}

// At most two at once, in however many processes.
$imports = [];
for ($i = 0; $i < 3; $i++) {
    $imports[$i] = $client->semaphore('imports', permits: 2);
    echo $imports[$i]->acquire() ? "importing\n" : "two are importing already\n";
}

// Both or none, in one call.
$both = $client->lockAll(['account:1', 'account:2'])->run(fn (Lock $lock): int => count($lock->names));
echo "$both accounts\n";
