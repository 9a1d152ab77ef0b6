<?php

/** Sells one of what all users share, and asks for one thing that only this request asks for. */

declare(strict_types=1);

$client = new Quotalock\Client();
$shop = $client->limiter('shop', '100/hour')->consume('item');
// Every answer differs: one that belongs to another request would not fit.
$n = (int) $_GET['n'];
$own = $client->limiter('own', "$n/hour")->consume("request:$n");

header('Content-Type: application/json');
echo json_encode([
    'admitted' => $shop->allowed,
    'left' => $shop->remaining,
    'right' => $own->allowed && $own->remaining === $n - 1 && $own->source === 'redis',
    'pid' => getmypid(),
    'server' => $client->server,
]);
if (isset($_GET['exit'])) {
    exit;
}
