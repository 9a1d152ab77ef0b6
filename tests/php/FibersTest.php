<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Fiber;
use Quotalock\Client;
use Quotalock\Exception\TimeoutException;
use Quotalock\Lock;

/** Calls in fibers, and fibers that are suspended in functions that calls of ours call. */
final class FibersTest extends TestCase
{
    /** @dataProvider stores */
    public function testRunsOfSeveralFibersMayEndInTheOrderInWhichTheyBegan(string $url): void
    {
        $client = client($url);
        $cache = $client->cache('home');
        $once = $client->once('mail');
        $run = fn (int $i) => $client->lock("n$i")->run(
            fn (Lock $lock) => $cache->get("k$i", fn () => $once->run("o$i", fn () => Fiber::suspend($lock->state)))
        );
        $fibers = array_map(fn (int $i) => new Fiber(fn () => $run($i)), range(0, 9));
        foreach ($fibers as $fiber) {
            self::assertSame('held', $fiber->start(), 'the state of the lock');
        }
        foreach ($fibers as $i => $fiber) {
            self::assertFalse(isFree($client, "n$i"), 'that it is free');
            $fiber->resume("v$i");
            self::assertSame("v$i", $fiber->getReturn(), 'what it returned');
            self::assertTrue(isFree($client, "n$i"), 'that it is free');
            self::assertSame("v$i", $cache->get("k$i", never(...)), 'what was stored');
        }
    }

    /** @dataProvider stores */
    public function testAFiberThatThrowsOrExitsAfterASuspensionReleasesItsLock(string $url): void
    {
        $client = client($url);
        $fiber = new Fiber(fn () => $client->lock('n')->run(fn () => throw Fiber::suspend()));
        $fiber->start();
        $error = new \DomainException('no');
        self::assertSame($error, thrown(\DomainException::class, fn () => $fiber->resume($error)));
        self::assertTrue(isFree($client, 'n'), 'that it is free');
        $code = '$client = new Quotalock\Client("URL", "PREFIX");'
            . '$fiber = new Fiber(fn () => $client->lock("n", 60000)->run(fn () => exit(Fiber::suspend())));'
            . '$fiber->start(); $fiber->resume("left");';
        if ($url !== 'memory://') {
            self::assertSame(['left', 0], php(strtr($code, ['URL' => $url, 'PREFIX' => $client->prefix])));
            self::assertTrue(isFree($client, 'n'), 'that it is free');
        }
    }

    /** @dataProvider stores */
    public function testAHookMayBeSuspended(string $url): void
    {
        $tell = fn () => Fiber::getCurrent() && Fiber::suspend('told');
        $limiter = (new Client($url, prefix(), 10_000, onDecision: $tell))->limiter('n', '10/day');
        $fibers = [];
        for ($i = 0; $i < 3; $i++) {
            $fibers[] = $fiber = new Fiber(fn () => $limiter->consume('k')->remaining);
            self::assertSame('told', $fiber->start());
        }
        self::assertSame(6, $limiter->consume('k')->remaining, 'what is left meanwhile');
        foreach ([9, 8] as $i => $left) {
            $fibers[$i]->resume();
            self::assertSame($left, $fibers[$i]->getReturn(), 'what was left');
        }
        // The last one is given up.
        unset($fibers, $fiber);
        gc_collect_cycles();
        self::assertSame(5, $limiter->consume('k')->remaining, 'what is left');
    }

    public function testAFunctionForThePasswordMayBeSuspended(): void
    {
        $server = new RedisServer();
        (new Connection($server->url()))->acl('SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all');
        $password = fn () => Fiber::getCurrent() ? Fiber::suspend('asked') : 'secret';
        $make = fn (int $timeoutMs) => (new Client($server->url('app@'), prefix(), $timeoutMs, password: $password))
            ->limiter('n', '10/day');
        $limiter = $make(10_000);
        $fiber = new Fiber(fn () => $limiter->consume('k')->remaining);
        self::assertSame('asked', $fiber->start());
        $fiber->resume('secret');
        self::assertSame(9, $fiber->getReturn(), 'what was left');
        // A call of another fiber with the same connection waits for it, and ends in time.
        $limiter = $make(300);
        $fiber = new Fiber(fn () => $limiter->consume('k')->remaining);
        self::assertSame('asked', $fiber->start());
        thrown(TimeoutException::class, fn () => $limiter->consume('k'));
        thrown(TimeoutException::class, fn () => $fiber->resume('secret'));
        // A while after a login has failed, the next one may begin.
        $left = null;
        $again = function () use ($limiter, &$left): bool {
            try {
                return is_int($left = $limiter->consume('k')->remaining);
            } catch (TimeoutException) {
                return false;
            }
        };
        eventually($again, fn () => 'no call succeeded');
        self::assertSame(9, $left, 'what is left');
    }
}
