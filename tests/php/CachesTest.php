<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Exception\ClosedException;
use Quotalock\Exception\InvalidArgumentException;
use Quotalock\Exception\LoadFailedException;
use Quotalock\Exception\TimeoutException;
use Quotalock\Exception\UnavailableException;
use Quotalock\Exception\WrongTypeException;
use Quotalock\Seen;

/** Caches and what is done once: who makes a value, and who gets it. */
final class CachesTest extends TestCase
{
    /** @dataProvider stores */
    public function testOneLoadsAndTheOthersGetIt(string $url): void
    {
        $client = client($url);
        $cache = $client->cache('home');
        self::assertSame(
            ['home', "$client->prefix:cache:home:{x}"],
            [$cache->name, $cache->redisKey('x')],
            'the names'
        );
        self::assertSame(null, $cache->peek('x'), 'what is there before');
        $calls = [];
        $load = function (...$arguments) use (&$calls, $client) {
            $calls[] = $arguments;
            $took = elapsed(fn () => thrown(TimeoutException::class, fn () => $client->cache('home')->get(
                'x',
                never(...),
                0
            )));
            // Others wait for longer than a lease.
            self::assertTrue($took < 10_000, "that nobody waits who does not want to: $took ms");
            return "\0\xff";
        };
        self::assertSame("\0\xff", $cache->get('x', $load), 'what is loaded');
        self::assertSame("\0\xff", $cache->get('x', never(...)), 'what the next one gets');
        self::assertSame([[]], $calls, 'the calls of the loader');
        $seen = $cache->peek('x');
        self::assertSame(["\0\xff", false, Seen::class], [$seen->value, $seen->stale, $seen::class], 'what is seen');
        self::assertTrue($seen->ageMs >= 0 && $seen->ageMs < 5_000, "that it is $seen->ageMs ms old");
        self::assertSame(
            [true, false],
            [$cache->invalidate('x'), $cache->invalidate('x')],
            'whether there was anything'
        );
        self::assertSame(true, $cache->put('x', 'put'), 'whether it is stored');
        self::assertSame('put', $cache->get('x', never(...)), 'what was put');
        self::assertSame(null, $cache->get(42, fn () => null), 'what is not there');
        self::assertSame([null, null], [$cache->get('42', never(...)), $cache->peek(42)->value], 'what is known of it');
        self::assertSame('', $cache->get(new Stringable42(), never(...)) ?? '', 'by an object');
        $cache->put('42', null);
        self::assertSame(null, $cache->peek('42')->value, 'nothing that was put');
        self::assertSame('s', $cache->get('static', new class {
            public function __invoke(): string
            {
                return 's';
            }
        }), 'of an object that can be called');
    }

    /** @dataProvider stores */
    public function testWhatALoaderThrowsGetsOutAndOthersHearOfItForAWhile(string $url): void
    {
        $client = client($url);
        [$cache, $soon] = [$client->cache('home', errorTtlMs: 60_000), $client->cache('soon', errorTtlMs: 100)];
        $error = new \DomainException('no such table');
        self::assertSame(
            $error,
            thrown(\DomainException::class, fn () => $cache->get('x', fn () => throw $error)),
            'the error'
        );
        $theirs = thrown(LoadFailedException::class, fn () => $cache->get('x', never(...)));
        self::assertSame('load_failed', $theirs->getErrorCode(), 'the code');
        self::assertStringContainsString('DomainException: no such table', $theirs->getMessage());
        self::assertSame(__FILE__, $theirs->getFile(), 'where it was thrown');
        thrown(\DomainException::class, fn () => $soon->get('x', fn () => throw $error));
        usleep(120_000);
        self::assertSame('v', $soon->get('x', fn () => 'v'), 'what is loaded when it is over');
        // A value that is stale is better than none.
        $stale = client($url)->cache('home', freshMs: 1, staleMs: 60_000, errorTtlMs: 60_000);
        $stale->put('x', 'old');
        usleep(2_000);
        thrown(\DomainException::class, fn () => $stale->get('x', fn () => throw $error));
        self::assertSame('old', $stale->get('x', never(...)), 'what others get');
    }

