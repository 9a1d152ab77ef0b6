<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Exception\ClosedException;
use Quotalock\Exception\InvalidArgumentException;
use Quotalock\Exception\LostException;
use Quotalock\Exception\NotAcquiredException;
use Quotalock\Exception\UnavailableException;
use Quotalock\Exception\WrongTypeException;
use Quotalock\Lock;
use Quotalock\Testing;

/** Locks: who gets them, when they are lost, and what becomes of them when something goes wrong. */
final class LocksTest extends TestCase
{
    /** Calls until somebody looks at the server again: for a moment after a failure calls fail without that. */
    private static function again(\Closure $call): mixed
    {
        $answer = null;
        eventually(function () use ($call, &$answer) {
            try {
                $answer = $call();
                return true;
            } catch (UnavailableException) {
                return false;
            }
        }, fn () => 'the server is not looked at');
        return $answer;
    }

    /** @dataProvider stores */
    public function testWhoAdoptsMayEndALockSooner(string $url): void
    {
        $client = client($url);
        $now = 1_700_000_000_000_000;
        Testing::setTime($client, $now);
        $giver = $client->lock('sku:42', 300_000);
        $giver->acquire();
        $token = $giver->token;
        $heir = $client->adopt($giver->handover(), ttlMs: 1_000);
        self::assertSame([$token, 1_000], [$heir->token, $heir->ttlMs], 'the token, and the ttl');
        $holder = $client->lock('sku:42')->inspect()->holders[0];
        self::assertSame(intdiv($now, 1000) + 1_000, $holder->untilMs, 'its end');
        $longer = $client->adopt($heir->handover());
        Testing::setTime($client, $now + 1_000_000);
        self::assertSame([false, true], [$longer->held, isFree($client, 'sku:42')], 'who has it afterwards');
    }

    /** @dataProvider stores */
    public function testOneHoldsAndTheOtherLearnsWho(string $url): void
    {
        $client = client($url);
        [$first, $second] = [$client->lock('sku:42', label: 'checkout'), $client->lock('sku:42')];
        self::assertSame([true, false], [$first->acquire(), $second->acquire()], 'who acquires it');
        self::assertTrue($first->remainingMs > 20_000 && $first->remainingMs < 29_700, 'that it is held for its ttl');
        $error = thrown(NotAcquiredException::class, fn () => $second->run(fn () => throw new \Error('called')));
        self::assertSame('not_acquired', $error->getErrorCode(), 'the code');
        self::assertStringContainsString('"checkout"', $error->getMessage());
        self::assertStringContainsString((string) getmypid(), $error->getMessage());
        self::assertSame(__FILE__, $error->getFile(), 'where it was thrown');
        self::assertSame(false, $second->release(), 'whether another handle releases it');
        self::assertSame(
            [true, false],
            [$first->release(), $first->release()],
            'whether it is released, and once more'
        );
        $before = $first->inspect()->token;
        self::assertSame(true, $second->acquire(), 'whether it is free');
        self::assertTrue($second->token > $before, 'that the token is larger');
        $again = thrown(InvalidArgumentException::class, fn () => $second->acquire());
        self::assertStringContainsString('held by this handle', $again->getMessage());
        self::assertSame(1, $first->forceRelease(), 'from how many it was taken');
        self::assertSame([true, false], [$second->held, $second->extend()], 'what the holder knows, and learns');
        self::assertSame('lost', $second->state, 'what it knows then');
    }

