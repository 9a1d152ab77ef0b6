<?php

/**
 * Measures the packages for PHP frameworks beside what they replace, in one process on one Redis: calls a second, and
 * what the slowest of a hundred takes. `make bench ONLY=frameworks-php` runs it, and
 * frameworks_http.py for whole requests.
 */

declare(strict_types=1);

namespace Quotalock\Bench;

require __DIR__ . '/frameworks/rivals.php';

const ROUNDS = 15;
const CALLS = 200;

$url = json_decode((string) getenv('QUOTALOCK_TEST_SERVERS'), true)['redis-7.0'];
printf("%-36s %12s %12s %7s %14s\n", '', 'theirs/s', 'Quotalock/s', 'times', 'p99 in ms');
foreach (RIVALS as $name => $rival) {
    $rival = __NAMESPACE__ . "\\$rival";
    $pair = [$rival($url, false), $rival($url, true)];
    $times = [[], []];
    array_map(fn (\Closure $call) => $call(), $pair);
    for ($round = 0; $round < ROUNDS; $round++) {
        foreach ($pair as $n => $call) {
            for ($i = 0; $i < CALLS; $i++) {
                $start = hrtime(true);
                $call();
                $times[$n][] = (hrtime(true) - $start) / 1e6;
            }
        }
    }
    array_walk($times, fn (array &$each) => sort($each));
    // By the median, since somebody else may use the machine.
    $rates = array_map(fn (array $each): float => 1000 / $each[intdiv(count($each), 2)], $times);
    $late = array_map(fn (array $each): float => $each[intdiv(count($each) * 99, 100)], $times);
    printf("%-36s %12.0f %12.0f %7.1f %6.2f / %5.2f\n", $name, ...$rates, ...[$rates[1] / $rates[0]], ...$late);
}