    /** @dataProvider stores */
    public function testWhatIsNoValueIsRefusedAndTheWayIsFree(string $url): void
    {
        $cache = client($url)->cache('home', leaseMs: 60_000, errorTtlMs: 0);
        foreach ([42, 1.5, true, [], new Stringable42()] as $value) {
            $error = thrown(\TypeError::class, fn () => $cache->get('x', fn () => $value));
            self::assertStringContainsString('must return a value of type ?string', $error->getMessage());
            self::assertStringContainsString('getJson()', $error->getMessage());
        }
        self::assertStringContainsString('of type ?string, int returned', thrown(
            \TypeError::class,
            fn () => $cache->getMany(['x', 'y'], fn () => ['y' => 5])
        )->getMessage());
        self::assertStringContainsString('of type array, string returned', thrown(
            \TypeError::class,
            fn () => $cache->getMany(['x', 'y'], fn () => 'x')
        )->getMessage());
        $large = str_repeat('x', (64 << 20) + 1);
        $error = thrown(InvalidArgumentException::class, fn () => $cache->get('x', fn () => $large));
        self::assertStringContainsString('67108865 bytes', $error->getMessage());
        self::assertStringContainsString('67108865 bytes', thrown(
            InvalidArgumentException::class,
            fn () => $cache->put('x', $large)
        )->getMessage());
        thrown(\JsonException::class, fn () => $cache->getJson('x', fn () => NAN));
        thrown(\JsonException::class, fn () => $cache->getJson('x', fn () => ["\xff"]));
        self::assertSame('v', $cache->get('x', fn () => 'v', 0), 'what is loaded then');
    }

    /** @dataProvider stores */
    public function testSeveralKeysAreOneLookAndOneCallOfTheLoader(string $url): void
    {
        $cache = client($url)->cache('home', errorTtlMs: 60_000);
        $cache->put('b', '2');
        $asked = [];
        $load = function (array $keys) use (&$asked) {
            $asked[] = $keys;
            return ['a' => '1', 7 => '7', "\xff" => 'bytes', 'more' => 'ignored'];
        };
        $wanted = ["\xff" => 'bytes', 'b' => '2', 7 => '7', 'none' => null, 'a' => '1', '07' => null];
        self::assertSame($wanted, $cache->getMany(["\xff", 'b', 7, 'none', 'a', '07'], $load), 'the values');
        self::assertSame([["\xff", '7', 'none', 'a', '07']], $asked, 'what was loaded');
        self::assertSame(
            $wanted,
            $cache->getMany(array_map(strval(...), array_keys($wanted)), never(...)),
            'the values again'
        );
        self::assertSame([null, null], [$cache->peek('more'), $cache->peek('none')->value], 'what is stored');
        $error = new \DomainException('no');
        self::assertSame(
            $error,
            thrown(\DomainException::class, fn () => $cache->getMany(['p', 'q'], fn () => throw $error)),
            ''
        );
        thrown(LoadFailedException::class, fn () => $cache->get('q', never(...)));
        $failed = thrown(LoadFailedException::class, fn () => $cache->getMany(['p', 'r'], fn () => ['r' => 'r']));
        self::assertStringContainsString('"p"', $failed->getMessage());
        self::assertSame('r', $cache->peek('r')->value, 'what was loaded all the same');
    }

    /** @dataProvider stores */
    public function testJSONComesBackAsItWasLoaded(string $url): void
    {
        $cache = client($url)->cache('home');
        $value = ['a' => [1, 1.0, true, null, 'ü/"', -0.5, 2 ** 60], 'b' => []];
        self::assertSame($value, $cache->getJson('x', fn () => $value), 'to who loads it');
        self::assertSame($value, $cache->getJson('x', never(...)), 'to others');
        self::assertSame(
            '{"a":[1,1.0,true,null,"ü/\"",-0.5,1152921504606846976],"b":[]}',
            $cache->peek('x')->value,
            'as stored'
        );
        $object = new class implements \JsonSerializable {
            public function jsonSerialize(): array
            {
                return ['o' => new \stdClass()];
            }
        };
        self::assertSame(['o' => []], $cache->getJson('y', fn () => $object), 'an object');
        self::assertSame([null, null], [$cache->getJson('z', fn () => null), $cache->peek('z')->value], 'null');
        foreach ([0, false, '', 'text', 0.0] as $i => $scalar) {
            self::assertSame($scalar, $cache->getJson("s$i", fn () => $scalar), 'a scalar');
            self::assertSame($scalar, $cache->getJson("s$i", never(...)), 'a scalar again');
        }
        $cache->put('bad', '{');
        thrown(\JsonException::class, fn () => $cache->getJson('bad', never(...)));
    }

