<?php

/** Readers of bench/cache.py in PHP, each a process: `worker.php KIND PORT READERS ROUNDS PAUSE`. See worker.py. */

declare(strict_types=1);

namespace Quotalock\Bench;

const STEPS = ['peer', 'trip', 'get'];

/** What a reader's steps took, in nanoseconds. */
function read(int $port, int $rounds, float $pause, callable $begin): array
{
    $cache = (new \Quotalock\Client("redis://127.0.0.1:$port", timeoutMs: 5000))
        ->cache('bench', freshMs: 50, staleMs: 3_600_000, beta: 0.0);
    $peer = new \Redis();
    $peer->connect('127.0.0.1', $port);
    $never = fn () => throw new \RuntimeException('a reader was asked to load, although another does');
    $steps = [
        'peer' => fn () => $peer->get('bench:plain'),
        'trip' => fn () => $cache->peek('nothing'),
        'get' => fn () => $cache->get('key', $never),
    ];
    $steps['peer']();
    $steps['trip']();
    $begin();
    $took = array_fill_keys(STEPS, []);
    for ($turn = 0; $turn < $rounds; $turn++) {
        usleep((int) (2e6 * $pause * mt_rand() / mt_getrandmax()));
        for ($n = 0; $n < 3; $n++) {
            $name = STEPS[($turn + $n) % 3];
            $begun = hrtime(true);
            $got = $steps[$name]();
            $took[$name][] = hrtime(true) - $begun;
            if ($name === 'get' && $got !== 'old') {
                throw new \RuntimeException("$got is not the stale value");
            }
        }
    }
    return $took;
}

[, , $port, $readers, $rounds, $pause] = $argv;
$pipes = [];
for ($reader = 0; $reader < $readers; $reader++) {
    [$mine, $its] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    if (pcntl_fork() === 0) {
        fclose($mine);
        $begin = function () use ($its): void {
            fwrite($its, "ready\n");
            fgets($its);
        };
        fwrite($its, json_encode(read((int) $port, (int) $rounds, (float) $pause, $begin)) . "\n");
        exit;
    }
    fclose($its);
    $pipes[] = $mine;
}
array_map(fgets(...), $pipes);
echo "ready\n";
fgets(STDIN);
array_map(fn ($pipe) => fwrite($pipe, "go\n"), $pipes);
$took = array_map(fn ($pipe) => json_decode((string) fgets($pipe), true, flags: JSON_THROW_ON_ERROR), $pipes);
echo json_encode(array_merge_recursive(...$took)), "\n";
while (pcntl_wait($status) > 0) {
}
