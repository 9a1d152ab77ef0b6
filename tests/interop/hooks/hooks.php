<?php

/** Makes the calls that it is given, and writes what its client told: `hooks.php URL PREFIX CALLS`. */

declare(strict_types=1);

use Quotalock\Client;
use Quotalock\Decision;
use Quotalock\Exception\QuotalockException;
use Quotalock\Lock;

[, $url, $prefix, $calls] = $argv;
$told = [];
$client = new Client(
    $url,
    $prefix,
    10_000,
    // Which denials come from memory must not hang on the time between two calls.
    denyCacheMaxMs: 60_000,
    onDecision: function (Decision $of, string $key) use (&$told): void {
        $numbers = [$of->limit, $of->remaining, $of->cost];
        $told[] = [$of->name, $of->allowed, $of->wouldDeny, $of->source, ...$numbers, $key];
    },
    onLost: function (Lock $lock) use (&$told): void {
        $told[] = ['lost', ...$lock->names];
    },
);
$limiters = [
    'checkout' => $client->limiter('checkout', '4/hour', 's'),
    'trial' => $client->limiter('trial', '1/hour', 's', enforce: false),
];
foreach (json_decode($calls, true) as $call) {
    [$verb, $limiter, $key] = $call;
    $amount = $call[3] ?? 1;
    $told[] = $verb;
    $limiter = $limiters[$limiter] ?? null;
    try {
        if ($verb === 'lose') {
            $lock = $client->lock($key);
            $lock->acquire();
            $lock->forceRelease();
            $lock->release();
        } elseif ($verb === 'consume_all') {
            $client->consumeAll(array_map(fn (array $each) => [$limiters[$each[0]], $each[1]], $key));
        } else {
            match ($verb) {
                'consume' => $limiter->consume($key, $amount),
                'require' => $limiter->require($key),
                'peek' => $limiter->peek($key),
                'consume_up_to' => $limiter->consumeUpTo($key, $amount),
                'reserve' => $limiter->reserve($key, $amount, 60_000),
                'refund' => $limiter->refund($key, $amount),
                'wait' => $limiter->wait($key, 1000 * $amount),
                'block' => $limiter->block($key, 1000 * $amount),
            };
        }
    } catch (QuotalockException $error) {
        $told[] = $error->getErrorCode();
    }
}
echo json_encode($told), "\n";