    /** @dataProvider stores */
    public function testTheFirstClaimsAndTheOthersLearnWhatItGave(string $url): void
    {
        $client = client($url);
        $once = $client->once('coupon', 60_000);
        self::assertSame(
            ['coupon', "$client->prefix:once:coupon:{a}"],
            [$once->name, $once->redisKey('a')],
            'the names'
        );
        $first = $once->claim('a', "1\0");
        self::assertSame([true, "1\0", false], [$first->first, $first->value, $first->running], 'the first');
        $second = $once->claim('a', '2');
        self::assertSame([false, "1\0", false], [$second->first, $second->value, $second->running], 'the second');
        self::assertTrue(
            $second->remainingMs > 50_000 && $second->remainingMs <= 60_000,
            "$second->remainingMs ms remain"
        );
        self::assertTrue($second->ageMs < 5_000, "it is $second->ageMs ms old");
        self::assertSame([true, false], [$once->release('a'), $once->release('a')], 'whether it was claimed');
        self::assertSame([true, null], [$once->claim('a')->first, $once->claim('a')->value], 'without a value');
        self::assertSame([null, 'r'], [$once->run('a', never(...)), $once->run(7, fn () => 'r')], 'runs');
        self::assertSame(['r', false], [$once->claim('7')->value, $once->claim(7)->first], 'a claim of what has run');
        $error = new \DomainException('declined');
        $fail = function () use ($once, $error) {
            $claimed = $once->claim('b');
            self::assertSame(
                [false, true, null],
                [$claimed->first, $claimed->running, $claimed->value],
                'a claim meanwhile'
            );
            self::assertTrue($claimed->remainingMs > 5_000, "that the lease lasts for $claimed->remainingMs ms");
            throw $error;
        };
        self::assertSame($error, thrown(\DomainException::class, fn () => $once->run('b', $fail)), 'what comes out');
        self::assertSame('paid', $once->run('b', fn () => 'paid'), 'the next one runs');
        self::assertSame('paid', $once->run('b', never(...)), 'the others get its result');
        $slow = $client->once('slow', errorTtlMs: 60_000);
        thrown(\DomainException::class, fn () => $slow->run('b', fn () => throw $error));
        self::assertStringContainsString(
            'declined',
            thrown(LoadFailedException::class, fn () => $slow->run('b', never(...)))->getMessage()
        );
    }

    /** @dataProvider stores */
    public function testALoaderMayBeSuspendedAndGoneOnWithOrGivenUp(string $url): void
    {
        $cache = client($url)->cache('home', leaseMs: 60_000);
        $fiber = new \Fiber(fn () => $cache->get('x', fn () => \Fiber::suspend('in')));
        self::assertSame('in', $fiber->start(), 'what it was suspended with');
        thrown(TimeoutException::class, fn () => $cache->get('x', never(...), 0));
        self::assertSame('other', $cache->get('y', fn () => 'other'), 'another key');
        $fiber->resume('v');
        self::assertSame(['v', 'v'], [$fiber->getReturn(), $cache->get('x', never(...))], 'what it returned');
        $fiber = new \Fiber(fn () => $cache->get('z', fn () => \Fiber::suspend()));
        $fiber->start();
        unset($fiber);
        gc_collect_cycles();
        self::assertSame('v', $cache->get('z', fn () => 'v', 0), 'what is loaded when it was given up');
        self::assertSame(
            'ab',
            $cache->get('p', fn () => $cache->get('q', fn () => 'a') . 'b'),
            'a loader within a loader'
        );
    }

