<?php

/**
 * A request of threads.c. It prints what it saw as a line of JSON, and ends in one of several ways, with a lock that it
 * does not release.
 */

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Decision;

$told = 0;
$client = new Client(
    $_GET['url'],
    $_GET['prefix'],
    timeoutMs: 10_000,
    denyCacheMaxMs: 0,
    onDecision: function (Decision $decision) use (&$told): void {
        $told++;
    }
);
[$round, $thread, $request] = array_map(intval(...), [$_GET['round'], $_GET['thread'], $_GET['request']]);
if ($request < 0) {
    $of = fn (string $name): array => $client->lock($name)->inspect()->holders;
    echo json_encode(['held' => array_merge(...array_map($of, ['kept 0', 'kept 1', 'counter', 'forgotten']))]);
    exit;
}

// A lock that an earlier request kept to its end is free again; this one is kept in the same way.
$GLOBALS['kept'] = $client->lock('kept ' . $thread % 2, ttlMs: 3_600_000, waitMs: 60_000);
$isFree = $GLOBALS['kept']->acquire();

$decision = $client->limiter('sale', $_GET['policy'])->consume('ticket');

// Other threads set the variable too, and PHP unsets it at the end of each request.
putenv("QUOTALOCK_URL={$_GET['url']}");
$server = (new Client())->server;

// Without the lock, threads would write the same number.
$file = $_GET['counter'];
$count = $client->lock('counter', waitMs: 60_000)->run(function () use ($file): int {
    $count = 1 + (int) file_get_contents($file);
    file_put_contents($file, (string) $count);
    return $count;
});

// The requests of all threads of the same number ask for the same value.
$loads = 0;
$value = $client->cache('pages')->get("$round-$request", function () use ($round, $request, &$loads): string {
    $loads++;
    return "page $round-$request";
}, 60_000);

echo json_encode([
    'thread' => "$round-$thread",
    'request' => $request,
    'allowed' => $decision->allowed,
    'remaining' => $decision->remaining,
    'server' => $server,
    'told' => $told,
    'free' => $isFree,
    'count' => $count,
    'value' => $value,
    'loads' => $loads,
]);

// The lock, and one of a request that has forgotten it, are held at each of these ends.
$forgotten = $client->lock('forgotten', ttlMs: 3_600_000, waitMs: 60_000);
$forgotten->acquire();
match (($thread + $request) % 4) {
    0 => exit,
    1 => $client->cache('ends')->get("$round-$thread-$request", fn () => exit),
    2 => throw new \Exception('the end of this request'),
    3 => null,
};
