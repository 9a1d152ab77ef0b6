<?php

/** What tests need of the world outside. */

declare(strict_types=1);

namespace Quotalock\Tests;

use PHPUnit\Framework\Assert;
use PHPUnit\Framework\AssertionFailedError;
use Quotalock\Client;
use Quotalock\Exception\QuotalockException;
use Quotalock\Lock;

/** A name of the vectors and of api.json as PHP writes it. */
function camel(string $name): string
{
    return lcfirst(str_replace('_', '', ucwords($name, '_')));
}

/** Runs what should throw an exception of exactly this class, and returns that. */
function thrown(string $class, \Closure $run): \Throwable
{
    try {
        $run();
    } catch (\Throwable $found) {
        Assert::assertSame($class, $found::class, "what was thrown: $found");
        return $found;
    }
    Assert::fail("$class should be thrown, and nothing was");
}

/** Runs what should fail with this code, and returns the exception. */
function refused(string $code, \Closure $run): QuotalockException
{
    try {
        $run();
    } catch (QuotalockException $found) {
        Assert::assertSame($code, $found->getErrorCode(), "the code of \"{$found->getMessage()}\"");
        return $found;
    }
    Assert::fail("an error $code should be thrown, and nothing was");
}

/**
 * The servers of the tests, by name.
 *
 * @return array<string, string>
 */
function servers(): array
{
    $servers = json_decode((string) getenv('QUOTALOCK_TEST_SERVERS'), true);
    if (!is_array($servers) || $servers === []) {
        throw new AssertionFailedError('QUOTALOCK_TEST_SERVERS names no server: run tests/harness/with_servers.py');
    }
    return $servers;
}

/**
 * The clusters of the tests, by name.
 *
 * @return array<string, string>
 */
function clusters(): array
{
    $clusters = json_decode((string) getenv('QUOTALOCK_TEST_CLUSTERS'), true);
    if (!is_array($clusters) || count($clusters) !== (getenv('QUOTALOCK_TEST_ONLY') === false ? 2 : 0)) {
        throw new AssertionFailedError('QUOTALOCK_TEST_CLUSTERS lacks a cluster: run tests/harness/with_servers.py');
    }
    return $clusters;
}

/** The URL of Redis 7.0, for tests that need just one server. */
function server(): string
{
    return servers()['redis-7.0'] ?? throw new AssertionFailedError('QUOTALOCK_TEST_SERVERS lacks redis-7.0');
}

/** A prefix that nobody else has, and with it a client of one's own. */
function prefix(): string
{
    return 't' . bin2hex(random_bytes(6));
}

/** A client that shares nothing with other tests. */
function client(string $url = 'memory://', ?int $timeoutMs = null, ?string $onError = null): Client
{
    return new Client($url, prefix(), $timeoutMs, $onError);
}

/** A connection of phpredis, for the tests of frameworks, whose own stores need one. */
function redis(string $url): \Redis
{
    $redis = new \Redis();
    $redis->connect((string) parse_url($url, PHP_URL_HOST), (int) parse_url($url, PHP_URL_PORT), 5.0);
    return $redis;
}

/** The extension under test. */
function extension(): string
{
    return getenv('QUOTALOCK_PHP_EXTENSION') ?: realpath(ROOT . '/bindings-php/modules/ratelimit.so');
}

/**
 * Runs PHP code, or a file, or only options, in a process of its own and returns what it wrote, errors included, and
 * how it ended.
 *
 * @param list<string> $options of the command line
 * @param array<string, string> $environment beside this process' own
 * @return array{string, int}
 */
function php(?string $code, array $options = [], array $environment = []): array
{
    $command = [PHP_BINARY, '-d', 'extension=' . extension(), '-d', 'display_errors=1', ...$options];
    if ($code !== null) {
        $command = [...$command, ...(is_file($code) ? [$code] : ['-r', $code])];
    }
    $inherited = array_diff_key(getenv(), ['QUOTALOCK_URL' => 1]);
    $pipes = [];
    $streams = [1 => ['pipe', 'w'], 2 => ['redirect', 1]];
    $process = proc_open($command, $streams, $pipes, null, $environment + $inherited);
    $output = (string) stream_get_contents($pipes[1]);
    return [$output, proc_close($process)];
}

