<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\ClientInterface;
use Quotalock\Decision;
use Quotalock\LimiterInterface;
use Quotalock\LockInterface;
use Quotalock\Testing;

/** What an application's own tests do: doubles of the interfaces, by PHPUnit and by hand. */
final class DoublesTest extends TestCase
{
    /** Code of an application. */
    private static function buy(ClientInterface $client, string $buyer): string
    {
        if (!$client->limiter('checkout', '1/minute')->consume($buyer)->allowed) {
            return 'later';
        }
        $lock = $client->lock('stock', ttlMs: 5_000);
        if (!$lock->acquire(waitMs: 100)) {
            return 'busy';
        }
        return $lock->release() ? 'sold' : 'lost';
    }

    /** A decision of each kind: the first of a limiter, and the second. */
    private static function decisions(): array
    {
        $limiter = client('memory://' . prefix())->limiter('checkout', '1/minute');
        return [$limiter->consume('ada'), $limiter->consume('ada')];
    }

    public function testTheClassesThemselvesFit(): void
    {
        $client = client('memory://' . prefix());
        self::assertSame(['sold', 'later'], [self::buy($client, 'ada'), self::buy($client, 'ada')], 'what was told');
    }

    public function testPhpunitMakesDoublesOfEachInterface(): void
    {
        [$allowed, $denied] = self::decisions();
        $limiter = $this->createMock(LimiterInterface::class);
        $limiter->expects(self::exactly(3))->method('consume')->with('ada')
            ->willReturnOnConsecutiveCalls($allowed, $allowed, $denied);
        $lock = $this->createMock(LockInterface::class);
        $lock->expects(self::exactly(2))->method('acquire')->with(100)->willReturnOnConsecutiveCalls(false, true);
        $lock->expects(self::once())->method('release')->willReturn(true);
        $client = $this->createMock(ClientInterface::class);
        $client->method('limiter')->with('checkout', '1/minute')->willReturn($limiter);
        $client->method('lock')->with('stock', 5_000)->willReturn($lock);
        $told = array_map(fn () => self::buy($client, 'ada'), range(1, 3));
        self::assertSame(['busy', 'sold', 'later'], $told, 'what was told');
        $others = ['Reservation', 'Stock', 'Once', 'Cache'];
        foreach ($others as $other) {
            self::assertInstanceOf("Quotalock\\{$other}Interface", $this->createStub("Quotalock\\{$other}Interface"));
        }
    }

    public function testAClassOfOnesOwnImplementsOne(): void
    {
        $lock = new class implements LockInterface {
            private bool $held = false;

            public function acquire(?int $waitMs = null): bool
            {
                return $this->held = !$this->held;
            }

            public function release(): bool
            {
                return [$this->held, $this->held = false][0];
            }

            public function extend(?int $ttlMs = null): bool
            {
                return $this->held;
            }

            public function handover(): string
            {
                return '';
            }

            public function assertHeld(): void
            {
            }

            public function raiseFloor(int $floor): void
            {
            }

            public function inspect(): \Quotalock\Inspection
            {
                throw new \LogicException('not in this test');
            }

            public function forceRelease(): int
            {
                return 0;
            }

            public function run(callable $function, ?int $waitMs = null): mixed
            {
                return $function($this);
            }
        };
        $does = fn (LockInterface $lock): array => [$lock->acquire(), $lock->acquire(), $lock->release()];
        self::assertSame([true, false, false], $does($lock), 'what it does');
        self::assertSame('done', $lock->run(fn (LockInterface $lock) => 'done'), 'what it runs');
        $real = client('memory://' . prefix())->lock('n');
        self::assertSame('done', $real->run(fn (LockInterface $lock) => 'done'), 'what a real one runs');
    }

    public function testTheTimeOfAClientGoesOnInMilliseconds(): void
    {
        foreach (['memory://' . prefix(), server()] as $url) {
            $client = client($url);
            $limiter = $client->limiter('api', '1/minute');
            Testing::advance($client, 0);
            self::assertTrue($limiter->consume('k')->allowed, 'the first');
            Testing::advance($client, 59_999);
            self::assertSame([false, 1], [$limiter->peek('k')->allowed, $limiter->peek('k')->retryAfterMs], 'before');
            Testing::advance($client, 1);
            self::assertTrue($limiter->consume('k')->allowed, 'a minute later');
        }
        $client = client('memory://' . prefix());
        Testing::setTime($client, 1_800_000_000_000_000);
        Testing::advance($client, 1_500);
        $lock = $client->lock('n');
        $lock->acquire();
        self::assertSame(1_800_000_001_500, $lock->inspect()->holders[0]->sinceMs, 'when it was granted');
        refused('invalid_argument', fn () => Testing::advance($client, -1));
        refused('invalid_argument', fn () => Testing::advance($client, 1 << 42));
        self::assertSame(1_800_000_001_500, $lock->inspect()->holders[0]->sinceMs, 'what that changed');
    }

    public function testATimeInAnotherUnitIsRefused(): void
    {
        $client = client('memory://' . prefix());
        foreach ([0, 1, 1_700_000_000, 1_700_000_000_000, PHP_INT_MAX] as $time) {
            $message = refused('invalid_argument', fn () => Testing::setTime($client, $time))->getMessage();
            self::assertStringContainsString("time $time is not between", $message);
            self::assertStringContainsString('microseconds since the epoch, such as 1700000000000000', $message);
        }
    }

    public function testADoubleOfAnotherShapeIsRefusedByPhp(): void
    {
        $code = 'class Odd implements Quotalock\ReservationInterface { function settle(string $actual): bool {}'
            . ' function cancel(): bool {} }';
        [$output] = php($code);
        self::assertStringContainsString('must be compatible with Quotalock\ReservationInterface::settle', $output);
        self::assertStringContainsString('int $actual', $output);
        [$output] = php('class Late extends Quotalock\Client {}');
        self::assertStringContainsString('final class', $output);
        self::assertSame(Client::class, (new \ReflectionClass(client()))->getName(), 'what a client is');
        self::assertInstanceOf(Decision::class, self::decisions()[1]);
    }
}