    /** @dataProvider stores */
    public function testItIsLostWhenItsTimeIsOverUnlessItWasExtended(string $url): void
    {
        $lock = client($url)->lock('n', ttlMs: 2_000);
        $lock->acquire();
        $lock->assertHeld();
        self::assertSame(true, $lock->extend(60_000), 'whether it is extended');
        usleep(2_050_000);
        self::assertSame([true, 'held'], [$lock->held, $lock->state], 'what it is after its first ttl');
        self::assertSame(
            [true, true],
            [$lock->release(), $lock->acquire()],
            'whether it is released, and acquired again'
        );
        $token = $lock->token;
        usleep(2_050_000);
        self::assertSame(
            [false, 'lost', 0, $token],
            [$lock->held, $lock->state, $lock->remainingMs, $lock->token],
            'at the end'
        );
        $error = thrown(LostException::class, fn () => $lock->assertHeld());
        self::assertSame('lost', $error->getErrorCode(), 'the code');
        self::assertStringContainsString('lock "n" was lost', $error->getMessage());
        self::assertSame([false, false], [$lock->extend(), $lock->release()], 'whether it is extended or released');
        self::assertStringContainsString(
            'is not held',
            thrown(LostException::class, fn () => $lock->assertHeld())->getMessage()
        );
        self::assertSame(true, $lock->acquire(), 'whether it can be acquired again');
        self::assertTrue($lock->token > $token, 'that the token is larger');
    }

    /** @dataProvider stores */
    public function testASemaphoreBothSidesOfAReadWriteLockAndSeveralNames(string $url): void
    {
        $client = client($url);
        $three = fn (int $weight = 1) => $client->semaphore('pool', 3, $weight);
        [$a, $b, $c] = [$three(), $three(weight: 2), $three()];
        self::assertSame([true, true, false], [$a->acquire(), $b->acquire(), $c->acquire()], 'the permits');
        self::assertSame([1, 2], array_column($c->inspect()->holders, 'permits'), 'who has how many');
        self::assertSame([true, true], [$a->release(), $c->acquire()], 'a permit that is free again');
        [$read, $also, $write] = [$client->readLock('doc'), $client->readLock('doc'), $client->writeLock('doc')];
        self::assertSame([true, true, false], [$read->acquire(), $also->acquire(), $write->acquire()], 'readers');
        self::assertSame([true, true, true], [$read->release(), $also->release(), $write->acquire()], 'and a writer');
        self::assertSame(
            [false, ["$client->prefix:rw:{doc}"]],
            [$read->acquire(), $read->redisKeys],
            'a reader beside a writer'
        );
        [$both, $one] = [$client->lockAll(['x', "y\xff"]), $client->lock("y\xff")];
        self::assertSame([true, false], [$one->acquire(), $both->acquire()], 'all or none');
        self::assertSame(true, isFree($client, 'x'), 'whether the other is free');
        self::assertSame(["$client->prefix:lock:{x}", "$client->prefix:lock:{y\xff}"], $both->redisKeys, 'the keys');
        self::assertSame(["x", "y\xff"], $both->names, 'the names');
    }

    /** @dataProvider stores */
    public function testTokensAreLargerThanAFloorThatWasRaised(string $url): void
    {
        $lock = client($url)->lock('n', tokenAbove: 2 ** 51);
        $lock->acquire();
        self::assertSame(2 ** 51 + 1, $lock->token, 'the token');
        $lock->raiseFloor(2 ** 52);
        $lock->release();
        $lock->acquire();
        self::assertSame(2 ** 52 + 1, $lock->token, 'the next token');
    }

    /** @dataProvider stores */
    public function testAWaitEndsInItsTimeAndLeavesNothing(string $url): void
    {
        $client = client($url);
        [$first, $second] = [$client->lock('n'), $client->lock('n', waitMs: 150)];
        $first->acquire();
        foreach ([150 => null, 300 => 300, 0 => 0] as $least => $wait) {
            $took = 0.0;
            $stalls = stalls(function () use ($second, $wait, &$took) {
                $took = elapsed(fn () => self::assertSame(false, $second->acquire($wait), 'whether it is granted'));
            });
            $most = $least + 2_000 + $stalls;
            self::assertTrue($took >= $least && $took < $most, "that a wait of $least ms took $took ms");
            // Taking it back has a tenth of a second; what is left all the same ends soon by itself.
            waiters($first, 0);
        }
        $took = elapsed(fn () => thrown(NotAcquiredException::class, fn () => $second->run(fn () => null)));
        self::assertTrue($took >= 150, 'that a run waits as its handle does');
        $first->release();
        self::assertSame(true, $second->acquire(), 'whether it is free');
    }

