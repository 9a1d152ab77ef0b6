<?php

/** Takes its turn with a lock over several servers, or takes the lock and forgets it. */

declare(strict_types=1);

$clients = array_map(fn (string $url) => new Quotalock\Client($url), explode(',', $_GET['urls']));
$lock = Quotalock\quorum_lock($clients, 'n', ttlMs: 3_000, waitMs: 20_000);
if ($_GET['how'] === 'forget') {
    echo json_encode(['acquired' => $lock->acquire(), 'pid' => getmypid()]);
    exit;
}
// Numbers count who is in it: a second one would find 2.
$inside = $clients[0]->limiter('inside', '100/hour');
echo json_encode($lock->run(function (Quotalock\Lock $lock) use ($inside) {
    $count = $inside->consume('k')->limit - $inside->peek('k')->remaining;
    usleep(500);
    $inside->refund('k', 1);
    return ['inside' => $count, 'token' => $lock->token];
}));
