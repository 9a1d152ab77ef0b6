<?php

// Readers of one key through Laravel's cache on Redis, each a process: `laravel_cache.php PORT READERS LOAD_MS [LOCK_S
// WAIT_S [kill]]`. They call `remember`, with LOCK_S under a lock of so many seconds, for which they wait for WAIT_S.
// With `kill` whoever loads first is killed. Prints as JSON how often they loaded, how many `got` the value, what the
// others threw, and after how many milliseconds the `last` was done. Debian's is Laravel 8: without Cache::flexible.

declare(strict_types=1);

use Illuminate\Cache\RedisStore;
use Illuminate\Cache\Repository;
use Illuminate\Redis\RedisManager;

require '/usr/share/php/Illuminate/Cache/autoload.php';
require_once '/usr/share/php/Illuminate/Redis/autoload.php';

[, $port, $readers, $loadMs] = $argv;
[$lock, $wait] = [(int) ($argv[4] ?? 0), (int) ($argv[5] ?? 0)];
[$loads, $ends, $ready] = array_map(fn () => tempnam(sys_get_temp_dir(), 'ql-'), range(1, 3));
for ($reader = 0; $reader < (int) $readers; $reader++) {
    if (pcntl_fork() === 0) {
        $redis = new RedisManager(null, 'phpredis', ['default' => ['host' => '127.0.0.1', 'port' => (int) $port]]);
        // What the facade Cache stands for.
        $cache = new Repository(new RedisStore($redis, 'laravel'));
        $remember = fn () => $cache->remember('key', 60, function () use ($loads, $loadMs) {
            file_put_contents($loads, getmypid() . "\n", FILE_APPEND);
            usleep((int) $loadMs * 1000);
            return 'value';
        });
        // They begin when the last is ready, however long a fork takes.
        file_put_contents($ready, '.', FILE_APPEND | LOCK_EX);
        while (filesize($ready) < (int) $readers) {
            usleep(1000);
            clearstatcache();
        }
        $begin = hrtime(true);
        try {
            $value = $lock > 0 ? $cache->lock('key:lock', $lock)->block($wait, $remember) : $remember();
        } catch (Exception $error) {
            $value = $error::class;
        }
        file_put_contents($ends, json_encode([$value, (hrtime(true) - $begin) / 1e6]) . "\n", FILE_APPEND);
        exit;
    }
}
if (isset($argv[6])) {
    while (filesize($loads) === 0) {
        usleep(10_000);
        clearstatcache();
    }
    posix_kill((int) file_get_contents($loads), SIGKILL);
}
while (pcntl_wait($status) > 0) {
}
$ended = array_map(json_decode(...), file($ends));
$values = array_count_values(array_column($ended, 0));
$got = $values['value'] ?? 0;
unset($values['value']);
$last = round(max(array_column($ended, 1)));
echo json_encode(['loads' => count(file($loads)), 'got' => $got, 'threw' => (object) $values, 'last' => $last]);
array_map(unlink(...), [$loads, $ends, $ready]);
