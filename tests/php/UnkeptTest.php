<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Lock;

/** Handles that nobody keeps: what they held is gone at once, and PHP says so. Whoever keeps one hears nothing. */
final class UnkeptTest extends TestCase
{
    private ?Lock $kept = null;

    /** What PHP warned of meanwhile. */
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

    /** @return iterable<string, array{string, \Closure}> what is warned of, and what does it */
    public static function slips(): iterable
    {
        $released = fn (string $what) => "Quotalock\Lock::acquire(): $what was released because nothing keeps its"
            . ' handle: keep it in a variable until you release it';
        yield 'lock' => [$released('lock "n"'), function (Client $client) {
            $client->lock('n')->acquire();
        }];
        yield 'condition' => [$released('lock "n"'), function (Client $client) {
            if (!$client->lock('n')->acquire(10)) {
                self::fail('it is free');
            }
        }];
        yield 'returned' => [$released('lock "n"'), fn (Client $client) => $client->lock('n')->acquire()];
        yield 'several' => [$released('lock "n" and "m"'), function (Client $client) {
            $client->lockAll(['n', 'm'])->acquire();
        }];
        yield 'semaphore' => [$released('semaphore "n"'), function (Client $client) {
            $client->semaphore('n', 2)->acquire();
        }];
        yield 'reader' => [$released('read lock "n"'), function (Client $client) {
            $client->readLock('n')->acquire();
        }];
        yield 'writer' => [$released('write lock "n"'), function (Client $client) {
            $client->writeLock('n')->acquire();
        }];
        yield 'quorum' => [$released('lock "n"'), function () {
            $clients = array_map(fn () => client('memory://' . prefix()), range(1, 3));
            \Quotalock\quorum_lock($clients, 'n')->acquire();
        }];
        $adopted = 'Quotalock\Client::adopt(): lock "n" was released because nothing keeps its handle:'
            . ' keep it in a variable until you release it';
        yield 'adopted' => [$adopted, function (Client $client) {
            $lock = $client->lock('n');
            $lock->acquire();
            $client->adopt($lock->handover());
        }];
        $reserved = 'Quotalock\Limiter::reserve(): a reservation of limiter "api" was dropped: settle or cancel it,'
            . ' or keep its id';
        yield 'reservation' => [$reserved, function (Client $client) {
            $client->limiter('api', '10/minute')->reserve('k', 5, 1_000);
        }];
        $taken = fn (string $call) => "Quotalock\\$call(): a reservation of stock \"sale\" was dropped:"
            . ' confirm or cancel it, or give the take a request id';
        yield 'taken' => [$taken('Stock::take'), function (Client $client) {
            $stock = $client->stock('sale');
            $stock->open(10);
            $stock->take('buyer');
        }];
        yield 'all taken' => [$taken('Client::takeAll'), function (Client $client) {
            $stock = $client->stock('sale');
            $stock->open(10);
            $client->takeAll([[$stock, 1]], 'buyer');
        }];
    }

