<?php

/** Has a hook that ends the script, or that fails, or none; says what was told and what the process has. */

declare(strict_types=1);

$ballast = str_repeat('x', 1 << 20);
$told = [];
$tell = function ($decision) use (&$told, $ballast): void {
    $told[] = $decision->cost;
    match ($_GET['how']) {
        'exit' => exit(json_encode(['told' => $told, 'pid' => getmypid()])),
        'memory' => str_repeat('x', 1 << 40),
        'exception' => throw new RuntimeException('of the hook'),
        'fine' => null,
    };
};
$client = new Quotalock\Client(onDecision: $_GET['how'] === 'none' ? null : $tell);
// What refers to itself goes with the request.
$holder = new stdClass();
[$holder->client, $holder->tell] = [new Quotalock\Client(onDecision: fn () => $holder), $tell];
$client->limiter('hook', '1000000/hour')->consume('k');
$resident = (int) explode(' ', (string) file_get_contents('/proc/self/statm'))[1] * 4096;
echo json_encode(['told' => $told, 'pid' => getmypid(), 'resident' => $resident]);
