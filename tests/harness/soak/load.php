<?php

// One call of each feature, as a script of php-fpm: tells how many, and what failed.

declare(strict_types=1);

use Quotalock\Client;
use Quotalock\Exception\QuotalockException;

$client = new Client(getenv('SOAK_URL') ?: null, 'soak', timeoutMs: 1000);
$counts = ['calls' => 0];
$any = fn (string $what, int $most) => "$what:" . random_int(0, $most - 1);
$calls = [
    fn () => $client->limiter('calls', '1000000/1h;token-bucket 100/1s')->consume($any('user', 200)),
    fn () => $client->limiter('once', '1000000/1h')->consume($any('user', 200), 1, bin2hex(random_bytes(12))),
    fn () => $client->lock($any('door', 4), ttlMs: 2000, waitMs: 500)->run(fn () => null),
    fn () => $client->cache('page', freshMs: 500, staleMs: 1000)->get($any('page', 20), fn () => str_repeat('x', 2000)),
    fn () => $client->limiter('leased', '1000000/1h', prefetch: 50)->consume('shared'),
    // Nearly always denied, by what the host remembers.
    fn () => $client->limiter('small', '5/1s')->consume('shared'),
];
foreach ($calls as $call) {
    try {
        $call();
        $counts['calls']++;
    } catch (QuotalockException $error) {
        $counts[$error->getErrorCode()] = ($counts[$error->getErrorCode()] ?? 0) + 1;
    }
}
echo json_encode($counts);
