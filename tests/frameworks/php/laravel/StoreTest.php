<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Laravel;

use Illuminate\Cache\Repository;
use Illuminate\Contracts\Cache\LockTimeoutException;
use PHPUnit\Framework\TestCase;
use Quotalock\Laravel\QuotalockStore;
use Quotalock\Testing;

use function Quotalock\Tests\client;
use function Quotalock\Tests\forked;
use function Quotalock\Tests\server;

/** The cache store and what it refuses. */
final class StoreTest extends TestCase
{
    public function testItKeepsValuesOfEveryType(): void
    {
        $cache = $this->cache();
        foreach (['text', 42, 1.5, true, ['a' => [1]], new \ArrayObject([1]), "\0\xff"] as $n => $value) {
            self::assertTrue($cache->put("key$n", $value, 60));
            self::assertEquals($value, $cache->get("key$n"));
        }
        self::assertNull($cache->get('none'));
        self::assertSame(['key0' => 'text', 'none' => null], $cache->many(['key0', 'none']));
        self::assertTrue($cache->forget('key0'));
        self::assertFalse($cache->has('key0'));
        self::assertTrue($cache->putMany(['a' => 1, 'b' => 2], 60));
        self::assertSame(2, $cache->pull('b'));
        self::assertSame('made', $cache->remember('made', 60, fn () => 'made'));
    }

    public function testItCountsWithoutLosingAnythingAndKeepsTheTime(): void
    {
        $store = new QuotalockStore(client(server()));
        $store->put('hits', 0, 60);
        $children = array_map(fn () => forked(function () use ($store): void {
            for ($i = 0; $i < 20; $i++) {
                $store->increment('hits');
            }
        }), range(1, 4));
        array_map(fn (\Closure $child) => $child(), $children);
        self::assertSame(80, $store->get('hits'));
        self::assertSame(75, $store->decrement('hits', 5));
        $store->put('short', 1, 4);
        self::assertSame(2, $store->increment('short'));
        sleep(4);
        self::assertNull($store->get('short'));
    }

    public function testItAddsOnlyWhatIsNotThere(): void
    {
        $cache = $this->cache();
        self::assertSame([true, false, 'first'], [
            $cache->add('key', 'first', 60), $cache->add('key', 'second', 60), $cache->get('key'),
        ]);
    }

    public function testAValueThatIsTouchedIsKeptLonger(): void
    {
        $store = new QuotalockStore($client = client());
        Testing::setTime($client, 1_700_000_000_000_000);
        $store->put('key', 'value', 60);
        Testing::advance($client, 50_000);
        self::assertTrue($store->touch('key', 60));
        Testing::advance($client, 50_000);
        self::assertSame('value', $store->get('key'));
        Testing::advance($client, 11_000);
        self::assertSame([null, false], [$store->get('key'), $store->touch('key', 60)]);
    }

    public function testOnlyTheClassesThatTheSettingsNameAreUnserialised(): void
    {
        $client = client();
        $kept = [new \ArrayObject([1]), new \DateTimeImmutable('@1')];
        (new QuotalockStore($client))->put('key', $kept, 60);
        $classes = fn (array|bool|null $allowed): array => array_map(
            get_class(...),
            (new QuotalockStore($client, classes: $allowed))->get('key'),
        );
        self::assertSame([\ArrayObject::class, \DateTimeImmutable::class], $classes(null));
        self::assertSame(['__PHP_Incomplete_Class', '__PHP_Incomplete_Class'], $classes(false));
        self::assertSame(['ArrayObject', '__PHP_Incomplete_Class'], $classes([\ArrayObject::class]));
    }

    public function testItRefusesWhatIsNotPromised(): void
    {
        $store = new QuotalockStore(client());
        $calls = [
            'nothing forever' => fn () => $store->forever('key', 1),
            'forever' => fn () => $store->increment('new'),
            'cannot be flushed' => fn () => $store->flush(),
        ];
        foreach ($calls as $reason => $call) {
            try {
                $call();
                self::fail("\"$reason\" was not refused");
            } catch (\LogicException $problem) {
                self::assertStringContainsString($reason, $problem->getMessage());
            }
        }
        $lenient = new QuotalockStore(client(), forever: 60);
        self::assertTrue($lenient->forever('key', 'value'));
        self::assertSame('value', $lenient->get('key'));
        self::assertFalse((new Repository($store))->supportsTags());
    }

    public function testALockOutlivesItsObjectAndIsWaitedFor(): void
    {
        $store = new QuotalockStore(client(server()));
        self::assertTrue($store->lock('job', 60)->get());
        self::assertFalse($store->lock('job', 60)->get());
        try {
            $store->lock('job', 60)->block(0.05);
            self::fail('it was granted');
        } catch (LockTimeoutException) {
        }
        self::assertTrue($store->lock('job')->isLocked());
        $store->lock('job')->forceRelease();
        self::assertFalse($store->lock('job')->isLocked());
        self::assertTrue($store->lock('job', 60)->get());
    }

    public function testALockIsPassedOnOnce(): void
    {
        $store = new QuotalockStore(client(server()));
        $lock = $store->lock('job', 60);
        self::assertTrue($lock->get());
        $owner = $lock->owner();
        self::assertSame($owner, $lock->owner());
        $first = $store->restoreLock('job', $owner);
        $second = $store->restoreLock('job', $owner);
        self::assertTrue($first->isOwnedByCurrentProcess());
        self::assertFalse($second->isOwnedByCurrentProcess());
        self::assertFalse($second->release());
        self::assertFalse($lock->release());
        self::assertTrue($first->refresh(30));
        self::assertTrue($first->release());
        self::assertTrue($store->lock('job', 60)->get());
    }

    public function testAnOwnerIsThatOfItsLockAlone(): void
    {
        $store = new QuotalockStore(client(server()));
        $lock = $store->lock('a', 60);
        self::assertTrue($lock->get());
        $other = $store->restoreLock('b', $lock->owner());
        self::assertFalse($other->isOwnedByCurrentProcess());
        self::assertFalse($other->refresh(1));
        self::assertFalse($other->release());
        self::assertFalse($store->lock('a', 60)->get(), 'whether it is held still');
        self::assertTrue($lock->release());
    }

    private function cache(): Repository
    {
        return new Repository(new QuotalockStore(client(server()), 'app:'));
    }
}
