<?php

// Does with quotalock in PHP what JSON lines on its input say. See workers.py for the protocol.

declare(strict_types=1);

namespace Quotalock\Tests\Harness;

use Quotalock\Client;
use Quotalock\Exception\QuotalockException;

require __DIR__ . '/handles.php';

/** Takes a result apart as the protocol has it; what is no decision stays as it is. */
function decision(mixed $result): mixed
{
    if (!is_object($result)) {
        return $result;
    }
    $shown = ['retry_after_ms' => $result->retryAfterMs, 'reset_after_ms' => $result->resetAfterMs];
    foreach (['allowed', 'limit', 'remaining', 'cost', 'source', 'healed'] as $name) {
        if (property_exists($result, $name)) {
            $shown[$name] = $result->$name;
        }
    }
    if (property_exists($result, 'rules')) {
        $shown['rules'] = array_map(decision(...), $result->rules);
    }
    return $shown;
}

/** One client and its limiters. */
final class Session
{
    private ?Client $client = null;
    private array $limiters = [];

    public function do(string $op, array $request): array
    {
        if ($op === 'load') {
            return $this->load(...$request);
        }
        if (str_contains($op, '.')) {
            return call($this->client, $op, ...$request, failure: $this->failure(...));
        }
        if ($op !== 'client') {
            return $this->call($op, ...$request);
        }
        [$timeout, $onError] = [$request['timeout_ms'], $request['on_error']];
        try {
            $this->client = new Client($request['url'], $request['prefix'], timeoutMs: $timeout, onError: $onError);
            $this->limiters = [];
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

    /** Makes one call and tells the times before and after it. */
    private function call(string $op, string $limiter, string $policy, string $key, mixed ...$arguments): array
    {
        if (isset($arguments['duration_ms'])) {
            $arguments = ['durationMs' => $arguments['duration_ms']];
        }
        $invoke = hrtime(true);
        try {
            $subject = $this->limiters["$limiter $policy"] ??= $this->client->limiter($limiter, $policy);
            $invoke = hrtime(true);
            $result = $subject->$op(hex2bin($key), ...$arguments);
        } catch (QuotalockException $error) {
            return ['invoke_ns' => $invoke, 'ok_ns' => hrtime(true)] + $this->failure($error);
        }
        return ['invoke_ns' => $invoke, 'ok_ns' => hrtime(true), 'result' => decision($result)];
    }

    /** Consumes what the mix offers at random, for a time or a number of calls, and writes the history to a file. */
    private function load(array $mix, float $seconds, int $calls, int $pause_us, int $seed, string $path): array
    {
        mt_srand($seed);
        $end = hrtime(true) + (int) ($seconds * 1e9);
        $history = [];
        for ($n = 0; $n < $calls && hrtime(true) < $end; $n++) {
            $entry = $mix[array_rand($mix)];
            $cost = $entry['costs'][array_rand($entry['costs'])];
            $answer = $this->call('consume', $entry['limiter'], $entry['policy'], $entry['key'], cost: $cost);
            unset($answer['shown']);
            $history[] = ['cost' => $cost] + $answer + $entry;
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
    unset($request['op'], $request['in_flight']);
    $flags = JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE;
    fwrite(STDOUT, json_encode($session->do($op, $request), $flags) . "\n");
}