    /** @dataProvider stores */
    public function testWhatARunsFunctionReturnsOrThrowsGetsOutAndTheLockIsFree(string $url): void
    {
        $lock = client($url)->lock('n');
        $seen = [];
        self::assertSame(['a' => 1], $lock->run(function (Lock $given) use ($lock, &$seen) {
            $seen = [$given === $lock, $lock->held];
            return ['a' => 1];
        }), 'what it returned');
        self::assertSame([true, true, false], [...$seen, $lock->held], 'what it was given');
        $error = new \DomainException('no');
        self::assertSame(
            $error,
            thrown(\DomainException::class, fn () => $lock->run(fn () => throw $error)),
            'what it threw'
        );
        self::assertSame(['released', []], [$lock->state, $lock->inspect()->holders], 'what is left');
        self::assertSame(7, $lock->run(fn () => $lock->release() ? 7 : 0), 'a function that releases it by itself');
        $error = thrown(LostException::class, fn () => $lock->run(fn () => $lock->forceRelease()));
        self::assertStringContainsString('lock "n" is not held', $error->getMessage());
        thrown(\DomainException::class, fn () => $lock->run(function () use ($lock) {
            $lock->forceRelease();
            throw new \DomainException('it says more');
        }));
        self::assertSame(true, $lock->acquire(), 'whether it is free');
    }

    /** @dataProvider stores */
    public function testARunThatTakesLongerThanItsTtlTellsThatTheLockWasLost(string $url): void
    {
        $lock = client($url)->lock('n', ttlMs: 2_000);
        $error = thrown(LostException::class, fn () => $lock->run(fn () => usleep(2_050_000)));
        self::assertStringContainsString('was lost', $error->getMessage());
        self::assertSame('released', $lock->state, 'what it is then');
    }

    /** @dataProvider stores */
    public function testAnObjectThatNobodyHasAnyMoreHoldsNothing(string $url): void
    {
        $client = client($url);
        $first = $client->lock('n');
        $first->acquire();
        $other = $client->lock('n');
        self::assertSame(false, $other->acquire(), 'whether it is free');
        unset($first);
        self::assertSame(true, $other->acquire(), 'whether it is free without its holder');
    }

    /** @dataProvider stores */
    public function testClosingAClientReleasesItsLocks(string $url): void
    {
        $prefix = prefix();
        [$closing, $other] = [new Client($url, $prefix), new Client($url, $prefix)];
        [$first, $second, $third] = [$closing->lock('a'), $closing->lock('b'), $other->lock('c')];
        array_map(fn (Lock $lock) => $lock->acquire(), [$first, $second, $third]);
        $closing->close();
        self::assertSame(['lost', 'lost', 'held'], [$first->state, $second->state, $third->state], 'what is held');
        self::assertSame(false, $first->release(), 'whether it can be released');
        // Whoever works under it is told.
        $within = new Client($url, $prefix);
        $ends = fn () => $within->lock('d')->run(fn () => $within->close());
        thrown(LostException::class, $ends);
        self::assertSame(true, isFree($other, 'd'), 'whether that one is free');
        self::assertSame(
            [true, true],
            [isFree($other, 'a'), isFree($other, 'b')],
            'whether they are free'
        );
        foreach ([fn () => $first->acquire(), fn () => $first->extend(), fn () => $first->inspect()] as $call) {
            self::assertSame('closed', thrown(ClosedException::class, $call)->getErrorCode(), 'the code');
        }
        thrown(ClosedException::class, fn () => $first->forceRelease());
        thrown(ClosedException::class, fn () => $first->run(fn () => null));
        thrown(ClosedException::class, fn () => $closing->lock('n'));
        thrown(LostException::class, fn () => $first->assertHeld());
    }