    /** @return iterable<string, array{\Closure}> what keeps its handle, or has nothing to keep */
    public static function keeps(): iterable
    {
        yield 'variable that ends with its function' => [function (Client $client) {
            $lock = $client->lock('n');
            self::assertTrue($lock->acquire(), 'whether it is granted');
        }];
        yield 'assigned on the way' => [function (Client $client) {
            ($lock = $client->lock('n'))->acquire();
            $lock->release();
        }];
        yield 'property' => [function (Client $client, self $test) {
            $test->kept = $client->lock('n');
            $test->kept->acquire();
        }];
        yield 'array' => [function (Client $client) {
            $all = ['n' => $client->lock('n')];
            $all['n']->acquire();
        }];
        yield 'argument' => [fn (Client $client) => (fn (Lock $lock) => $lock->acquire())($client->lock('n'))];
        yield 'callable' => [function (Client $client) {
            $lock = $client->lock('n');
            call_user_func([$lock, 'acquire']);
            $lock->release();
            $acquire = $lock->acquire(...);
            unset($lock);
            $acquire();
        }];
        yield 'generator' => [function (Client $client) {
            $going = (function () use ($client) {
                $lock = $client->lock('n');
                yield $lock->acquire();
            })();
            $going->current();
        }];
        yield 'fiber' => [function (Client $client) {
            $fiber = new \Fiber(function () use ($client) {
                $lock = $client->lock('n');
                $lock->acquire();
                \Fiber::suspend();
            });
            $fiber->start();
        }];
        yield 'returned' => [function (Client $client) {
            $lock = (function () use ($client) {
                $lock = $client->lock('n');
                $lock->acquire();
                return $lock;
            })();
            self::assertTrue($lock->held, 'whether it is held');
        }];
        yield 'run' => [fn (Client $client) => $client->lock('n')->run(fn (Lock $lock) => $lock->assertHeld())];
        yield 'not granted' => [function (Client $client) {
            $lock = $client->lock('n');
            $lock->acquire();
            $client->lock('n')->acquire();
        }];
        yield 'adopted' => [function (Client $client) {
            $lock = $client->lock('n');
            $lock->acquire();
            $adopted = $client->adopt($lock->handover());
            $client->adopt($adopted->handover())->release();
        }];
        yield 'reservation' => [function (Client $client) {
            $limiter = $client->limiter('api', '10/minute');
            $kept = $limiter->reserve('k', 5, 60_000);
            $id = $limiter->reserve('k', 5, 60_000)->id;
            self::assertTrue($kept->cancel() && $limiter->reservation('k', $id)->settle(1), 'what is told of them');
        }];
        yield 'denied' => [function (Client $client) {
            $limiter = $client->limiter('api', '10/minute');
            $limiter->consume('k', 10);
            $limiter->reserve('k', 5, 1_000);
        }];
        yield 'taken' => [function (Client $client) {
            $stock = $client->stock('sale');
            $stock->open(2);
            $taken = $stock->take('buyer');
            $stock->take('buyer', requestId: 'order');
            $stock->take('buyer');
            self::assertSame('held', $taken->outcome, 'what became of it');
        }];
    }

    /** @dataProvider slips */
    public function testWhoKeepsNoHandleIsTold(string $wanted, \Closure $slip): void
    {
        foreach (['memory://' . prefix(), server()] as $url) {
            $client = client($url);
            self::assertSame([[E_WARNING, $wanted]], self::warnings(fn () => $slip($client)), "the warnings on $url");
            $kinds = ['lock', 'readLock', 'writeLock'];
            $holders = array_map(fn (string $kind) => $client->$kind('n')->inspect()->holders, $kinds);
            self::assertSame([[], [], []], $holders, 'who holds it');
        }
    }

    /** @dataProvider keeps */
    public function testWhoKeepsItIsToldNothing(\Closure $does): void
    {
        $client = client('memory://' . prefix());
        self::assertSame([], self::warnings(fn () => $does($client, $this)), 'the warnings');
        $this->kept = null;
    }

    public function testTheEndOfTheScriptIsNoSlip(): void
    {
        $begin = '$client = new Quotalock\Client("memory://"); $lock = $client->lock("n"); $lock->acquire();';
        foreach (['', 'exit;', 'function f($l) { static $kept; $kept = $l; } f($lock);'] as $end) {
            self::assertSame(['', 0], php($begin . $end), "what is written before \"$end\"");
        }
    }

    public function testAHandlerOfErrorsMayThrowOrEndTheScript(): void
    {
        $slips = [
            '$client->lock("n")->acquire();',
            '$lock = $client->lock("n"); $lock->acquire(); $client->adopt($lock->handover());',
            '$client->limiter("n", "9/s")->reserve("k", 1, 1000);',
            '$stock = $client->stock("n"); $stock->open(9); $stock->take("k");',
        ];
        $handlers = [
            'throw new DomainException("thrown")' => [255, 'thrown'],
            'exit(3)' => [3, ''],
            'nosuch()' => [255, 'nosuch'],
            'trigger_error("fatal", E_USER_ERROR)' => [255, 'fatal'],
            'str_repeat("x", 1 << 40)' => [255, 'emory'],
        ];
        foreach ($slips as $slip) {
            foreach ($handlers as $handler => [$code, $said]) {
                $script = "set_error_handler(function (\$level) { return \$level === E_WARNING ? $handler : false; });"
                    . "\$client = new Quotalock\Client('memory://'); $slip echo 'never';";
                [$output, $exit] = php($script, ['-d', 'memory_limit=64M']);
                self::assertSame($code, $exit, "the exit code of $slip with $handler, after \"$output\"");
                self::assertStringContainsString($said, $output);
                self::assertStringNotContainsString('never', $output);
            }
        }
    }
}
