<?php

/**
 * PHP on the command line, one call at a time. See common.py for the task, serve.py for the protocol of a round, and
 * php_peers.php for whom.
 */

declare(strict_types=1);

namespace Quotalock\Bench\Compare;

require __DIR__ . '/php_peers.php';

const CHECKED = 'checked';
const VALUE_BYTES = 100;

/** The CPU this process has used, in user space and in the kernel. */
function cpu_us(): int
{
    $usage = getrusage();
    return ($usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec']) * 1_000_000
        + $usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec'];
}

/** The CPU that the main thread has used. */
function main_us(): float
{
    return (int) file_get_contents('/proc/self/task/' . getmypid() . '/schedstat') / 1000;
}

/** The keys in the order of the calls. */
function keys(Task $task): \Generator
{
    $keys = file($task->keys, FILE_IGNORE_NEW_LINES | FILE_SKIP_EMPTY_LINES);
    for ($turn = 0; $turn === 0 || $task->turns !== 'once'; $turn++) {
        yield from $task->turns === 'renamed' ? array_map(fn (string $key): string => "$key-$turn", $keys) : $keys;
    }
}

/** Calls until the time is over, notes what each call took, and returns how many were admitted. */
function drive(\Closure $call, \Generator $keys, int $stop, array &$took): int
{
    $admitted = 0;
    do {
        $key = $keys->current();
        $keys->next();
        $before = hrtime(true);
        $answer = $call($key);
        $after = hrtime(true);
        $took[] = $after - $before;
        $admitted += $answer ? 1 : 0;
    } while ($after < $stop && $keys->valid());
    return $admitted;
}

/** What one call is: of a lock a pair, of a cache to get the right value. */
function call(Task $task): \Closure
{
    $make = __NAMESPACE__ . '\\' . match ($task->kind) {
        'limit' => LIMITERS[$task->client],
        'lock' => LOCKS[$task->client],
        'cache' => CACHES[$task->client],
    };
    $made = $make($task);
    if ($task->kind === 'lock') {
        [$acquire, $release] = $made;
        return function (string $key) use ($acquire, $release): bool {
            $held = $acquire($key);
            $held && $release($held);
            return $held !== null;
        };
    }
    if ($task->kind === 'cache') {
        $value = str_repeat('x', VALUE_BYTES);
        $load = fn (): string => $value;
        return fn (string $key): bool => $made($key, $load) === $value;
    }
    return $made;
}

/** @return list<bool> what the calls of the check were answered */
function check(Task $task): array
{
    if ($task->kind === 'lock') {
        [$acquire, $release] = (__NAMESPACE__ . '\\' . LOCKS[$task->client])($task);
        $held = $acquire(CHECKED);
        $answers = [$held !== null, $acquire(CHECKED) !== null];
        $release($held);
        return [...$answers, $acquire(CHECKED) !== null];
    }
    if ($task->kind === 'cache') {
        $get = (__NAMESPACE__ . '\\' . CACHES[$task->client])($task);
        $loads = 0;
        $load = function () use (&$loads): string {
            $loads++;
            return 'loaded';
        };
        // Loaded by the first, and not by the second.
        return [$get(CHECKED, $load) === 'loaded', $get(CHECKED, $load) === 'loaded', $loads === 1];
    }
    $call = call($task);
    return array_map(fn (): bool => $call(CHECKED), range(1, $task->check));
}

ini_set('memory_limit', '2G');
$task = new Task(...json_decode($argv[1], true, flags: JSON_THROW_ON_ERROR));
if ($task->check > 0) {
    $answers = check($task);
    echo json_encode(['versions' => versions($task->client)]), "\n", json_encode(['answers' => $answers]), "\n";
    exit;
}
$call = call($task);
$keys = keys($task);
echo json_encode(['versions' => versions($task->client)]), "\n";
while (($line = fgets(STDIN)) !== false) {
    $took = [];
    [$begun, $used, $main] = [hrtime(true), cpu_us(), main_us()];
    $admitted = drive($call, $keys, $begun + (int) ((float) $line * 1e9), $took);
    [$seconds, $used, $main] = [(hrtime(true) - $begun) / 1e9, cpu_us() - $used, main_us() - $main];
    sort($took);
    $calls = count($took);
    echo json_encode([
        'calls' => $calls,
        'admitted' => $admitted,
        'seconds' => $seconds,
        'cpu_us' => $used,
        'main_us' => $main,
        'p50_us' => $took[intdiv($calls, 2)] / 1000,
        'p99_us' => $took[intdiv($calls * 99, 100)] / 1000,
        'p999_us' => $took[intdiv($calls * 999, 1000)] / 1000,
    ]), "\n";
}
