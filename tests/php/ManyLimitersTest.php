<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;

/** Limiters that are made of what users send: not too many are kept, and that is warned of once. */
final class ManyLimitersTest extends TestCase
{
    /** @return list<array{int, string}> what PHP warned of meanwhile */
    private static function warnings(\Closure $run): array
    {
        $found = [];
        set_error_handler(function (int $level, string $message) use (&$found): bool {
            $found[] = [$level, $message];
            return true;
        });
        try {
            $run();
        } finally {
            restore_error_handler();
        }
        return $found;
    }

    public function testAClientKeeps1024LimitersAndWarnsOnce(): void
    {
        $client = new Client('memory://many');
        $found = self::warnings(function () use ($client): void {
            for ($number = 0; $number < 4_000; $number++) {
                self::assertSame(4, $client->limiter("/users/$number", '5/hour')->consume('k')->remaining);
            }
            self::assertSame(3, $client->limiter('/users/0', '5/hour')->consume('k')->remaining);
        });
        self::assertCount(1, $found);
        self::assertSame(E_USER_WARNING, $found[0][0]);
        self::assertStringContainsString('more than 1024 limiters', $found[0][1]);
        self::assertStringContainsString('/users/1024', $found[0][1]);
    }

    public function testSoDoesTheOneLineAndChargesOnce(): void
    {
        ini_set('ratelimit.url', 'memory://many-lines');
        try {
            $found = self::warnings(function (): void {
                for ($number = 0; $number < 4_000; $number++) {
                    self::assertTrue(\Quotalock\limit("/lines/$number", 'k', '1/hour'));
                }
                self::assertFalse(\Quotalock\limit('/lines/0', 'k', '1/hour'));
            });
        } finally {
            ini_restore('ratelimit.url');
        }
        self::assertCount(1, $found);
        self::assertSame(E_USER_WARNING, $found[0][0]);
    }
}
