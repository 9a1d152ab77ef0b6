<?php

// Does with quotalock in PHP what JSON lines on its input say. See workers.py for the protocol.

declare(strict_types=1);

namespace Quotalock\Tests\Harness;

use DomainException;
use Quotalock\Client;
use Quotalock\Exception\QuotalockException;

// How often a load makes a call that has a request id, and after which errors again.
const TRIES = 500;
const AGAIN = ['unavailable', 'timeout'];

/** Writes a line. */
function tell(int $lane, array $answer): void
{
    $flags = JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE;
    fwrite(STDOUT, json_encode(['lane' => $lane] + $answer, $flags) . "\n");
}

/** Sleeps until a moment of the monotonic clock. */
function until(int $ns): void
{
    usleep(intdiv(max(0, $ns - hrtime(true)), 1_000));
}

/** A name as PHP has it. */
function camel(string $name): string
{
    return lcfirst(str_replace('_', '', ucwords($name, '_')));
}

/** The bytes of what is given in hexadecimal, also in a list. */
function octets(mixed $value): mixed
{
    if (is_array($value) && array_is_list($value)) {
        return array_map(octets(...), $value);
    }
    return isset($value['hex']) ? hex2bin($value['hex']) : $value;
}

/** Arguments as PHP takes them. */
function taken(array $given): array
{
    return array_combine(array_map(camel(...), array_keys($given)), array_map(octets(...), $given));
}

/** An answer as the protocol has it. */
function shown(mixed $answer, string $name = 'value'): mixed
{
    if (is_array($answer)) {
        return array_map(fn (mixed $each) => shown($each, $name), $answer);
    }
    if (is_string($answer)) {
        return in_array($name, ['buyer', 'prizes', 'value'], true) ? bin2hex($answer) : $answer;
    }
    if (!is_object($answer)) {
        return $answer;
    }
    $shown = [];
    foreach (get_object_vars($answer) as $name => $value) {
        $shown[strtolower(preg_replace('/[A-Z]/', '_$0', $name))] = shown($value, $name);
    }
    return $shown;
}

/** These properties of a handle, with durations in milliseconds. */
function seen(object $handle, array $names): array
{
    return array_intersect_key(shown($handle), array_flip($names) + array_flip(array_map(
        fn (string $name) => "{$name}_ms",
        $names
    )));
}

/** What makes what it is told to make once it has taken its time, and counts how often. */
function loader(int $lane, array $how, int &$loads): \Closure
{
    return function () use ($lane, $how, &$loads): mixed {
        $end = hrtime(true) + ($how['takes_ms'] ?? 0) * 1_000_000;
        tell($lane, ['begun' => ['loads' => ++$loads, 'at_ns' => hrtime(true)]]);
        until($end);
        while (isset($how['until']) && !is_file($how['until'])) {
            usleep(2_000);
            clearstatcache();
        }
        if (isset($how['fails'])) {
            throw new DomainException($how['fails']);
        }
        return isset($how['json']) ? json_decode($how['json'], depth: 600, flags: JSON_THROW_ON_ERROR)
            : octets($how['value']);
    };
}

/** What tells the password in a file and marks that it was asked; what begins with a '!' it fails with. */
function teller(?string $path): ?\Closure
{
    return $path === null ? null : function () use ($path): string {
        file_put_contents("$path.asked", '?', FILE_APPEND);
        $text = file_get_contents($path);
        return str_starts_with($text, '!') ? throw new DomainException($text) : $text;
    };
}

/** One client and its handles. */
final class Session
{
    private ?Client $client = null;
    private array $handles = [];

    public function do(string $op, array $request): array
    {
        if ($op === 'load') {
            return $this->load(...$request);
        }
        if ($op !== 'client') {
            return $this->call($op, ...$request);
        }
        [$timeout, $onError] = [$request['timeout_ms'], $request['on_error']];
        try {
            $how = ['timeoutMs' => $timeout, 'onError' => $onError, 'password' => teller($request['password'])];
            $this->client = new Client($request['url'], $request['prefix'], ...$how);
            $this->handles = [];
        } catch (QuotalockException $error) {
            return $this->failure($error);
        }
        return ['result' => null];
    }

    /** Shows an error in every form in which a person may meet it. */
    private function failure(QuotalockException $error): array
    {
        $shown = "$error\n" . print_r($error, true) . print_r($this->client, true);
        [$code, $message] = [$error->getErrorCode(), $error->getMessage()];
        return ['error' => $code, 'class' => $error::class, 'message' => $message, 'shown' => $shown];
    }

