<?php

/** Takes a lock and forgets it, ending in one of several ways. */

declare(strict_types=1);

$client = new Quotalock\Client();
$lock = $client->lock('n', (int) ($_GET['ttl'] ?? 60_000));
if ($_GET['how'] === 'turn') {
    // Numbers count who is in it: a second one would find 2.
    $inside = $client->limiter('inside', '100/hour');
    echo json_encode($lock->run(function (Quotalock\Lock $lock) use ($inside) {
        $count = $inside->consume('k')->limit - $inside->peek('k')->remaining;
        usleep(500);
        $inside->refund('k', 1);
        return ['inside' => $count, 'token' => $lock->token];
    }, 20_000));
    return;
}

/** Says what the request has, at once: out of memory, PHP throws away what it has not yet sent. */
function answer(bool $acquired): void
{
    echo json_encode(['acquired' => $acquired, 'pid' => getmypid()]);
    while (ob_get_level() > 0) {
        ob_end_flush();
    }
}

/** Holds it in a variable that outlives all others of the request. */
function keep(Quotalock\Lock $lock): bool
{
    static $kept;
    $kept = $lock;
    return $kept->acquire();
}

if ($_GET['how'] === 'in run') {
    $lock->run(function () {
        answer(true);
        exit;
    });
}
answer($_GET['how'] === 'static' ? keep($lock) : $lock->acquire());
if ($_GET['how'] === 'time') {
    set_time_limit(1);
    for (;;) {
    }
}
match ($_GET['how']) {
    'return', 'static' => null,
    'exit' => exit,
    'exception' => throw new RuntimeException('the end'),
    'error' => trigger_error('the end', E_USER_ERROR),
    'memory' => str_repeat('x', 1 << 40),
    'close' => fastcgi_finish_request() && $lock->extend(),
    'sleep' => sleep(20),
};
