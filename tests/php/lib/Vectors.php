<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use PHPUnit\Framework\Assert;
use Quotalock\Client;
use Quotalock\Limiter;
use Quotalock\Rule;
use Quotalock\Testing;

use function Quotalock\client_address;

/** The vectors on one store. */
final class Vectors
{
    /** What vectors give in microseconds. */
    private const DURATIONS = ['timeout', 'duration', 'ttl', 'request_memory'];

    /** @var array<string, array> what the files hold, once they were read */
    private static array $cases = [];

    public function __construct(private readonly string $store, private readonly string $url)
    {
    }

    /** @return array<string, array> the cases of all files by their ids */
    public static function cases(): array
    {
        foreach (self::$cases === [] ? glob(ROOT . '/tests/spec/vectors/*.json') : [] as $path) {
            $file = json_decode((string) file_get_contents($path), true, flags: JSON_THROW_ON_ERROR);
            foreach ($file['cases'] as $case) {
                self::$cases[$case['id']] = $case;
            }
        }
        return self::$cases;
    }

    public function execute(string $id): void
    {
        $case = self::cases()[$id];
        match (strstr($id, '/', true)) {
            'policies' => $this->policy($case),
            'keys' => $this->key($case),
            'errors' => $this->error($case),
            'addresses' => self::address($case),
            'answers' => $this->answerSteps($case),
            'locks' => $this->lockSteps($case),
            'lock-errors' => $this->lockError($case),
            'cache', 'once' => $this->cacheSteps($case),
            'cache-errors' => $this->cacheError($case),
            'stock' => $this->stockSteps($case),
            'stock-errors' => $this->stockError($case),
            default => $this->steps($case),
        };
    }

    private function policy(array $case): void
    {
        $client = new Client($this->url, 'policies');
        if (isset($case['code'])) {
            self::fails($case, fn () => $client->limiter('n', $case['input']));
            return;
        }
        $limiter = $client->limiter('n', $case['input']);
        Assert::assertSame($case['canonical'], $limiter->policy, 'the canonical form');
        Assert::assertSame(
            $case['canonical'],
            $client->limiter('n', $limiter->policy)->policy,
            'the canonical form, parsed again'
        );
        $rules = [];
        foreach ($case['rules'] as $rule) {
            $periodMs = self::ms($rule['period']);
            $rules[] = new Rule($rule['limit'], $periodMs, $rule['algorithm'], $rule['capacity'] ?? null);
        }
        Assert::assertSame(
            $case['canonical'],
            $client->limiter('n', $rules)->policy,
            'the form of the rules as objects'
        );
        foreach ($rules as $i => $each) {
            Assert::assertSame($case['rules'][$i]['limit'], $each->limit, 'limit');
            Assert::assertSame($case['rules'][$i]['period'], $each->periodMs * 1000, 'period');
            Assert::assertSame($case['rules'][$i]['algorithm'], $each->algorithm, 'algorithm');
            Assert::assertSame($case['rules'][$i]['capacity'] ?? $each->limit, $each->capacity, 'capacity');
        }
    }

    private function key(array $case): void
    {
        // A database of its own, so that one can see that nothing else was written; a cluster has only one.
        $isAlone = str_starts_with($this->url, 'redis://');
        $client = new Client($this->url . ($isAlone ? '/9' : ''), $case['prefix']);
        [$key, $redisKey] = [self::bytes($case, 'key'), self::bytes($case, 'redis_key')];
        $limiter = $client->limiter($case['name'], '10/hour', self::bytes($case, 'scope'));
        Assert::assertSame($redisKey, $limiter->redisKey($key), 'the Redis key');
        $limiter->reset($key);
        Assert::assertSame(null, Testing::get($client, $redisKey), 'what stands there before');
        if ($isAlone) {
            $redis = new Connection($this->url);
            $redis->select(9);
            $redis->flushDB();
        }
        Assert::assertSame(9, $limiter->consume($key)->remaining, 'remaining');
        Assert::assertTrue(Testing::get($client, $redisKey) !== null, 'that the Redis key exists');
        if ($isAlone) {
            Assert::assertSame([$redisKey], $redis->keys('*'), 'all keys');
        }
        $limiter->reset($key);
        $client->close();
    }

