<?php

// Calls of stocks, onces and caches in PHP. The protocol is in workers.py.

declare(strict_types=1);

namespace Quotalock\Tests\Harness;

use Closure;
use DomainException;
use Quotalock\Client;
use Quotalock\Exception\QuotalockException;

/** Makes what it is told to make, once the file is there that it is to wait for, and counts how often. */
final class Loader
{
    public int $loads = 0;

    public function __construct(private readonly array $how)
    {
    }

    public function load(): mixed
    {
        $this->loads++;
        while (isset($this->how['until']) && !is_file($this->how['until'])) {
            usleep(2_000);
            clearstatcache();
        }
        if (isset($this->how['fails'])) {
            throw new DomainException($this->how['fails']);
        }
        return isset($this->how['json']) ? json_decode($this->how['json'], depth: 600, flags: JSON_THROW_ON_ERROR)
            : octets($this->how['value']);
    }
}

/** The bytes of hexadecimal digits. */
function octets(?string $value): ?string
{
    return $value === null ? null : hex2bin($value);
}

/** A name as PHP has it. */
function camel(string $name): string
{
    return lcfirst(str_replace('_', '', ucwords($name, '_')));
}

/** Arguments as PHP takes them. */
function taken(array $given): array
{
    $taken = [];
    foreach ($given as $name => $value) {
        $taken[camel($name)] = match ($name) {
            'key', 'buyer', 'value', 'request_id' => octets($value),
            'prizes' => array_map(octets(...), $value),
            default => $value,
        };
    }
    return $taken;
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

/** Makes one call and tells the times before and after it. */
function call(
    Client $client,
    string $op,
    string $name,
    array $options,
    array $arguments,
    Closure $failure
): array {
    [$kind, $method] = explode('.', $op);
    $given = taken($arguments);
    $loader = new Loader($given['load'] ?? []);
    if (isset($given['load'])) {
        $given['load'] = $loader->load(...);
    }
    if ($kind === 'once') {
        $renamed = ['key' => 'id', 'load' => 'function'];
        $given = array_combine(array_map(fn (string $name) => $renamed[$name] ?? $name, array_keys($given)), $given);
    }
    foreach (array_intersect(['takes', 'reservations'], array_keys($given)) as $pairs) {
        $given[$pairs] = array_map(
            fn (array $pair) => [$client->stock($pair[0], ...taken($options)), $pair[1]],
            $given[$pairs]
        );
    }
    $handle = $kind === 'client' ? $client : $client->$kind($name, ...taken($options));
    $answer = ['invoke_ns' => hrtime(true)];
    try {
        $result = $handle->{camel($method)}(...$given);
        $flags = JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION;
        $answer['result'] = $method === 'get_json' ? json_encode($result, $flags) : shown($result);
    } catch (DomainException $error) {
        $answer += ['error' => 'own', 'message' => $error->getMessage()];
    } catch (QuotalockException $error) {
        $answer += $failure($error);
    }
    return $answer + ['ok_ns' => hrtime(true), 'loads' => $loader->loads];
}