    public function testAHandleCanBePassedToAnyKindOfFunction(): void
    {
        $lock = client()->lock('n');
        $object = new class {
            public int $times = 0;

            public function method(Lock $lock): string
            {
                $this->times += (int) $lock->held;
                return 'method';
            }

            public static function fixed(Lock $lock): string
            {
                return "static {$lock->state}";
            }

            public function &byReference(): int
            {
                return $this->times;
            }
        };
        self::assertSame('method', $lock->run([$object, 'method']), 'of a method');
        self::assertSame('method', $lock->run($object->method(...)), 'of a first-class callable');
        self::assertSame('static held', $lock->run($object::class . '::fixed'), 'of a static method');
        self::assertSame('object', $lock->run('gettype'), 'of a function of PHP');
        $found = $lock->run([$object, 'byReference']);
        $found++;
        self::assertSame(2, $object->times, 'what a reference to it leaves alone');
        $error = thrown(\TypeError::class, fn () => $lock->run('nosuch'));
        self::assertStringContainsString('Argument #1 ($function) must be of type callable', $error->getMessage());
        thrown(\TypeError::class, fn () => $lock->run(fn (int $number) => $number));
        self::assertSame('released', $lock->state, 'what is left');
    }

    public function testARunMayBeSuspendedAndGoneOnWithOrGivenUp(): void
    {
        $client = client();
        $fiber = new \Fiber(fn () => $client->lock('n')->run(fn (Lock $lock) => [\Fiber::suspend('in'), $lock->held]));
        self::assertSame('in', $fiber->start(), 'what it was suspended with');
        self::assertSame(false, isFree($client, 'n'), 'whether it is free');
        self::assertSame('other', $client->lock('m')->run(fn () => 'other'), 'what another run returns meanwhile');
        $fiber->resume('on');
        self::assertSame(['on', true], $fiber->getReturn(), 'what it returned');
        self::assertSame(true, $client->lock('n')->run(fn (Lock $lock) => $lock->held), 'whether it is free then');
        $fiber = new \Fiber(fn () => $client->lock('n')->run(\Fiber::suspend(...)));
        $fiber->start();
        self::assertSame(false, isFree($client, 'n'), 'whether it is free again');
        unset($fiber);
        gc_collect_cycles();
        self::assertSame(true, isFree($client, 'n'), 'whether a fiber that was given up holds it');
    }

    public function testRunsWithinRunsAreReleasedFromWithin(): void
    {
        $client = client();
        $all = $client->lock('a')->run(fn () => $client->lock('b')->run(fn () => isFree($client, 'a')));
        self::assertSame(false, $all, 'whether the outer one is free within');
        foreach (['a', 'b'] as $name) {
            self::assertSame([], $client->lock($name)->inspect()->holders, "who holds $name");
        }
    }

    public function testABadArgumentIsRefusedBeforeAnythingIsAsked(): void
    {
        // Nobody listens there.
        $client = client('redis://127.0.0.1:' . freePort());
        $lock = $client->lock('n');
        foreach (
            [
                'ttl' => fn () => $client->lock('n', ttlMs: 0),
                'ttl of 9' => fn () => $client->lock('n', ttlMs: 9),
                'ttl of -1 ms' => fn () => $client->lock('n', ttlMs: -1),
                '7 days' => fn () => $client->lock('n', ttlMs: 7 * 86_400_000 + 1),
                'wait of -1 ms' => fn () => $client->lock('n', waitMs: -1),
                'name' => fn () => $client->lock(''),
                '2048' => fn () => $client->lock(str_repeat('n', 2_048)),
                'token_above' => fn () => $client->lock('n', tokenAbove: -1),
                'label is not UTF-8' => fn () => $client->lock('n', label: "\xff"),
                'replicas_ack' => fn () => $client->lock('n', replicasAck: 2 ** 32),
                'memory:// has none' => fn () => (new Client('memory://'))->lock('n', replicasAck: 1),
                'U+000D' => fn () => $client->lock('n', label: "a\rb"),
                'ack_timeout' => fn () => $client->lock('n', ackTimeoutMs: 0),
                '0 lock names' => fn () => $client->lockAll([]),
                'named twice' => fn () => $client->lockAll(['a', 'a']),
                'names[1] is null' => fn () => $client->lockAll(['a', null]),
                'names[0] is int: give strings' => fn () => $client->lockAll([42]),
                'permits' => fn () => $client->semaphore('n', 0),
                'weight' => fn () => $client->semaphore('n', 2, 3),
                'wait of -5 ms' => fn () => $lock->acquire(-5),
                'ttl of' => fn () => $lock->extend(0),
                'floor -7' => fn () => $lock->raiseFloor(-7),
                'wait of -9 ms' => fn () => $lock->run(fn () => null, -9),
            ] as $part => $call
        ) {
            $error = thrown(InvalidArgumentException::class, $call);
            self::assertSame('invalid_argument', $error->getErrorCode(), 'the code');
            self::assertStringContainsString((string) $part, $error->getMessage());
        }
        foreach (
            [
                '#1 ($name) must be of type string, int given' => fn () => $client->lock(42),
                '#1 ($names) must be of type array, string given' => fn () => $client->lockAll('n'),
                '#2 ($ttlMs) must be of type int, string given' => fn () => $client->lock('n', '5'),
                '#4 ($fair) must be of type bool, int given' => fn () => $client->readLock('n', fair: 1),
                '#8 ($label) must be of type string, int given' => fn () => $client->semaphore('n', 1, label: 1),
                '#1 ($waitMs) must be of type int, float given' => fn () => $lock->acquire(1.5),
            ] as $part => $call
        ) {
            self::assertStringContainsString($part, thrown(\TypeError::class, $call)->getMessage());
        }
        thrown(UnavailableException::class, fn () => $lock->acquire());
        self::assertSame(['released', 0], [$lock->state, $lock->remainingMs], 'what the handle knows after an error');
    }