    public function testABadArgumentIsRefusedBeforeAnythingIsAsked(): void
    {
        // Nobody listens there.
        $client = client('redis://127.0.0.1:' . freePort());
        [$cache, $once] = [$client->cache('c'), $client->once('o')];
        foreach (
            [
                'name is empty' => fn () => $client->cache(''),
                'name is not UTF-8' => fn () => $client->once("\xff"),
                'fresh of -1 ms' => fn () => $client->cache('c', freshMs: -1),
                'stale of -2 ms' => fn () => $client->cache('c', staleMs: -2),
                'negative of -3 ms' => fn () => $client->cache('c', negativeMs: -3),
                'lease of 9ms' => fn () => $client->cache('c', leaseMs: 9),
                'error_ttl of' => fn () => $client->once('c', errorTtlMs: 3_600_001),
                'beta' => fn () => $client->cache('c', beta: NAN),
                'when_away "no"' => fn () => $client->cache('c', whenAway: 'no'),
                'ttl of 0' => fn () => $client->once('c', 0),
                'key is empty' => fn () => $cache->get('', never(...)),
                '2048 bytes' => fn () => $cache->peek(str_repeat('k', 2_048)),
                'wait of -1 ms' => fn () => $cache->get('x', never(...), -1),
                'wait of -2 ms' => fn () => $once->run('x', never(...), -2),
                '0 keys' => fn () => $cache->getMany([], never(...)),
                'given twice' => fn () => $cache->getMany([7, '7'], never(...)),
                'keys[1] is null: give strings or integers' => fn () => $cache->getMany(['x', null], never(...)),
                '1001 keys' => fn () => $cache->getMany(range(0, 1_000), never(...)),
            ] as $part => $call
        ) {
            $error = thrown(InvalidArgumentException::class, $call);
            self::assertSame('invalid_argument', $error->getErrorCode(), 'the code');
            self::assertStringContainsString($part, $error->getMessage());
        }
        foreach (
            [
                '#2 ($load) must be of type callable, string given' => fn () => $cache->get('x', 'nosuch'),
                '#2 ($function) must be of type callable, null given' => fn () => $once->run('x', null),
                '#1 ($key) must be of type Stringable|string|int, array given' => fn () => $cache->peek([]),
                '#1 ($id) must be of type Stringable|string|int, float given' => fn () => $once->release(1.5),
                '#2 ($value) must be of type string, int given' => fn () => $cache->put('x', 1),
                '#7 ($beta) must be of type float, string given' => fn () => $client->cache('c', beta: '1'),
                '#1 ($keys) must be of type array, string given' => fn () => $cache->getMany('x', never(...)),
            ] as $part => $call
        ) {
            self::assertStringContainsString($part, thrown(\TypeError::class, $call)->getMessage());
        }
        thrown(\ArgumentCountError::class, fn () => (new \ReflectionMethod($cache, 'put'))->invoke($cache, 'x'));
    }

    public function testAClosedClientHasNoCachesAndAKeyOfAnotherTypeIsNamed(): void
    {
        $client = client(server());
        [$cache, $once] = [$client->cache('c'), $client->once('o')];
        (new Connection(server()))->rPush($cache->redisKey('x'), 'x');
        $error = thrown(WrongTypeException::class, fn () => $cache->get('x', never(...)));
        self::assertStringContainsString('wrong_type', $error->getErrorCode());
        thrown(ClosedException::class, fn () => $cache->get('y', function () use ($client) {
            $client->close();
            return 'v';
        }));
        foreach (
            [
                fn () => $cache->get('x', never(...)),
                fn () => $cache->getMany(['x'], never(...)),
                fn () => $cache->getJson('x', never(...)),
                fn () => $cache->peek('x'),
                fn () => $cache->put('x', 'v'),
                fn () => $cache->invalidate('x'),
                fn () => $once->claim('x'),
                fn () => $once->release('x'),
                fn () => $once->run('x', never(...)),
                fn () => $client->cache('c'),
                fn () => $client->once('o'),
            ] as $call
        ) {
            thrown(ClosedException::class, $call);
        }
    }

    public function testWithoutRedisACacheFailsOrLoadsAsItWasToldAndOnceFails(): void
    {
        $client = client('redis://127.0.0.1:' . freePort());
        thrown(UnavailableException::class, fn () => $client->cache('c')->get('x', never(...)));
        thrown(UnavailableException::class, fn () => $client->cache('c')->getMany(['x'], never(...)));
        thrown(UnavailableException::class, fn () => $client->once('o')->run('x', never(...)));
        thrown(UnavailableException::class, fn () => $client->once('o')->claim('x'));
        $cache = $client->cache('c', whenAway: 'load');
        self::assertSame('v', $cache->get('x', fn () => 'v'), 'what is loaded');
        self::assertSame(
            ['x' => 'v', 'y' => 'w'],
            $cache->getMany(['x', 'y'], fn () => ['x' => 'v', 'y' => 'w']),
            'several'
        );
        $error = new \DomainException('no');
        self::assertSame(
            $error,
            thrown(\DomainException::class, fn () => $cache->get('x', fn () => throw $error)),
            'what is thrown'
        );
    }

    public function testJSONIsStoredAsDeepAsEveryLanguageReadsIt(): void
    {
        $cache = client(server())->cache('home', errorTtlMs: 0);
        $nested = fn (int $depth): array => json_decode(str_repeat('[', $depth) . str_repeat(']', $depth), true, 600);
        self::assertSame($nested(512), $cache->getJson('deep', fn () => $nested(512)), 'what is read');
        $error = thrown(\JsonException::class, fn () => $cache->getJson('deeper', fn () => $nested(513)));
        self::assertStringContainsString('depth', $error->getMessage());
        thrown(\JsonException::class, fn () => $cache->getJson('half', fn () => "\xed\xa0\xbd"));
        self::assertSame([null, null], [$cache->peek('deeper'), $cache->peek('half')], 'what is stored');
    }
}
