<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Exception\InvalidArgumentException;

/** Permits that a process takes ahead. */
final class LeasesTest extends TestCase
{
    public function testALimiterShowsItsLeaseAndRefusesWhatCannotBe(): void
    {
        $client = new Client('memory://');
        self::assertNull($client->limiter('n', '100/s')->prefetch);
        self::assertSame(100, $client->limiter('n', '100/s', prefetch: 100)->prefetch);
        foreach ([['100/s', 101], ['100/s', 1], ['100/s', -1], ['sliding-log 100/s', 9]] as [$policy, $prefetch]) {
            try {
                $client->limiter('n', $policy, prefetch: $prefetch);
                self::fail("a prefetch of $prefetch for $policy was taken");
            } catch (InvalidArgumentException $refused) {
                self::assertStringContainsString('prefetch', $refused->getMessage());
            }
        }
    }

    /** @dataProvider servers */
    public function testFewCallsAskAndClosingGivesBack(string $url): void
    {
        $prefix = 'lease-' . bin2hex(random_bytes(6));
        [$first, $second] = [new Client($url, $prefix), new Client($url, $prefix, timeoutMs: 501)];
        $limiter = $first->limiter('n', '1000/h', prefetch: 100);
        $sources = [];
        for ($number = 1; $number <= 900; $number++) {
            $decision = $limiter->consume('k');
            self::assertSame([true, 1000 - $number], [$decision->allowed, $decision->remaining]);
            $sources[] = $decision->source;
        }
        self::assertGreaterThan(850, array_count_values($sources)['lease']);
        $first->close();
        self::assertSame(100, $second->limiter('n', '1000/h')->peek('k')->remaining);
        $second->close();
    }
}
