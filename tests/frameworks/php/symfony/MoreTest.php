<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Symfony;

use PHPUnit\Framework\TestCase;
use Quotalock\Client;
use Quotalock\Exception\InvalidArgumentException;
use Quotalock\Symfony\DependencyInjection\QuotalockExtension;
use Quotalock\Symfony\EventListener\RequestLimits;
use Quotalock\Symfony\Lock\LockStore;
use Quotalock\Symfony\RateLimiter\LimiterFactory;
use Quotalock\Symfony\Security\LoginLimiter;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\Event\RequestEvent;
use Symfony\Component\HttpKernel\Event\ResponseEvent;
use Symfony\Component\HttpKernel\Exception\BadRequestHttpException;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\Lock\Exception\LockAcquiringException;
use Symfony\Component\Lock\Key;
use Symfony\Component\Lock\Lock;
use Symfony\Component\RateLimiter\CompoundRateLimiterFactory;

use function Quotalock\Tests\client;
use function Quotalock\Tests\forked;
use function Quotalock\Tests\server;
use function Quotalock\Tests\thrown;

/** What Symfony's own tests do not ask. */
final class MoreTest extends TestCase
{
    private ?Client $client = null;

    public function testASerialisedKeyIsTakenOverByOneProcess(): void
    {
        $store = new LockStore(client(server()));
        $key = new Key('report');
        self::assertTrue((new Lock($key, $store, 60, false))->acquire());
        $text = serialize($key);
        self::assertTrue($store->exists($key));
        $adopt = fn () => forked(function () use ($store, $text): array {
            $lock = new Lock(unserialize($text), $store, 60, false);
            try {
                $lock->refresh();
                return [true, $lock->isAcquired()];
            } catch (\Exception) {
                return [false, $lock->isAcquired()];
            }
        })();
        self::assertSame([[true, true], [false, false]], [$adopt(), $adopt()]);
        // The giver releases nothing that is another's.
        (new Lock($key, $store, 60, false))->release();
        self::assertFalse((new Lock(new Key('report'), $store, 60, false))->acquire());
    }

    public function testATtlThatWasJustGrantedIsNotAskedForAgain(): void
    {
        $client = client(server());
        $until = fn () => $client->writeLock('report')->inspect()->holders[0]->untilMs;
        // A thousandth of the ttl is "just": long for the one, however late this process is, and short for the other.
        foreach ([3_600 => true, 40 => false] as $ttl => $isKept) {
            [$store, $key] = [new LockStore($client, (float) $ttl), new Key('report')];
            $store->save($key);
            $granted = $until();
            usleep(50_000);
            $store->putOffExpiration($key, (float) $ttl);
            self::assertSame($isKept, $until() === $granted, "a ttl of $ttl s");
            // Nobody is told more than is left.
            self::assertLessThan($ttl - ($isKept ? 0.003 : 0), $key->getRemainingLifetime());
            usleep(3000);
            $store->putOffExpiration($key, $ttl / 2);
            self::assertLessThan($granted - $ttl * 400, $until(), 'whether another ttl is asked for');
            $store->delete($key);
        }
    }

    public function testAKeyWithTheStateOfAnotherTouchesNothing(): void
    {
        $store = new LockStore(client(server()));
        [$key, $other] = [new Key('a'), new Key('b')];
        $store->save($key);
        $other->setState(LockStore::class, $key->getState(LockStore::class));
        thrown(InvalidArgumentException::class, fn () => $store->putOffExpiration($other, 1));
        thrown(InvalidArgumentException::class, fn () => $store->delete($other));
        self::assertTrue($store->exists($key));
        $store->delete($key);
    }

    public function testALockWithoutAutoReleaseOutlivesItsObjects(): void
    {
        $store = new LockStore(client(server()));
        self::assertTrue((new Lock(new Key('report'), $store, 60, false))->acquire());
        self::assertFalse((new Lock(new Key('report'), $store, 60))->acquire());
        self::assertTrue((new Lock(new Key('other'), $store, 60))->acquire());
        self::assertTrue((new Lock(new Key('other'), $store, 60))->acquire());
    }

    public function testALockDoesNotChangeSidesInOneStep(): void
    {
        $lock = new Lock(new Key('report'), new LockStore(client(server())), 60);
        self::assertTrue($lock->acquireRead());
        $refused = thrown(LockAcquiringException::class, fn () => $lock->acquire());
        self::assertStringContainsString('cannot change sides', $refused->getPrevious()->getMessage());
        self::assertTrue($lock->isAcquired());
        $lock->release();
        self::assertTrue($lock->acquire());
    }

