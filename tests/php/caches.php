<?php

/** Caches and what is done once: who makes a value, and who gets it. */

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Cache;
use Quotalock\Client;
use Quotalock\Exception\ClosedException;
use Quotalock\Exception\InvalidArgumentException;
use Quotalock\Exception\LoadFailedException;
use Quotalock\Exception\TimeoutException;
use Quotalock\Exception\UnavailableException;
use Quotalock\Exception\WrongTypeException;
use Quotalock\Seen;

foreach (['memory' => 'memory://', ...servers()] as $store => $url) {
    test("one loads, and the others get it, on $store", function () use ($url) {
        $client = client($url);
        $cache = $client->cache('home');
        same(['home', "$client->prefix:cache:home:{x}"], [$cache->name, $cache->redisKey('x')], 'the names');
        same(null, $cache->peek('x'), 'what is there before');
        $calls = [];
        $load = function (...$arguments) use (&$calls, $client) {
            $calls[] = $arguments;
            $took = elapsed(fn () => thrown(TimeoutException::class, fn () => $client->cache('home')->get(
                'x',
                never(...),
                0
            )));
            // Others wait for longer than a lease.
            holds($took < 2_000, "that nobody waits who does not want to: $took ms");
            return "\0\xff";
        };
        same("\0\xff", $cache->get('x', $load), 'what is loaded');
        same("\0\xff", $cache->get('x', never(...)), 'what the next one gets');
        same([[]], $calls, 'the calls of the loader');
        $seen = $cache->peek('x');
        same(["\0\xff", false, Seen::class], [$seen->value, $seen->stale, $seen::class], 'what is seen');
        holds($seen->ageMs >= 0 && $seen->ageMs < 5_000, "that it is $seen->ageMs ms old");
        same([true, false], [$cache->invalidate('x'), $cache->invalidate('x')], 'whether there was anything');
        same(true, $cache->put('x', 'put'), 'whether it is stored');
        same('put', $cache->get('x', never(...)), 'what was put');
        same(null, $cache->get(42, fn () => null), 'what is not there');
        same([null, null], [$cache->get('42', never(...)), $cache->peek(42)->value], 'what is known of it');
        same('', $cache->get(new Stringable42(), never(...)) ?? '', 'by an object');
        $cache->put('42', null);
        same(null, $cache->peek('42')->value, 'nothing that was put');
        same('s', $cache->get('static', new class {
            public function __invoke(): string
            {
                return 's';
            }
        }), 'of an object that can be called');
    });

    test("what a loader throws gets out, and others hear of it for a while, on $store", function () use ($url) {
        $client = client($url);
        [$cache, $soon] = [$client->cache('home', errorsMs: 60_000), $client->cache('soon', errorsMs: 100)];
        $error = new \DomainException('no such table');
        same($error, thrown(\DomainException::class, fn () => $cache->get('x', fn () => throw $error)), 'the error');
        $theirs = thrown(LoadFailedException::class, fn () => $cache->get('x', never(...)));
        same('load_failed', $theirs->getErrorCode(), 'the code');
        contains('DomainException: no such table', $theirs->getMessage());
        same(__FILE__, $theirs->getFile(), 'where it was thrown');
        thrown(\DomainException::class, fn () => $soon->get('x', fn () => throw $error));
        usleep(120_000);
        same('v', $soon->get('x', fn () => 'v'), 'what is loaded when it is over');
        // A value that is stale is better than none.
        $stale = client($url)->cache('home', freshMs: 1, staleMs: 60_000, errorsMs: 60_000);
        $stale->put('x', 'old');
        usleep(2_000);
        thrown(\DomainException::class, fn () => $stale->get('x', fn () => throw $error));
        same('old', $stale->get('x', never(...)), 'what others get');
    });

    test("what is no value is refused, and the way is free, on $store", function () use ($url) {
        $cache = client($url)->cache('home', leaseMs: 60_000, errorsMs: 0);
        foreach ([42, 1.5, true, [], new Stringable42()] as $value) {
            $error = thrown(\TypeError::class, fn () => $cache->get('x', fn () => $value));
            contains('must return a value of type ?string', $error->getMessage());
        }
        contains('of type ?string, int returned', thrown(
            \TypeError::class,
            fn () => $cache->getMany(['x', 'y'], fn () => ['y' => 5])
        )->getMessage());
        contains('of type array, string returned', thrown(
            \TypeError::class,
            fn () => $cache->getMany(['x', 'y'], fn () => 'x')
        )->getMessage());
        $large = str_repeat('x', (64 << 20) + 1);
        $error = thrown(InvalidArgumentException::class, fn () => $cache->get('x', fn () => $large));
        contains('67108865 bytes', $error->getMessage());
        contains('67108865 bytes', thrown(
            InvalidArgumentException::class,
            fn () => $cache->put('x', $large)
        )->getMessage());
        thrown(\JsonException::class, fn () => $cache->getJson('x', fn () => NAN));
        thrown(\JsonException::class, fn () => $cache->getJson('x', fn () => ["\xff"]));
        same('v', $cache->get('x', fn () => 'v', 0), 'what is loaded then');
    });

    test("several keys are one look, and one call of the loader, on $store", function () use ($url) {
        $cache = client($url)->cache('home');
        $cache->put('b', '2');
        $asked = [];
        $load = function (array $keys) use (&$asked) {
            $asked[] = $keys;
            return ['a' => '1', 7 => '7', "\xff" => 'bytes', 'more' => 'ignored'];
        };
        $wanted = ["\xff" => 'bytes', 'b' => '2', 7 => '7', 'none' => null, 'a' => '1', '07' => null];
        same($wanted, $cache->getMany(["\xff", 'b', 7, 'none', 'a', '07'], $load), 'the values');
        same([["\xff", '7', 'none', 'a', '07']], $asked, 'what was loaded');
        same($wanted, $cache->getMany(array_map(strval(...), array_keys($wanted)), never(...)), 'the values again');
        same([null, null], [$cache->peek('more'), $cache->peek('none')->value], 'what is stored');
        $error = new \DomainException('no');
        same($error, thrown(\DomainException::class, fn () => $cache->getMany(['p', 'q'], fn () => throw $error)), '');
        thrown(LoadFailedException::class, fn () => $cache->get('q', never(...)));
        $failed = thrown(LoadFailedException::class, fn () => $cache->getMany(['p', 'r'], fn () => ['r' => 'r']));
        contains('"p"', $failed->getMessage());
        same('r', $cache->peek('r')->value, 'what was loaded all the same');
    });

    test("JSON comes back as it was loaded, on $store", function () use ($url) {
        $cache = client($url)->cache('home');
        $value = ['a' => [1, 1.0, true, null, 'ü/"', -0.5, 2 ** 60], 'b' => []];
        same($value, $cache->getJson('x', fn () => $value), 'to who loads it');
        same($value, $cache->getJson('x', never(...)), 'to others');
        same('{"a":[1,1.0,true,null,"ü/\"",-0.5,1152921504606846976],"b":[]}', $cache->peek('x')->value, 'as stored');
        $object = new class implements \JsonSerializable {
            public function jsonSerialize(): array
            {
                return ['o' => new \stdClass()];
            }
        };
        same(['o' => []], $cache->getJson('y', fn () => $object), 'an object');
        same([null, null], [$cache->getJson('z', fn () => null), $cache->peek('z')->value], 'null');
        foreach ([0, false, '', 'text', 0.0] as $i => $scalar) {
            same($scalar, $cache->getJson("s$i", fn () => $scalar), 'a scalar');
            same($scalar, $cache->getJson("s$i", never(...)), 'a scalar again');
        }
        $cache->put('bad', '{');
        thrown(\JsonException::class, fn () => $cache->getJson('bad', never(...)));
    });

    test("the first claims, and the others learn what it gave, on $store", function () use ($url) {
        $client = client($url);
        $once = $client->once('coupon', 60_000);
        same(['coupon', "$client->prefix:once:coupon:{a}"], [$once->name, $once->redisKey('a')], 'the names');
        $first = $once->claim('a', "1\0");
        same([true, "1\0", false], [$first->first, $first->value, $first->running], 'the first');
        $second = $once->claim('a', '2');
        same([false, "1\0", false], [$second->first, $second->value, $second->running], 'the second');
        holds($second->remainingMs > 50_000 && $second->remainingMs <= 60_000, "$second->remainingMs ms remain");
        holds($second->ageMs < 5_000, "it is $second->ageMs ms old");
        same([true, false], [$once->release('a'), $once->release('a')], 'whether it was claimed');
        same([true, null], [$once->claim('a')->first, $once->claim('a')->value], 'without a value');
        same([null, 'r'], [$once->run('a', never(...)), $once->run(7, fn () => 'r')], 'runs');
        same(['r', false], [$once->claim('7')->value, $once->claim(7)->first], 'a claim of what has run');
        $error = new \DomainException('declined');
        $fail = function () use ($once, $error) {
            $claimed = $once->claim('b');
            same([false, true, null], [$claimed->first, $claimed->running, $claimed->value], 'a claim meanwhile');
            holds($claimed->remainingMs > 5_000, "that the lease lasts for $claimed->remainingMs ms");
            throw $error;
        };
        same($error, thrown(\DomainException::class, fn () => $once->run('b', $fail)), 'what comes out');
        same('paid', $once->run('b', fn () => 'paid'), 'the next one runs');
        same('paid', $once->run('b', never(...)), 'the others get its result');
        $slow = $client->once('slow', errorsMs: 60_000);
        thrown(\DomainException::class, fn () => $slow->run('b', fn () => throw $error));
        contains('declined', thrown(LoadFailedException::class, fn () => $slow->run('b', never(...)))->getMessage());
    });

    test("a loader may be suspended and gone on with, or given up, on $store", function () use ($url) {
        $cache = client($url)->cache('home', leaseMs: 60_000);
        $fiber = new \Fiber(fn () => $cache->get('x', fn () => \Fiber::suspend('in')));
        same('in', $fiber->start(), 'what it was suspended with');
        thrown(TimeoutException::class, fn () => $cache->get('x', never(...), 0));
        same('other', $cache->get('y', fn () => 'other'), 'another key');
        $fiber->resume('v');
        same(['v', 'v'], [$fiber->getReturn(), $cache->get('x', never(...))], 'what it returned');
        $fiber = new \Fiber(fn () => $cache->get('z', fn () => \Fiber::suspend()));
        $fiber->start();
        unset($fiber);
        gc_collect_cycles();
        same('v', $cache->get('z', fn () => 'v', 0), 'what is loaded when it was given up');
        same('ab', $cache->get('p', fn () => $cache->get('q', fn () => 'a') . 'b'), 'a loader within a loader');
    });
}

