<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks;

use PHPUnit\Framework\Assert;
use Quotalock\Tests\RedisServer;

use function Quotalock\Tests\eventually;

/** What each example answers at a path that admits three requests in ten seconds, and a hundred in an hour. */
trait ProperAnswers
{
    /** The example's first file, and the path. */
    abstract protected function example(): array;

    public function testItAnswersDenialsProperlyAndRecovers(): void
    {
        $server = new RedisServer();
        [$app, $path] = $this->start($server, 'raise');
        foreach ([2, 1, 0] as $remaining) {
            [$status, $headers] = $app->ask($path);
            Assert::assertSame(200, $status);
            $policy = '"api:3/10 seconds";q=3;w=10, "api:100/hour";q=100;w=3600';
            Assert::assertSame($policy, $headers['ratelimit-policy']);
            Assert::assertStringContainsString("\"api:3/10 seconds\";r=$remaining;t=", $headers['ratelimit']);
            Assert::assertArrayNotHasKey('retry-after', $headers);
        }
        [$status, $headers, $body] = $app->ask($path);
        Assert::assertSame(429, $status);
        Assert::assertContains((int) $headers['retry-after'], range(1, 10));
        Assert::assertStringContainsString('"api:3/10 seconds";r=0;t=', $headers['ratelimit']);
        Assert::assertStringStartsWith('application/problem+json', $headers['content-type']);
        Assert::assertSame(429, $body['status']);
        Assert::assertStringContainsString('quota-exceeded', $body['type']);
        Assert::assertSame(['api:3/10 seconds'], $body['violated-policies']);
        // Whoever waits as they were told is admitted.
        sleep((int) $headers['retry-after']);
        Assert::assertSame(200, $app->ask($path)[0]);
    }

    /** @return array<string, array{string, int}> */
    public static function policies(): array
    {
        return [
            'raise' => ['raise', 500],
            'open' => ['open', 200],
            'closed' => ['closed', 503],
            'local' => ['local', 200],
        ];
    }

    /** @dataProvider policies */
    public function testWithoutRedisItDoesAsItsPolicySays(string $onError, int $expected): void
    {
        $server = new RedisServer();
        [$app, $path] = $this->start($server, $onError);
        Assert::assertSame(200, $app->ask($path)[0]);
        $server->kill();
        [$status, $headers, $body] = $onError === 'raise' ? [$app->status($path), [], []] : $app->ask($path);
        Assert::assertSame($expected, $status, $app->log());
        if ($onError === 'closed') {
            Assert::assertStringStartsWith('application/problem+json', $headers['content-type']);
            Assert::assertStringContainsString('temporary-reduced-capacity', $body['type']);
            Assert::assertGreaterThanOrEqual(1, (int) $headers['retry-after']);
        }
        $server->start();
        eventually(fn () => $app->status($path) === 200, $app->log(...));
    }

    /** @return array{App, string} */
    private function start(RedisServer $server, string $onError): array
    {
        [$index, $path] = $this->example();
        $settings = ['QUOTALOCK_URL' => $server->url(), 'QUOTALOCK_PREFIX' => 'app', 'QUOTALOCK_ON_ERROR' => $onError];
        return [new App($index, $settings), $path];
    }
}
