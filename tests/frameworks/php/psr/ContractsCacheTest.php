<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Psr;

use PHPUnit\Framework\TestCase;
use Quotalock\Psr\ContractsCache;
use Quotalock\Psr\NotPromised;
use Symfony\Contracts\Cache\ItemInterface;

use function Quotalock\Tests\client;
use function Quotalock\Tests\forked;
use function Quotalock\Tests\never;
use function Quotalock\Tests\server;

/** The cache of Symfony's contracts. */
final class ContractsCacheTest extends TestCase
{
    public function testAValueIsLoadedOnceAndKept(): void
    {
        $cache = new ContractsCache(client(server()));
        foreach (['text', null, ['a' => 1], new \ArrayObject([1])] as $n => $value) {
            self::assertEquals($value, $cache->get("key$n", fn () => $value));
            self::assertEquals($value, $cache->get("key$n", never(...)));
        }
        self::assertTrue($cache->delete('key0'));
        self::assertSame('new', $cache->get('key0', fn () => 'new'));
    }

    public function testOfManyProcessesOneLoads(): void
    {
        $client = client(server());
        $load = function () use ($client): string {
            $client->limiter('loads', '100/hour')->consume('key');
            usleep(200_000);
            return 'loaded';
        };
        $children = array_map(
            fn () => forked(fn (): string => (new ContractsCache($client))->get('key', $load)),
            range(1, 6),
        );
        self::assertSame(['loaded'], array_unique(array_map(fn (\Closure $child) => $child(), $children)));
        self::assertSame(99, $client->limiter('loads', '100/hour')->peek('key')->remaining);
    }

    public function testTheItemSaysHowLong(): void
    {
        $cache = new ContractsCache(client(server()));
        $load = fn (ItemInterface $item) => $item->expiresAfter(1)->getKey();
        self::assertSame('key', $cache->get('key', $load));
        sleep(2);
        self::assertSame('anew', $cache->get('key', fn () => 'anew'));
    }

    public function testAValueMayBeUsedWithoutBeingKept(): void
    {
        $cache = new ContractsCache(client(server()));
        self::assertSame(1, $cache->get('key', function (ItemInterface $item, bool &$save): int {
            $save = false;
            return 1;
        }));
        self::assertSame(2, $cache->get('key', fn () => 2));
        self::assertSame(3, $cache->get('key', fn () => 3, INF));
        self::assertSame(3, $cache->get('key', never(...), 0.0));
    }

    public function testTagsAreRefused(): void
    {
        $this->expectException(NotPromised::class);
        (new ContractsCache(client(server())))->get('key', fn (ItemInterface $item) => $item->tag('shop'));
    }
}