foreach (servers() as $store => $url) {
    test("of fifty processes at the moment of its end one loads, on $store", function () use ($url) {
        $prefix = prefix();
        // What is loaded is fresh for a minute: on a busy machine some come late.
        $cache = fn (int $fresh = 60_000): Cache => (new Client($url, $prefix))->cache('home', $fresh, beta: 0);
        $cache(600)->put('x', 'old');
        $end = hrtime(true) + 600_000_000;
        $children = [];
        for ($worker = 0; $worker < 50; $worker++) {
            $children[] = forked(function () use ($cache, $url, $prefix, $end) {
                $cache = $cache();
                $redis = redis($url);
                usleep(max(0, (int) (($end - hrtime(true)) / 1_000)));
                do {
                    $got = $cache->get('x', function () use ($redis, $prefix) {
                        usleep(200_000);
                        return 'new' . $redis->incr("$prefix:loads");
                    });
                } while ($got === 'old');
                return $got;
            });
        }
        $found = array_count_values(array_map(fn (\Closure $child) => $child(), $children));
        same(['new1' => 50], $found, 'what they got');
        same('1', redis($url)->get("$prefix:loads"), 'the loads');
    });

    test("who waits hears soon of a value, and of a failure, on $store", function () use ($url) {
        foreach (['v', null] as $value) {
            $prefix = prefix();
            $cache = (new Client($url, $prefix))->cache('home');
            $child = $answer = null;
            $load = function () use ($url, $prefix, $value, $cache, &$child, &$freed) {
                $child = forked(function () use ($url, $prefix) {
                    try {
                        $found = (new Client($url, $prefix))->cache('home')->get('x', never(...), 10_000);
                    } catch (LoadFailedException $error) {
                        $found = $error->getMessage();
                    }
                    return [$found, hrtime(true)];
                });
                eventually(fn () => redis($url)->exists($cache->redisKey('x') . ':wait') === 1, fn () => 'none waits');
                usleep(100_000);
                $freed = hrtime(true);
                return $value ?? throw new \DomainException('no such table');
            };
            $stalls = stalls(function () use ($cache, $load, &$child, &$answer) {
                try {
                    $cache->get('x', $load);
                } catch (\DomainException) {
                }
                $answer = $child();
            });
            [$found, $at] = $answer;
            contains($value ?? 'no such table', $found);
            $late = ($at - $freed) / 1e6;
            holds($late > 0 && $late < 700 + $stalls, "that it was heard after $late ms");
        }
    });

    test("when a loader was killed one more loads after its lease, on $store", function () use ($url) {
        $prefix = prefix();
        $before = hrtime(true);
        $pid = pcntl_fork();
        if ($pid === 0) {
            (new Client($url, $prefix))->cache('home', leaseMs: 800)->get('x', function () {
                posix_kill(getmypid(), SIGKILL);
            });
        }
        pcntl_waitpid($pid, $status);
        same(SIGKILL, pcntl_wtermsig($status), 'what ended it');
        $children = [];
        for ($worker = 0; $worker < 8; $worker++) {
            $children[] = forked(function () use ($url, $prefix) {
                $redis = redis($url);
                $load = fn () => (string) $redis->incr("$prefix:loads");
                return [(new Client($url, $prefix))->cache('home')->get('x', $load, 10_000), hrtime(true)];
            });
        }
        foreach ($children as $child) {
            [$got, $at] = $child();
            same('1', $got, 'what it got');
            $took = ($at - $before) / 1e6;
            holds($took >= 800 && $took < 5_000, "that it had it $took ms after the lease began, or a little more");
        }
    });
}