    /** The handle of these options. */
    private function handle(string $kind, string|array $name, array $options): object
    {
        if ($kind === 'client') {
            return $this->client;
        }
        // Nobody renews in PHP.
        unset($options['renew']);
        $key = $this->key($kind, $name, $options);
        return $this->handles[$key] ??= $this->client->{camel($kind)}($name, ...taken($options));
    }

    /** By what a handle is found again. */
    private function key(string $kind, string|array $name, array $options): string
    {
        unset($options['renew']);
        return json_encode([$kind, $name, $options], JSON_THROW_ON_ERROR);
    }

    /** Makes one call and tells the times before and after it. */
    private function call(
        string $op,
        int $lane,
        string|array $name = '',
        array $options = [],
        array $arguments = [],
        int $at_ns = 0,
        array $look = [],
        bool $announce = false
    ): array {
        [$kind, $method] = explode('.', $op);
        $loads = 0;
        $invoke = hrtime(true);
        try {
            $adopts = $method === 'adopt';
            $handle = $adopts ? $this->client : $this->handle($kind, $name, $options);
            $given = taken($arguments);
            if ($adopts) {
                unset($given['renew']);
            }
            foreach (array_intersect(['load', 'function'], array_keys($given)) as $by) {
                $given[$by] = loader($lane, $arguments[$by], $loads);
            }
            foreach (array_intersect(['takes', 'reservations'], array_keys($given)) as $pairs) {
                $stock = fn (string $name) => $this->client->stock($name, ...taken($options));
                $given[$pairs] = array_map(fn (array $pair) => [$stock($pair[0]), $pair[1]], $given[$pairs]);
            }
            until($at_ns);
            $invoke = hrtime(true);
            if ($announce) {
                tell($lane, ['begun' => ['at_ns' => $invoke] + seen($handle, $look)]);
            }
            $result = $handle->{camel($method)}(...$given);
            if ($adopts) {
                $handle = $this->handles[$this->key($kind, $name, $options)] = $result;
                $result = true;
            }
            $answer = ['ok_ns' => hrtime(true)];
            $flags = JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION;
            $answer['result'] = match ($method) {
                'get_json' => json_encode($result, $flags),
                'handover' => $result,
                default => shown($result),
            };
            $answer += $look === [] ? [] : ['seen' => ['at_ns' => hrtime(true)] + seen($handle, $look)];
        } catch (DomainException $error) {
            $answer = ['ok_ns' => hrtime(true), 'error' => 'own', 'message' => $error->getMessage()];
        } catch (QuotalockException $error) {
            $answer = ['ok_ns' => hrtime(true)] + $this->failure($error);
        }
        return ['invoke_ns' => $invoke] + $answer + ['loads' => $loads];
    }

    /** Consumes what the mix offers at random, for a time or a number of calls, and writes the history to a file. */
    private function load(
        int $lane,
        array $mix,
        float $seconds,
        int $calls,
        int $in_flight,
        int $pause_us,
        int $seed,
        string $path
    ): array {
        mt_srand($seed);
        $end = hrtime(true) + (int) ($seconds * 1e9);
        $history = [];
        for ($n = 0; $n < $calls && hrtime(true) < $end && is_file($path); $n++) {
            clearstatcache();
            $entry = $mix[array_rand($mix)];
            $cost = $entry['costs'][array_rand($entry['costs'])];
            $given = ['key' => ['hex' => $entry['key']], 'cost' => $cost];
            $once = ($entry['once'] ?? false) ? ['request_id' => bin2hex(random_bytes(12))] : [];
            $options = array_intersect_key($entry, ['policy' => 0, 'prefetch' => 0]);
            for ($tries = $once === [] ? 1 : TRIES; $tries > 0; $tries--) {
                $answer = $this->call('limiter.consume', $lane, $entry['limiter'], $options, $given + $once);
                unset($answer['shown']);
                $history[] = ['cost' => $cost] + $once + $answer + $entry;
                if ($tries === 1 || !in_array($answer['error'] ?? '', AGAIN, true)) {
                    break;
                }
                usleep(20_000);
            }
            if ($pause_us > 0) {
                usleep(mt_rand(0, 2 * $pause_us));
            }
        }
        file_put_contents($path, array_map(fn (array $record) => json_encode($record) . "\n", $history));
        return ['result' => count($history)];
    }
}

ini_set('memory_limit', '1G');
$session = new Session();
while (($line = fgets(STDIN)) !== false) {
    $request = json_decode($line, true, flags: JSON_THROW_ON_ERROR);
    $op = $request['op'];
    unset($request['op']);
    tell($request['lane'], $session->do($op, $request));
}
