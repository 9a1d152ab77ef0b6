<?php

/** Quotalock in PHP. */

declare(strict_types=1);

namespace Quotalock\Survive;

use Quotalock\Client;
use Quotalock\Lock;
use Quotalock\Rule;

require __DIR__ . '/kit.php';

final class Quotalock extends Adapter
{
    public const NAME = 'Quotalock (PHP)';

    private Client $client;

    public function __construct(string $url, float $timeout)
    {
        $this->client = new Client($url, timeoutMs: (int) ($timeout * 1000));
    }

    public static function version(): string
    {
        return phpversion('ratelimit');
    }

    public function consume(string $key, int $limit, int $seconds, string $request): bool
    {
        $limiter = $this->client->limiter('survive', new Rule($limit, $seconds * 1000));
        return $limiter->consume($key, requestId: $request)->allowed;
    }

    public function acquire(string $name, float $seconds): ?Lock
    {
        $lock = $this->client->lock($name, ttlMs: (int) ($seconds * 1000));
        return $lock->acquire() ? $lock : null;
    }

    public function token(object $lock): ?int
    {
        return $lock->token;
    }

    public function held(object $lock): bool
    {
        return $lock->held;
    }

    public function release(object $lock): bool
    {
        return $lock->release();
    }

    public function read(string $key, int $seconds, \Closure $load): string
    {
        return $this->client->cache('pages', freshMs: $seconds * 1000)->get($key, $load);
    }
}

serve(Quotalock::class);