/** Runs a closure in a forked child and returns what it returned; it travels as JSON. */
function forked(\Closure $run): \Closure
{
    [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $child = pcntl_fork();
    if ($child === 0) {
        try {
            $answer = ['result' => $run()];
        } catch (\Throwable $problem) {
            $answer = ['problem' => (string) $problem];
        }
        fwrite($theirs, json_encode($answer, JSON_THROW_ON_ERROR));
        fclose($theirs);
        exit(0);
    }
    fclose($theirs);
    return function () use ($ours, $child): mixed {
        $text = (string) stream_get_contents($ours);
        pcntl_waitpid($child, $status);
        $answer = json_decode($text, true) ?? ['problem' => "the child wrote \"$text\""];
        Assert::assertSame(0, pcntl_wexitstatus($status), "the child's exit code");
        return isset($answer['problem']) ? throw new AssertionFailedError($answer['problem']) : $answer['result'];
    };
}

/**
 * A port on which nobody listens, below those that the system gives to outgoing connections. It stays reserved while
 * this process lives, so that a server which is down finds its port free when it starts again.
 */
function freePort(): int
{
    static $reservations = [];
    do {
        $port = random_int(20_000, 29_999);
        // A name that one process at a time can have, among the tests of Node too.
        $reservation = @stream_socket_server("unix://\0quotalock-port-$port");
    } while ($reservation === false || listens($port));
    $reservations[] = $reservation;
    return $port;
}

/**
 * Starts a server on a free port, and returns the port.
 *
 * @param \Closure(int): bool $launch whether it has started there: by its own word, since another process may have
 *   taken the port meanwhile, and would answer
 * @param \Closure(): string $log what it says
 */
function onFreePort(\Closure $launch, \Closure $log): int
{
    for ($try = 0; $try < 5; $try++) {
        $port = freePort();
        if ($launch($port)) {
            return $port;
        }
    }
    Assert::fail($log());
}

/** Whether anybody accepts connections there. */
function listens(int $port): bool
{
    try {
        return fclose(stream_socket_client("tcp://127.0.0.1:$port", timeout: 1.0));
    } catch (\ErrorException) {
        return false;
    }
}

/** Waits for something that is about to happen, and fails with a reason if it doesn't within ten seconds. */
function eventually(\Closure $happened, \Closure $reason): void
{
    $until = hrtime(true) + 10_000_000_000;
    while (!$happened()) {
        if (hrtime(true) > $until) {
            throw new AssertionFailedError("what was waited for did not happen: {$reason()}");
        }
        usleep(2_000);
    }
}

/** Waits until so many wait for a lock. */
function waiters(Lock $lock, int $count): void
{
    eventually(fn () => $lock->inspect()->waiters === $count, fn () => "{$lock->inspect()->waiters} wait");
}

/** Whether somebody could have the lock; nobody has it afterwards. */
function isFree(Client $client, string $name): bool
{
    $lock = $client->lock($name);
    return $lock->acquire() && $lock->release();
}

/** Runs it and returns how many milliseconds it took. */
function elapsed(\Closure $run): float
{
    $start = hrtime(true);
    $run();
    return (hrtime(true) - $start) / 1e6;
}

/** A loader that must not be called. */
function never(): string
{
    throw new AssertionFailedError('it was loaded');
}

/**
 * Runs it and returns how late, in milliseconds, the machine woke a sleeper meanwhile at worst, so that a busy machine
 * is not taken for a slow library.
 */
function stalls(\Closure $run): float
{
    [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $watch = forked(function () use ($ours, $theirs): float {
        fclose($ours);
        $worst = 0.0;
        do {
            $before = hrtime(true);
            [$read, $none] = [[$theirs], null];
            // It ends when the other side hangs up.
            $over = stream_select($read, $none, $none, 0, 10_000);
            $worst = max($worst, (hrtime(true) - $before) / 1e6 - 10);
        } while ($over === 0);
        return $worst;
    });
    fclose($theirs);
    try {
        $run();
    } finally {
        fclose($ours);
        $worst = $watch();
    }
    return $worst;
}

/** The lines of a pool: its process manager, and the settings as an administrator gives them. */
function pool(RedisServer $server, string ...$manager): array
{
    return [
        ...$manager,
        "php_admin_value[ratelimit.url] = {$server->url()}",
        'php_value[ratelimit.prefix] = pool',
    ];
}
