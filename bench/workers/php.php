<?php

// PHP on the command line, one call at a time: Quotalock, or phpredis. See serve.py for the protocol.

declare(strict_types=1);

namespace Quotalock\Bench;

use Quotalock\Client;
use Redis;

/** What to call. */
final class Setup
{
    public function __construct(
        public readonly string $client,
        public readonly int $port,
        public readonly string $prefix,
        public readonly string $policy,
        public readonly int $keys,
        public readonly int $lanes,
        public readonly string $script,
        public readonly array $argv,
        public readonly string $scheme = 'redis',
    ) {
    }
}

/** The CPU this process has used, in user space and in the kernel. */
function cpu_us(): int
{
    $usage = getrusage();
    return ($usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec']) * 1_000_000
        + $usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec'];
}

/** Returns a function that calls until the time is over, notes what each call took and returns how many it admitted. */
function quotalock(Setup $setup): callable
{
    $url = "$setup->scheme://127.0.0.1:$setup->port";
    $limiter = (new Client($url, prefix: $setup->prefix, timeoutMs: 5000, denyCacheMaxMs: 0))
        ->limiter('bench', $setup->policy);
    $keys = array_map(fn (int $number) => "user:$number", range(0, $setup->keys - 1));
    return function (int $stop, array &$took) use ($limiter, $keys): int {
        $admitted = 0;
        do {
            foreach ($keys as $key) {
                $before = hrtime(true);
                $decision = $limiter->consume($key);
                $after = hrtime(true);
                $took[] = $after - $before;
                $admitted += $decision->allowed ? 1 : 0;
                if ($after >= $stop) {
                    break;
                }
            }
        } while ($after < $stop);
        return $admitted;
    };
}

/** The same with phpredis, on a persistent connection. */
function phpredis(Setup $setup): callable
{
    $redis = new Redis();
    $redis->pconnect('127.0.0.1', $setup->port);
    $sha = $redis->script('load', file_get_contents($setup->script));
    $keys = array_map(fn (int $number) => "$setup->prefix:limit:bench:{user:$number}", range(0, $setup->keys - 1));
    $argv = $setup->argv;
    $none = str_repeat("\0", 16);
    return function (int $stop, array &$took) use ($redis, $sha, $keys, $argv, $none): int {
        $admitted = 0;
        do {
            foreach ($keys as $key) {
                $before = hrtime(true);
                $reply = $redis->evalSha($sha, [$key, ...$argv], 1);
                $after = hrtime(true);
                $took[] = $after - $before;
                $admitted += substr($reply, 24, 16) === $none ? 1 : 0;
                if ($after >= $stop) {
                    break;
                }
            }
        } while ($after < $stop);
        return $admitted;
    };
}

ini_set('memory_limit', '1G');
$setup = new Setup(...json_decode($argv[1], true, flags: JSON_THROW_ON_ERROR));
$run = $setup->client === 'quotalock' ? quotalock($setup) : phpredis($setup);
$extension = $setup->client === 'quotalock' ? 'ratelimit' : 'redis';
$versions = sprintf('PHP %s, %s %s', PHP_VERSION, $extension, phpversion($extension));
echo json_encode(['versions' => $versions]), "\n";
while (($line = fgets(STDIN)) !== false) {
    $took = [];
    [$begun, $used] = [hrtime(true), cpu_us()];
    $admitted = $run($begun + (int) ((float) $line * 1e9), $took);
    [$seconds, $used] = [(hrtime(true) - $begun) / 1e9, cpu_us() - $used];
    sort($took);
    $calls = count($took);
    echo json_encode([
        'calls' => $calls,
        'admitted' => $admitted,
        'seconds' => $seconds,
        'cpu_us' => $used,
        'p50_us' => $took[intdiv($calls, 2)] / 1000,
        'p99_us' => $took[intdiv($calls * 99, 100)] / 1000,
    ]), "\n";
}