    public function testLoginsAreLimitedForAUserAndForAnAddress(): void
    {
        $limiter = new LoginLimiter(client(server()), 'secret', 2);
        $login = function (string $name, string $address) use ($limiter): bool {
            $request = new Request([], [], ['_security.last_username' => $name], [], [], ['REMOTE_ADDR' => $address]);
            return $limiter->consume($request)->isAccepted();
        };
        self::assertSame([true, true, false], [
            $login('ada', '192.0.2.1'), $login('Ada', '192.0.2.1'), $login('ada', '192.0.2.1'),
        ]);
        self::assertTrue($login('ada', '192.0.2.2'));
        // Ten of an address; what was refused cost it nothing.
        $admitted = array_map(fn (int $n) => $login("user$n", '192.0.2.1'), range(1, 9));
        self::assertSame([...array_fill(0, 8, true), false], $admitted);
        // Of an IPv6 network all are one.
        self::assertSame([true, true, false], [
            $login('eve', '2001:db8::1'), $login('eve', '2001:db8::2'), $login('eve', '2001:db8::3'),
        ]);
    }

    public function testWhomARequestCountsFor(): void
    {
        $kernel = new class implements HttpKernelInterface {
            public function handle(Request $request, int $type = self::MAIN_REQUEST, bool $catch = true): Response
            {
                return new Response();
            }
        };
        $ask = function (string $path, mixed $key, string $address = '192.0.2.1') use ($kernel): ?int {
            $rule = [
                'path' => '^/(a+)+$', 'policy' => '1/minute', 'key' => $key,
                'prefetch' => null, 'legacy' => false,
            ];
            $limits = new RequestLimits($this->client ??= client(server()), ['api' => $rule]);
            $request = Request::create($path, 'GET', [], [], [], ['REMOTE_ADDR' => $address]);
            $event = new RequestEvent($kernel, $request, HttpKernelInterface::MAIN_REQUEST);
            $limits->onRequest($event);
            return $event->getResponse()?->getStatusCode();
        };
        self::assertSame([null, 429], [$ask('/a', null), $ask('/a', null)]);
        self::assertSame([null, 429], [$ask('/a', null, '2001:db8::1'), $ask('/a', null, '2001:db8::2')]);
        self::assertSame([null, 429], [$ask('/a', fn () => 42), $ask('/a', fn () => '42')]);
        self::assertSame([null, null], [$ask('/b', null), $ask('/b', null)]);
        foreach ([null, '', false, true, [], 1.5] as $nothing) {
            $problem = thrown(BadRequestHttpException::class, fn () => $ask('/a', fn () => $nothing));
            self::assertStringStartsWith('quotalock.requests.api.key: the service gave', $problem->getMessage());
        }
        // What PCRE gives up on is not unlimited.
        $hard = '/' . str_repeat('a', 40) . '!';
        ini_set('pcre.jit', '0');
        ini_set('pcre.backtrack_limit', '1000');
        $status = $ask($hard, null);
        ini_restore('pcre.jit');
        ini_restore('pcre.backtrack_limit');
        self::assertSame(429, $status);
    }

    public function testWhatTheApplicationNeverAnswersIsLimitedToo(): void
    {
        $kernel = $this->createMock(HttpKernelInterface::class);
        foreach ([null, fn () => 'ada'] as $key) {
            $rule = [
                'path' => '^/', 'policy' => '5/minute', 'key' => $key, 'prefetch' => null, 'legacy' => false,
                'expose_headers' => true,
            ];
            $limits = new RequestLimits(client(server()), ['api' => $rule]);
            $statuses = [];
            for ($round = 0; $round < 10; $round++) {
                $request = Request::create("/nowhere/$round", 'GET', [], [], [], ['REMOTE_ADDR' => '192.0.2.1']);
                $event = new RequestEvent($kernel, $request, HttpKernelInterface::MAIN_REQUEST);
                $limits->onEarlyRequest($event);
                // By address a denial comes before the application does anything.
                self::assertSame($key === null && $round >= 5, $event->getResponse() !== null);
                // The router finds nothing, or the firewall nobody, and onRequest is never called.
                $response = $event->getResponse() ?? new Response('nothing', 404);
                $event = new ResponseEvent($kernel, $request, HttpKernelInterface::MAIN_REQUEST, $response);
                $limits->onResponse($event);
                $statuses[] = $event->getResponse()->getStatusCode();
                $headers = $event->getResponse()->headers;
                $exposed = $headers->get('Access-Control-Expose-Headers');
                self::assertSame('RateLimit-Policy, RateLimit, Retry-After', $exposed);
            }
            self::assertSame([404 => 5, 429 => 5], array_count_values($statuses));
        }
    }

