<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Limiter;
use Quotalock\Rule;
use Quotalock\RuleDecision;
use Quotalock\Testing;

/** The vectors on one store. */
final class Vectors
{
    /** @var array<string, true> */
    private array $executed = [];

    /** @var array<string, array> */
    private array $cases = [];

    public function __construct(private readonly string $store, private readonly string $url)
    {
        foreach (glob(ROOT . '/tests/spec/vectors/*.json') as $path) {
            $file = json_decode((string) file_get_contents($path), true, flags: JSON_THROW_ON_ERROR);
            foreach ($file['cases'] as $case) {
                $this->cases[$case['id']] = $case;
            }
        }
    }

    /** @return array<string, array> the cases by their ids */
    public function cases(): array
    {
        return $this->cases;
    }

    public function execute(string $id, array $case): void
    {
        match (strstr($id, '/', true)) {
            'policies' => $this->policy($case),
            'keys' => $this->key($case),
            'errors' => $this->error($case),
            default => $this->steps($case),
        };
        $this->executed[$id] = true;
    }

    /** Writes down which ids were executed, and fails unless they are those of the files. */
    public function prove(): void
    {
        $ids = array_keys($this->executed);
        sort($ids);
        $folder = ROOT . '/target/vectors';
        is_dir($folder) || mkdir($folder, recursive: true);
        file_put_contents("$folder/php-$this->store.json", json_encode($ids, JSON_PRETTY_PRINT) . "\n");
        $wanted = array_keys($this->cases);
        sort($wanted);
        holds(count($wanted) > 100, 'that the vectors were found');
        same([], array_values(array_diff($wanted, $ids)), 'the vectors that did not pass');
    }

    private function policy(array $case): void
    {
        $client = new Client($this->url, 'policies');
        if (isset($case['code'])) {
            $this->fails($case, fn () => $client->limiter('n', $case['input']));
            return;
        }
        $limiter = $client->limiter('n', $case['input']);
        same($case['canonical'], $limiter->policy, 'the canonical form');
        same($case['canonical'], $client->limiter('n', $limiter->policy)->policy, 'the canonical form, parsed again');
        $rules = [];
        foreach ($case['rules'] as $rule) {
            $periodMs = self::ms($rule['period']);
            $rules[] = new Rule($rule['limit'], $periodMs, $rule['algorithm'], $rule['capacity'] ?? null);
        }
        same($case['canonical'], $client->limiter('n', $rules)->policy, 'the form of the rules as objects');
        foreach ($rules as $i => $each) {
            same($case['rules'][$i]['limit'], $each->limit, 'limit');
            same($case['rules'][$i]['period'], $each->periodMs * 1000, 'period');
            same($case['rules'][$i]['algorithm'], $each->algorithm, 'algorithm');
            same($case['rules'][$i]['capacity'] ?? $each->limit, $each->capacity, 'capacity');
        }
    }

    private function key(array $case): void
    {
        $inMemory = $this->store === 'memory';
        // A database of its own, so that one can see that nothing else was written.
        $client = new Client($this->url . ($inMemory ? '' : '/9'), $case['prefix']);
        [$key, $redisKey] = [self::bytes($case, 'key'), self::bytes($case, 'redis_key')];
        $limiter = $client->limiter($case['name'], '10/hour');
        same($redisKey, $limiter->redisKey($key), 'the Redis key');
        $limiter->reset($key);
        same(null, Testing::get($client, $redisKey), 'what stands there before');
        if (!$inMemory) {
            $redis = redis($this->url);
            $redis->select(9);
            $redis->flushDB();
        }
        same(9, $limiter->consume($key)->remaining, 'remaining');
        holds(Testing::get($client, $redisKey) !== null, 'that the Redis key exists');
        if (!$inMemory) {
            same([$redisKey], $redis->keys('*'), 'all keys');
        }
        $client->close();
    }