test('a bad argument is refused before anything is asked', function () {
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
            'errors of' => fn () => $client->once('c', errorsMs: 3_600_001),
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
        same('invalid_argument', $error->getErrorCode(), 'the code');
        contains($part, $error->getMessage());
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
        contains($part, thrown(\TypeError::class, $call)->getMessage());
    }
    thrown(\ArgumentCountError::class, fn () => (new \ReflectionMethod($cache, 'put'))->invoke($cache, 'x'));
});

test('a closed client has no caches, and a key of another type is named', function () {
    $client = client(server());
    [$cache, $once] = [$client->cache('c'), $client->once('o')];
    redis(server())->rPush($cache->redisKey('x'), 'x');
    $error = thrown(WrongTypeException::class, fn () => $cache->get('x', never(...)));
    contains('wrong_type', $error->getErrorCode());
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
});

test('without Redis a cache fails or loads, as it was told, and once fails', function () {
    $client = client('redis://127.0.0.1:' . freePort());
    thrown(UnavailableException::class, fn () => $client->cache('c')->get('x', never(...)));
    thrown(UnavailableException::class, fn () => $client->cache('c')->getMany(['x'], never(...)));
    thrown(UnavailableException::class, fn () => $client->once('o')->run('x', never(...)));
    thrown(UnavailableException::class, fn () => $client->once('o')->claim('x'));
    $cache = $client->cache('c', whenAway: 'load');
    same('v', $cache->get('x', fn () => 'v'), 'what is loaded');
    same(['x' => 'v', 'y' => 'w'], $cache->getMany(['x', 'y'], fn () => ['x' => 'v', 'y' => 'w']), 'several');
    $error = new \DomainException('no');
    same($error, thrown(\DomainException::class, fn () => $cache->get('x', fn () => throw $error)), 'what is thrown');
});

test('JSON is stored as deep as every language reads it', function () {
    $cache = client(server())->cache('home', errorsMs: 0);
    $nested = fn (int $depth): array => json_decode(str_repeat('[', $depth) . str_repeat(']', $depth), true, 600);
    same($nested(512), $cache->getJson('deep', fn () => $nested(512)), 'what is read');
    $error = thrown(\JsonException::class, fn () => $cache->getJson('deeper', fn () => $nested(513)));
    contains('depth', $error->getMessage());
    thrown(\JsonException::class, fn () => $cache->getJson('half', fn () => "\xed\xa0\xbd"));
    same([null, null], [$cache->peek('deeper'), $cache->peek('half')], 'what is stored');
});