    public function testACompoundLimiterAsksOurs(): void
    {
        $make = fn (string $id, int $limit) => new LimiterFactory(
            $this->client ??= client(),
            ['id' => $id, 'policy' => 'fixed_window', 'limit' => $limit, 'interval' => '1 minute'],
        );
        $accepted = fn (object $limiter): array => array_map(fn () => $limiter->consume()->isAccepted(), range(1, 3));
        // Before version 7.3 an application asks one after the other.
        $limiter = class_exists(CompoundRateLimiterFactory::class)
            ? (new CompoundRateLimiterFactory([$make('one', 5), $make('two', 2)]))->create('ada')
            : $make('two', 2)->create('ada');
        self::assertSame([true, true, false], $accepted($limiter));
    }

    public function testLimitsOfOneNameInTwoSectionsAreTwo(): void
    {
        $client = client(server());
        $rule = [
            'path' => '^/', 'policy' => '1/minute', 'key' => fn () => 'kada',
            'prefetch' => null, 'legacy' => false,
        ];
        $limits = new RequestLimits($client, ['api' => $rule]);
        $kernel = $this->createMock(HttpKernelInterface::class);
        $event = new RequestEvent($kernel, Request::create('/'), HttpKernelInterface::MAIN_REQUEST);
        $limits->onRequest($event);
        self::assertNull($event->getResponse());
        $factory = new LimiterFactory($client, ['id' => 'api', 'policy' => '1/minute']);
        foreach (['ada', '=kada', str_repeat('a', 5000)] as $key) {
            self::assertSame([true, false], [
                $factory->create($key)->consume()->isAccepted(), $factory->create($key)->consume()->isAccepted(),
            ]);
        }
    }

    public function testTwoFirewallsHaveUsersOfTheirOwn(): void
    {
        $limiter = new LoginLimiter(client(server()), 'secret', 1);
        $login = function (string $firewall) use ($limiter): bool {
            $attributes = ['_security.last_username' => 'ada', '_firewall_context' => $firewall];
            $request = new Request([], [], $attributes, [], [], ['REMOTE_ADDR' => '192.0.2.1']);
            return $limiter->consume($request)->isAccepted();
        };
        self::assertSame([true, true, false], [$login('main'), $login('admin'), $login('main')]);
    }

    public function testALimitOfRequestsTakesALease(): void
    {
        $rule = ['path' => '^/', 'policy' => '100/hour', 'key' => fn () => 'a', 'prefetch' => 10, 'legacy' => false];
        $limits = new RequestLimits(client(server()), ['api' => $rule]);
        $sources = array_map(function () use ($limits): string {
            $request = Request::create('/');
            $kernel = $this->createMock(HttpKernelInterface::class);
            $limits->onRequest(new RequestEvent($kernel, $request, HttpKernelInterface::MAIN_REQUEST));
            return $request->attributes->get('_quotalock_decision')->source;
        }, range(1, 20));
        self::assertGreaterThan(10, array_count_values($sources)['lease'] ?? 0, implode(' ', $sources));
    }

    public function testWhatCannotBeIsToldWithItsPlace(): void
    {
        $wrong = [
            'Rate limiter "api": Cannot parse interval "1 minut"' => [
                'policy' => 'fixed_window', 'interval' => '1 minut',
            ],
            'Rate limiter "api": it has no policy' => ['policy' => ''],
            'Rate limiter "api": the policy "token_bucket" needs a "limit"' => [
                'policy' => 'token_bucket', 'limit' => null,
            ],
            'Rate limiter "api": Quotalock\Rule::__construct(): Argument #1 ($limit) must be of type int' => [
                'policy' => 'fixed_window', 'interval' => '1 minute', 'limit' => '1',
            ],
            'Rate limiter "~api": The limit "~api" begins with ~' => ['policy' => 'no_limit', 'id' => '~api'],
            'Rate limiter "api": there is no option "burst"' => ['policy' => 'fixed_window', 'burst' => 1],
        ];
        foreach ($wrong as $message => $config) {
            $config += ['id' => 'api', 'limit' => 1];
            $problem = thrown(\LogicException::class, fn () => new LimiterFactory(client(), $config));
            self::assertStringStartsWith($message, $problem->getMessage());
        }
        $requests = [
            'quotalock.requests.api.policy: ' => ['path' => '^/api', 'policy' => 'ten a minute'],
            'quotalock.requests.api.policy: prefetch ' => [
                'path' => '^/api', 'policy' => '10/minute', 'prefetch' => 11,
            ],
            'quotalock.requests.api.path: ' => ['path' => '^/api(', 'policy' => '10/minute'],
        ];
        foreach ($requests as $place => $rule) {
            $class = \Symfony\Component\DependencyInjection\Exception\InvalidArgumentException::class;
            $config = [['requests' => ['api' => $rule]]];
            $problem = thrown($class, fn () => (new QuotalockExtension())->load($config, new ContainerBuilder()));
            self::assertStringStartsWith($place, $problem->getMessage());
        }
    }
}
