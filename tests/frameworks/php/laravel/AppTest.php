<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Laravel;

use PHPUnit\Framework\TestCase;
use Quotalock\Tests\Frameworks\ProperAnswers;
use Quotalock\Tests\RedisServer;

/** The example application, asked over HTTP. */
final class AppTest extends TestCase
{
    use ProperAnswers;

    public function testThrottleWithNumbersIsOurs(): void
    {
        $server = new RedisServer();
        [$app] = $this->start($server, 'raise');
        $ask = fn (): array => $app->ask('/login');
        self::assertSame([200, 200], [$ask()[0], $ask()[0]]);
        [$status, $headers] = $ask();
        self::assertSame(429, $status);
        self::assertSame(['2', '0'], [$headers['x-ratelimit-limit'], $headers['x-ratelimit-remaining']]);
        self::assertEqualsWithDelta(time() + 60, (int) $headers['x-ratelimit-reset'], 10);
        self::assertGreaterThan(50, (int) $headers['retry-after']);
    }

    public function testALockIsOursAndIsPassedOn(): void
    {
        $server = new RedisServer();
        [$app] = $this->start($server, 'raise');
        self::assertSame(['locked' => true, 'again' => false], $app->ask('/report')[2]);
        $owner = $app->ask('/take')[2]['owner'];
        self::assertSame([true, false], [
            $app->ask("/finish?owner=$owner")[2]['released'],
            $app->ask("/finish?owner=$owner")[2]['released'],
        ]);
    }

    public function testTheCacheIsOurs(): void
    {
        $server = new RedisServer();
        [$app] = $this->start($server, 'raise');
        self::assertSame($app->ask('/cache')[2], $app->ask('/cache')[2]);
    }

    protected function example(): array
    {
        return ['laravel/public/index.php', '/api/hello'];
    }
}
