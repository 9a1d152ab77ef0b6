<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Symfony;

use PHPUnit\Framework\TestCase;
use Quotalock\Tests\Frameworks\App;
use Quotalock\Tests\Frameworks\ProperAnswers;
use Quotalock\Tests\RedisServer;

/** The example application, asked over HTTP. */
final class AppTest extends TestCase
{
    use ProperAnswers;

    public function testALimiterOfTheFrameworkIsOurs(): void
    {
        $server = new RedisServer();
        [$app] = $this->start($server, 'raise');
        $ask = fn (string $user): int => $app->ask("/login?user=$user")[0];
        self::assertSame([200, 200, 429, 200], [$ask('ada'), $ask('ada'), $ask('ada'), $ask('bob')]);
        self::assertGreaterThan(50, (int) $app->ask('/login?user=ada')[1]['retry-after']);
        $spoilt = array_map($app->status(...), ['/login', '/login?user=', '/login?user[]=ada', '/login?user[a]=ada']);
        self::assertSame([400, 400, 400, 400], $spoilt);
        // Names like any other, which no user has.
        $odd = [str_repeat('u', 5000), '%ff', '%00'];
        $odd = array_map(fn (string $user): int => $app->status("/login?user=$user"), $odd);
        self::assertSame([200, 200, 200], $odd);
    }

    public function testWhatNoRouteHasIsLimited(): void
    {
        $server = new RedisServer();
        [$app] = $this->start($server, 'raise');
        $statuses = array_map(fn (int $round): int => $app->status("/api/nowhere/$round"), range(1, 6));
        self::assertSame([404, 404, 404, 429, 429, 429], $statuses);
    }

    public function testALockOfTheFrameworkIsOurs(): void
    {
        $server = new RedisServer();
        [$app] = $this->start($server, 'raise');
        self::assertSame(['locked' => true, 'again' => false], $app->ask('/report')[2]);
        // It was released when the request ended.
        self::assertSame(['locked' => true, 'again' => false], $app->ask('/report')[2]);
    }

    protected function example(): array
    {
        return ['symfony/public/index.php', '/api/hello'];
    }
}
