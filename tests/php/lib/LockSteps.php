<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use PHPUnit\Framework\Assert;
use Quotalock\Client;
use Quotalock\Inspection;
use Quotalock\Lock;
use Quotalock\Testing;

/** The steps of one vector about locks, with its handles. */
final class LockSteps
{
    /** @var array<string, Lock> by their labels */
    private array $handles;

    /** @var array<string, string> what was handed over, by labels */
    private array $texts = [];

    public function __construct(private readonly Client $client, private readonly array $case)
    {
        $this->handles = array_map(fn (array $given) => self::handle($client, $given), $case['handles']);
    }

    /** The handle that a vector describes. */
    public static function handle(Client $client, array $given): Lock
    {
        $method = camel($given['kind']);
        $given['ttlMs'] = intdiv($given['ttl'], 1000);
        if (isset($given['names_hex'])) {
            $given['names'] = array_map(hex2bin(...), $given['names_hex']);
        } elseif (!isset($given['names'])) {
            $given['name'] = Vectors::bytes($given, 'name');
        }
        $given = array_combine(array_map(camel(...), array_keys($given)), $given);
        $known = array_flip(['name', 'names', 'permits', 'weight', 'ttlMs', 'tokenAbove', 'label']);
        return $client->$method(...array_intersect_key($given, $known));
    }

    public function execute(): void
    {
        foreach ($this->case['steps'] as $i => $step) {
            Testing::setTime($this->client, $step['at']);
            if (isset($step['error'])) {
                refused($step['error'], fn () => $this->perform($step));
                continue;
            }
            $found = $this->perform($step);
            if (isset($step['expect'])) {
                Assert::assertSame(self::wanted($step['expect']), $found, "the answer of steps[$i]");
            }
        }
    }

    private function perform(array $step): ?array
    {
        if ($step['op'] === 'adopt') {
            $adopted = $this->client->adopt($this->texts[$step['text']], $step['name'] ?? null);
            $this->handles[$step['handle']] = $adopted;
            return ['adopted' => true];
        }
        $lock = $this->handles[$step['handle']];
        if ($step['op'] === 'handover') {
            $this->texts[$step['as']] = $lock->handover();
            return [];
        }
        return match ($step['op']) {
            'acquire' => ['acquired' => $lock->acquire()],
            'release' => ['released' => $lock->release()],
            'extend' => ['extended' => $lock->extend(isset($step['ttl']) ? intdiv($step['ttl'], 1000) : null)],
            'force_release' => ['count' => $lock->forceRelease()],
            'inspect' => self::seen($lock->inspect()),
            'state' => [
                'held' => $lock->held,
                'remaining' => $lock->remainingMs,
                'state' => $lock->state,
                'token' => $lock->token,
            ],
            'assert_held' => $lock->assertHeld() ?? [],
            'raise_floor' => $lock->raiseFloor($step['floor']),
            'redis_keys' => $this->redisKeys($lock, $step),
            'plant', 'persist', 'raw' => Vectors::raw($this->client, $lock->redisKeys[0], $step),
        };
    }

    private function redisKeys(Lock $lock, array $step): array
    {
        $behind = fn (string $key): string => substr($key, strlen("{$this->client->prefix}:"));
        $keys = array_map($behind, $lock->redisKeys);
        $asText = isset($step['expect']['redis_keys']);
        return $asText ? ['redis_keys' => $keys] : ['redis_keys_hex' => array_map(bin2hex(...), $keys)];
    }

    /** An inspection as a vector has it, but for times in milliseconds. */
    private static function seen(Inspection $seen): array
    {
        $holders = [];
        foreach ($seen->holders as $holder) {
            $holders[] = [
                'label' => $holder->label,
                'permits' => $holder->permits,
                'since' => $holder->sinceMs,
                'token' => $holder->token,
                'until' => $holder->untilMs,
            ];
        }
        return [
            'healed' => $seen->healed,
            'holders' => $holders,
            'token' => $seen->token,
            'waiters' => $seen->waiters,
        ];
    }

    /** What a vector expects, with times in milliseconds, of which all of them are whole. */
    private static function wanted(array $expect): array
    {
        foreach (['remaining', 'since', 'until'] as $name) {
            if (isset($expect[$name])) {
                Assert::assertSame(0, $expect[$name] % 1000, "what is left of the milliseconds of $name");
                $expect[$name] = intdiv($expect[$name], 1000);
            }
        }
        if (isset($expect['holders'])) {
            $expect['holders'] = array_map(self::wanted(...), $expect['holders']);
        }
        ksort($expect);
        return $expect;
    }
}
