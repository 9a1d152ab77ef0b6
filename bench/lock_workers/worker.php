<?php

/** A PHP process of bench/locks.py: `worker.php TASK CLIENT PORT NUMBER`. Prints one line of JSON. */

declare(strict_types=1);

namespace Quotalock\Bench;

use Symfony\Component\Lock\Exception\ExceptionInterface;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\LockInterface;
use Symfony\Component\Lock\Store\RedisStore;

const NAME = 'sku:42';
const HOLD_US = 2000;
const PATIENCE_MS = 30000;
const TAKE = "return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', 30000) and 1 or 0";
const COMPARE_AND_DELETE =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

function ours(int $port, int $ttlMs, bool $fair = false): \Quotalock\Lock
{
    $client = new \Quotalock\Client("redis://127.0.0.1:$port", timeoutMs: 5000);
    return $client->lock(NAME, ttlMs: $ttlMs, fair: $fair);
}

function phpredis(int $port): \Redis
{
    $redis = new \Redis();
    $redis->connect('127.0.0.1', $port);
    return $redis;
}

function symfony(int $port, float $ttl): LockInterface
{
    // Debian's package php-symfony-lock.
    require_once 'Symfony/Component/Lock/autoload.php';
    return (new LockFactory(new RedisStore(phpredis($port), $ttl)))->createLock('peer:' . NAME, $ttl, false);
}

/** What is written by hand: SET NX PX, and 5 to 50 ms between two tries. */
function poll(int $port): array
{
    $redis = phpredis($port);
    [$take, $free] = [$redis->script('load', TAKE), $redis->script('load', COMPARE_AND_DELETE)];
    $arguments = ['poll:' . NAME, random_bytes(16)];
    $acquire = function () use ($redis, $take, $arguments): bool {
        while (!$redis->evalSha($take, $arguments, 1)) {
            usleep(random_int(5000, 50000));
        }
        return true;
    };
    return [$acquire, fn () => $redis->evalSha($free, $arguments, 1)];
}

function contend(string $client, int $port, float $seconds): array
{
    if ($client === 'poll') {
        [$acquire, $release] = poll($port);
    } else {
        $lock = ours($port, 30000, $client === 'fair');
        [$acquire, $release] = [fn () => $lock->acquire(PATIENCE_MS), fn () => $lock->release()];
    }
    $waits = [];
    fgets(STDIN);
    $end = microtime(true) + $seconds;
    while (microtime(true) < $end) {
        $begun = hrtime(true);
        if (!$acquire()) {
            throw new \RuntimeException('not acquired');
        }
        $waits[] = (hrtime(true) - $begun) / 1e9;
        usleep(HOLD_US);
        $release();
    }
    return ['waits' => $waits];
}

function pair(string $client, int $port, int $count): array
{
    $lock = $client === 'ours' ? ours($port, 30000) : symfony($port, 30.0);
    $took = [];
    for ($n = 0; $n < $count; $n++) {
        $begun = hrtime(true);
        if (!$lock->acquire()) {
            throw new \RuntimeException('not acquired');
        }
        $lock->release();
        $took[] = (hrtime(true) - $begun) / 1e9;
    }
    sort($took);
    return ['seconds' => $took[intdiv($count, 2)]];
}

function frozen(string $client, int $port, float $ttl): array
{
    $lock = $client === 'ours' ? ours($port, (int) ($ttl * 1000)) : symfony($port, $ttl);
    $lock->acquire();
    echo json_encode(['held' => true]), "\n";
    fgets(STDIN);
    $begun = hrtime(true);
    $after = fn () => (hrtime(true) - $begun) / 1e9;
    try {
        if ($client === 'ours') {
            $lock->assertHeld();
        } elseif ($lock->isExpired()) {
            return ['told' => false, 'after' => $after(), 'how' => 'no notice; `isExpired` is true'];
        } else {
            $lock->release();
        }
    } catch (\Quotalock\Exception\LostException | ExceptionInterface $error) {
        $name = (new \ReflectionClass($error))->getShortName();
        return ['told' => false, 'after' => $after(), 'how' => "when it asks: `$name`"];
    }
    return ['told' => false, 'after' => null, 'how' => 'never'];
}

[, $task, $client, $port, $number] = $argv;
$result = match ($task) {
    'contend' => contend($client, (int) $port, (float) $number),
    'pair' => pair($client, (int) $port, (int) $number),
    'frozen' => frozen($client, (int) $port, (float) $number),
};
echo json_encode($result), "\n";
