<?php

/**
 * What an adapter in PHP needs beside its library: the lines of docs/survive.md on stdin and stdout.
 *
 * An adapter is a class that extends `Adapter` with the methods that its library has, and `serve(ThatClass::class)`.
 */

declare(strict_types=1);

namespace Quotalock\Survive;

/** A library, reached by its public API. Whatever a method throws is told as an error. */
abstract class Adapter
{
    public const NAME = '';

    abstract public function __construct(string $url, float $timeout);

    abstract public static function version(): string;

    /** Whether the library says that it is still held; null if it cannot be asked. */
    public function held(object $lock): ?bool
    {
        return null;
    }

    /** The fencing token; null if there are none. */
    public function token(object $lock): ?int
    {
        return null;
    }
}

/** A connection of phpredis, with timeouts as an application should set them. */
function redis(string $url, float $timeout): \Redis
{
    $redis = new \Redis();
    $redis->connect(parse_url($url, PHP_URL_HOST), parse_url($url, PHP_URL_PORT), $timeout, null, 0, $timeout);
    return $redis;
}

/** Calls the function in so many processes beside this one, and answers what each returned, an integer. */
function children(int $count, \Closure $function): array
{
    $file = tempnam(sys_get_temp_dir(), 'survive-');
    for ($child = 0; $child < $count; $child++) {
        if (pcntl_fork() === 0) {
            file_put_contents($file, $function() . "\n", FILE_APPEND);
            posix_kill(getmypid(), SIGKILL); // Nothing of the parent is tidied up here.
        }
    }
    return [$file, $count];
}

/** The sums of what the children returned, each a list of integers with a space between. */
function sums(array $children): array
{
    [$file, $count] = $children;
    while (pcntl_wait($status) > 0) {
    }
    $lines = array_map(fn (string $line) => array_map(intval(...), explode(' ', $line)), file($file));
    unlink($file);
    count($lines) === $count || throw new \RuntimeException('a child ended before its time');
    return [array_sum(array_column($lines, 0)), array_sum(array_column($lines, 1))];
}

/** Reads in so many processes at once, each with a client of its own. */
function read(string $class, array $asked): array
{
    $one = function () use ($class, $asked): string {
        $loads = 0;
        $adapter = new $class(getenv('SURVIVE_URL'), (float) getenv('SURVIVE_TIMEOUT'));
        $adapter->read($asked['key'], 60, function () use (&$loads, $asked): string {
            $loads++;
            usleep($asked['load_ms'] * 1000);
            return 'value';
        });
        return (string) $loads;
    };
    return ['loads' => sums(children($asked['readers'], $one))[0]];
}

/** A child and its parent call at once: the child a key that is used up, the parent one that is not. */
function fork(Adapter $adapter, array $asked): array
{
    $calls = function (string $key, bool $right) use ($adapter, $asked): array {
        [$wrong, $errors] = [0, 0];
        for ($number = 0; $number < $asked['times']; $number++) {
            try {
                $id = getmypid() . "-$number";
                $wrong += (int) ($adapter->consume($key, $asked['limit'], $asked['seconds'], $id) !== $right);
            } catch (\Throwable) {
                $errors++;
            }
        }
        return [$wrong, $errors];
    };
    $child = children(1, fn () => implode(' ', $calls($asked['full'], false)));
    $ours = $calls($asked['open'], true);
    $theirs = sums($child);
    return ['wrong' => $ours[0] + $theirs[0], 'errors' => $ours[1] + $theirs[1]];
}

/** The answer to one line. */
function answered(Adapter $adapter, array $asked, array &$locks): array
{
    $name = $asked['name'] ?? '';
    switch ($asked['do']) {
        case 'hello':
            $features = ['limiter' => 'consume', 'lock' => 'acquire', 'cache' => 'read'];
            $does = array_keys(array_filter($features, fn (string $method) => method_exists($adapter, $method)));
            return ['name' => $adapter::NAME, 'version' => $adapter::version(), 'does' => $does, 'forks' => true];
        case 'consume':
            return ['ok' => $adapter->consume($asked['key'], $asked['limit'], $asked['seconds'], $asked['request'])];
        case 'acquire':
            $lock = $adapter->acquire($name, $asked['seconds']);
            if ($lock === null) {
                return ['ok' => false];
            }
            $locks[$name] = $lock;
            return ['ok' => true, 'token' => $adapter->token($lock)];
        case 'held':
            return ['told' => null, 'ok' => $adapter->held($locks[$name])];
        case 'release':
            return ['ok' => $adapter->release($locks[$name])];
        case 'read':
            return read($adapter::class, $asked);
        default:
            return fork($adapter, $asked);
    }
}

/** Answers line by line. */
function serve(string $class): void
{
    $adapter = new $class(getenv('SURVIVE_URL'), (float) getenv('SURVIVE_TIMEOUT'));
    $locks = [];
    while (($line = fgets(STDIN)) !== false) {
        try {
            $answer = answered($adapter, json_decode($line, true), $locks);
        } catch (\Throwable $error) {
            $cause = $error->getPrevious()?->getMessage();
            $answer = ['error' => $error::class . ": {$error->getMessage()} $cause"];
        }
        echo json_encode($answer), "\n";
    }
}