    private function error(array $case): void
    {
        $args = self::arguments($case['args']);
        $client = fn (): Client => new Client($this->url, prefix());
        $limiter = fn (): Limiter => $client()->limiter('limiter', '10/minute');
        $reservation = str_repeat('0123456789abcdef', 2);
        // What is left out is good.
        $good = ['key' => 'k'] + match ($case['op']) {
            'consume_up_to' => ['most' => 1],
            'reserve' => ['estimate' => 1, 'ttlMs' => 1000],
            'reservation' => ['id' => $reservation],
            'refund' => ['amount' => 1],
            'block' => ['durationMs' => 1000],
            'wait' => ['timeoutMs' => 0],
            default => [],
        };
        $run = match ($case['op']) {
            'client' => fn () => new Client(...$args + ['url' => 'memory://']),
            'limiter' => fn () => $client()->limiter(...$args + ['name' => 'limiter', 'policy' => '10/minute']),
            'consume_all' => function () use ($client, $args) {
                $client = $client();
                $limiter = $client->limiter('limiter', '10/minute');
                $args['charges'] = array_map(fn (array $charge) => [$limiter, ...$charge], $args['charges']);
                $client->consumeAll(...$args);
            },
            'settle' => function () use ($limiter, $reservation, $args) {
                $limiter()->reservation($args['key'] ?? 'k', $reservation)->settle($args['actual'] ?? 1);
            },
            default => fn () => $limiter()->{camel($case['op'])}(...$args + $good),
        };
        self::fails($case, $run);
    }

    /** The arguments of a case by their names in PHP. */
    private static function arguments(array $args): array
    {
        $arguments = [];
        foreach ($args as $name => $value) {
            match (true) {
                $name === 'request' => $arguments['requestId'] = $value,
                in_array($name, self::DURATIONS, true) => $arguments[camel($name) . 'Ms'] = intdiv($value, 1000),
                default => $arguments[camel($name)] = $value,
            };
        }
        return $arguments;
    }

    private function steps(array $case): void
    {
        $client = new Client($this->url, prefix());
        (new Steps($client, $case, $this->store === 'memory' ? 'memory' : 'redis'))->execute();
        $client->close();
    }

    private static function address(array $case): void
    {
        $arguments = [$case['peer'], $case['forwarded'], $case['trusted'], $case['ipv6_prefix'] ?? 64];
        if (isset($case['code'])) {
            self::fails($case, fn () => client_address(...$arguments));
            return;
        }
        Assert::assertSame($case['expect'], client_address(...$arguments), 'the address');
    }

    private function answerSteps(array $case): void
    {
        // With `away`, where no server is.
        [$url, $onError] = isset($case['away']) ? ['redis://127.0.0.1:1', $case['away']] : [$this->url, 'raise'];
        $client = new Client($url, prefix(), onError: $onError);
        (new AnswerSteps($client, $case))->execute();
        $client->close();
    }

    private function lockSteps(array $case): void
    {
        $client = new Client($this->url, prefix());
        (new LockSteps($client, $case))->execute();
        $client->close();
    }

    private function lockError(array $case): void
    {
        $client = new Client($this->url, prefix());
        refused($case['error'], fn () => LockSteps::handle($client, $case['handle']));
    }

    private function cacheSteps(array $case): void
    {
        $client = new Client($this->url, prefix());
        (new CacheSteps($client, $case))->execute();
        $client->close();
    }

    private function cacheError(array $case): void
    {
        $client = new Client($this->url, prefix());
        self::fails($case, fn () => CacheSteps::refused($client, $case));
        $client->close();
    }

    private function stockSteps(array $case): void
    {
        $client = new Client($this->url, prefix());
        (new StockSteps($client, $case))->execute();
        $client->close();
    }

    private function stockError(array $case): void
    {
        $client = new Client($this->url, prefix());
        self::fails($case, fn () => StockSteps::refused($client, $case));
        $client->close();
    }

    /** Fails unless it is refused as the case says, and no form of the error shows what it must not. */
    public static function fails(array $case, \Closure $run): void
    {
        $error = refused($case['code'], $run);
        foreach ($case['contains'] ?? [] as $part) {
            Assert::assertStringContainsString($part, $error->getMessage());
        }
        foreach ($case['never'] ?? [] as $part) {
            Assert::assertStringNotContainsString($part, $error->getMessage() . print_r($error, true) . $error);
        }
    }

    /** A step about what stands at a Redis key; for `raw` what is there, else nothing. */
    public static function raw(Client $client, string $redisKey, array $step): ?array
    {
        if ($step['op'] === 'raw') {
            $found = Testing::get($client, $redisKey);
            return ['exists' => $found !== null, 'ttl' => isset($found['ttlMs'])];
        }
        $kind = $step['op'] === 'persist' ? 'persist' : $step['type'] ?? 'string';
        Testing::put($client, $redisKey, $kind, self::bytes($step, 'value') ?? 'x');
        return null;
    }

    /** What is given as text or in hexadecimal; null if neither is. */
    public static function bytes(array $case, string $name): ?string
    {
        return isset($case["{$name}_hex"]) ? (string) hex2bin($case["{$name}_hex"]) : $case[$name] ?? null;
    }

    /** Microseconds as PHP shows them. */
    public static function ms(int $micros): int
    {
        return intdiv($micros + 999, 1000);
    }
}
