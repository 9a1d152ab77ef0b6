<?php

/**
 * The limiter of the incident, as many articles have it: SET NX EX, then DECR.
 *
 * phpredis throws what it cannot do, so unlike the original this does not fail open in silence.
 */

declare(strict_types=1);

namespace Quotalock\Survive;

require __DIR__ . '/kit.php';

final class Article extends Adapter
{
    public const NAME = 'SET NX EX, DECR';

    private \Redis $redis;

    public function __construct(string $url, float $timeout)
    {
        $this->redis = redis($url, $timeout);
    }

    public static function version(): string
    {
        return 'phpredis ' . phpversion('redis');
    }

    public function consume(string $key, int $limit, int $seconds, string $request): bool
    {
        $this->redis->set($key, $limit, ['nx', 'ex' => $seconds]);
        return $this->redis->decr($key) >= 0;
    }
}

serve(Article::class);