    public function testFilesWithoutStrictTypesMayGiveNamesAsPHPDoes(): void
    {
        [$output] = php(<<<'CODE'
            $client = new Quotalock\Client('memory://', 'p');
            class Name { function __toString() { return 'n'; } }
            echo $client->lock(42)->redisKeys[0], ',', $client->lock(new Name, '500')->ttlMs, ',';
            echo implode(' ', $client->lockAll([1, new Name, "x"])->redisKeys);
            CODE);
        self::assertSame('p:lock:{42},500,p:lock:{1} p:lock:{n} p:lock:{x}', $output, 'what it wrote');
    }

    public function testAKeyOfAnotherTypeIsNamedAndAForeignValueCountsAsNone(): void
    {
        $client = client(server());
        $lock = $client->lock('n');
        Testing::put($client, $lock->redisKeys[0], 'list', '');
        $error = thrown(WrongTypeException::class, fn () => $lock->acquire());
        self::assertStringContainsString($lock->redisKeys[0], $error->getMessage());
        (new Connection(server()))->del($lock->redisKeys[0]);
        Testing::put($client, $lock->redisKeys[0], 'string', '-37412');
        self::assertSame([true, []], [$lock->inspect()->healed, $lock->inspect()->holders], 'what is seen');
        self::assertSame(true, $lock->acquire(), 'whether it can be acquired');
    }

    public function testALockThatRedisDoesNotKnowOfAnyMoreIsLostWhenItIsUsed(): void
    {
        $server = new RedisServer();
        $lock = client($server->url())->lock('n');
        $lock->acquire();
        $server->kill();
        thrown(UnavailableException::class, fn () => $lock->extend());
        self::assertSame([true, 'held'], [$lock->held, $lock->state], 'what the handle knows');
        $server->start();
        self::assertSame([false, 'lost'], [self::again($lock->extend(...)), $lock->state], 'what it learns');
    }

    public function testAReleaseThatFailsSaysSoAndTheHandleCanBeUsedAgain(): void
    {
        $server = new RedisServer();
        $lock = client($server->url())->lock('n');
        $lock->acquire();
        $token = $lock->token;
        $server->kill();
        thrown(UnavailableException::class, fn () => $lock->release());
        self::assertSame('released', $lock->state, 'what the handle knows');
        $server->start();
        self::assertSame(true, self::again($lock->acquire(...)), 'whether it can be acquired again');
        self::assertTrue($lock->token > $token, 'that the token is larger after a restart');
    }
}
