<?php

// Calls a hostile server and then a good one, again and again, in PHP. The protocol is that of caller.py.

declare(strict_types=1);

namespace Quotalock\Tests\Harness;

use Quotalock\Client;
use Quotalock\Exception\QuotalockException;

/** A number that the kernel knows of this process. */
function status(string $name): int
{
    preg_match("/$name:\\s*(\\d+)/", file_get_contents('/proc/self/status'), $found);
    return (int) $found[1];
}

/** One attack. */
function attack(array $request): array
{
    $bad = new Client($request['bad'], timeoutMs: $request['timeout_ms']);
    $good = new Client($request['good']);
    $limiter = $good->limiter('good', '1000000/1s');
    $limiter->consume('k');
    file_put_contents('/proc/self/clear_refs', '5');
    $before = status('VmRSS');
    $hostile = $bad->limiter('bad', '5/1h');
    $end = hrtime(true) + (int) ($request['seconds'] * 1e9);
    [$longest, $calls] = [['bad' => 0.0, 'good' => 0.0], ['bad' => 0, 'good' => 0]];
    $codes = ['bad' => [], 'good' => []];
    $note = function (string $side, callable $call) use (&$longest, &$calls, &$codes): void {
        [$began, $code] = [hrtime(true), 'ok'];
        try {
            $code = $call() === false ? 'not_acquired' : 'ok';
        } catch (QuotalockException $error) {
            $code = $error->getErrorCode();
        }
        $longest[$side] = max($longest[$side], (hrtime(true) - $began) / 1e6);
        $calls[$side]++;
        $codes[$side][$code] = true;
    };
    $ask = $request['call'] === 'acquire'
        ? fn () => ($lock = $bad->lock('bad'))->acquire(waitMs: $request['wait_ms'])
        : fn () => $hostile->consume('k');
    do {
        $note('bad', $ask);
        $note('good', fn () => $limiter->consume('k'));
        usleep(2000);
    } while (hrtime(true) < $end);
    return [
        'bad_ms' => $longest['bad'], 'bad_calls' => $calls['bad'], 'codes' => array_keys($codes['bad']),
        'good_ms' => $longest['good'], 'good_calls' => $calls['good'], 'good_codes' => array_keys($codes['good']),
        'threads' => status('Threads'), 'grown_kb' => status('VmHWM') - $before,
    ];
}

while (($line = fgets(STDIN)) !== false) {
    echo json_encode(attack(json_decode($line, true))), "\n";
}