    private function error(array $case): void
    {
        $args = $case['args'];
        foreach (['timeout' => 'timeoutMs', 'duration' => 'durationMs', 'on_error' => 'onError'] as $name => $ours) {
            if (array_key_exists($name, $args)) {
                $args[$ours] = $name === 'on_error' ? $args[$name] : intdiv($args[$name], 1000);
                unset($args[$name]);
            }
        }
        $client = fn (): Client => new Client($this->url, prefix());
        $limiter = fn (): Limiter => $client()->limiter('limiter', '10/minute');
        $this->fails($case, match ($case['op']) {
            'client' => fn () => new Client(...$args + ['url' => 'memory://']),
            'limiter' => fn () => $client()->limiter(...$args + ['name' => 'limiter', 'policy' => '10/minute']),
            default => fn () => $limiter()->{$case['op']}(...$args + ['key' => 'k']),
        });
    }

    private function steps(array $case): void
    {
        $client = new Client($this->url, prefix());
        $limiter = $client->limiter($case['id'], $case['policy']);
        foreach ($case['steps'] as $i => $step) {
            Testing::setTime($client, $step['at']);
            $key = self::bytes($step, 'key');
            if (isset($step['error'])) {
                $this->fails($step['error'], fn () => $this->step($client, $limiter, $key, $step));
                continue;
            }
            $found = $this->step($client, $limiter, $key, $step);
            if (isset($step['expect'])) {
                same(self::wanted($step['expect']), $found, "the answer of steps[$i]");
            }
        }
        $client->close();
    }

    private function step(Client $client, Limiter $limiter, string $key, array $step): mixed
    {
        $redisKey = $limiter->redisKey($key);
        $bytes = fn () => isset($step['type']) ? '' : self::bytes($step, 'value');
        $decision = match ($step['op']) {
            'consume' => $limiter->consume($key, $step['cost']),
            'peek' => $limiter->peek($key, $step['cost']),
            'refund' => $limiter->refund($key, $step['amount']),
            'block' => $limiter->block($key, self::ms($step['duration'])),
            'reset' => ['existed' => $limiter->reset($key)],
            'plant' => Testing::put($client, $redisKey, $step['type'] ?? 'string', $bytes()),
            'persist' => Testing::put($client, $redisKey, 'persist', ''),
            'raw' => Testing::get($client, $redisKey) ?? ['exists' => false],
        };
        if ($step['op'] === 'raw') {
            return ['exists' => isset($decision['value']), 'ttl' => isset($decision['ttlMs'])];
        }
        if (!is_object($decision)) {
            return $decision;
        }
        same($this->store === 'memory' ? 'memory' : 'redis', $decision->source, 'source');
        $found = get_object_vars($decision);
        unset($found['source']);
        $found['rules'] = array_map(fn (RuleDecision $rule) => self::ordered(get_object_vars($rule)), $found['rules']);
        return self::ordered($found);
    }

    /** What a vector expects, as PHP shows it. */
    private static function wanted(array $expect): array
    {
        $wanted = [];
        foreach ($expect as $name => $value) {
            match ($name) {
                'retry_after' => $wanted['retryAfterMs'] = $value === null ? null : self::ms($value),
                'reset_after' => $wanted['resetAfterMs'] = self::ms($value),
                'rules' => $wanted['rules'] = array_map(self::wanted(...), $value),
                default => $wanted[$name] = $value,
            };
        }
        return self::ordered($wanted);
    }

    /** The fields in an order that is the same for both. */
    private static function ordered(array $fields): array
    {
        ksort($fields);
        return $fields;
    }

    /** Fails unless it is refused as the case says, and no form of the error shows what it must not. */
    private function fails(array $case, \Closure $run): void
    {
        $error = refused($case['code'], $run);
        foreach ($case['contains'] as $part) {
            contains($part, $error->getMessage());
        }
        foreach ($case['never'] ?? [] as $part) {
            lacks($part, $error->getMessage() . print_r($error, true) . $error);
        }
    }

    private static function bytes(array $case, string $name): string
    {
        return isset($case["{$name}_hex"]) ? (string) hex2bin($case["{$name}_hex"]) : $case[$name];
    }

    private static function ms(int $micros): int
    {
        return intdiv($micros + 999, 1000);
    }
}
