<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Exception\LostException;
use Quotalock\Exception\RateLimitedException;
use Quotalock\Exception\UnavailableException;

/** `onDecision` and `onLost`: what is told to whom, how often, and what a function that fails changes. */
final class HooksTest extends TestCase
{
    /** What `onDecision` was told: decisions with their keys. */
    private array $told = [];

    private function telling(string $url, mixed ...$options): Client
    {
        $tell = function (mixed ...$given): void {
            $this->told[] = $given;
        };
        return new Client($url, prefix(), 10_000, ...$options, onDecision: $tell);
    }

    /** What was told since the last time. */
    private function told(): array
    {
        [$told, $this->told] = [$this->told, []];
        return $told;
    }

    /** @dataProvider stores */
    public function testEachVerbThatChargesOrDeniesIsTold(string $url): void
    {
        $limiter = $this->telling($url)->limiter('checkout', '3/hour');
        $key = new Stringable42();
        $decided = [
            $limiter->consume('a'),
            $limiter->consume('b', 2, requestId: '1'),
            $limiter->consumeUpTo($key, 5),
            $limiter->require('a'),
            $limiter->wait('a', 10_000),
        ];
        $reservation = $limiter->reserve(7, 1, 60_000);
        $denied = $limiter->consume('a');
        $whom = ['a', 'b', $key, 'a', 'a', 7, 'a'];
        $expected = array_map(null, [...$decided, $reservation->decision, $denied], $whom);
        self::assertSame($expected, $this->told(), 'what was told');
        $limited = thrown(RateLimitedException::class, fn () => $limiter->require('a'));
        self::assertEquals([[$limited->getDecision(), 'a']], $this->told(), 'what was told of what was thrown');
    }

    /** @dataProvider stores */
    public function testWhatDecidesNothingIsNotTold(string $url): void
    {
        $limiter = $this->telling($url)->limiter('checkout', '3/hour');
        $limiter->peek('a');
        $limiter->reset('a');
        $limiter->consume('a', 0);
        $limiter->block('b', 60_000);
        self::assertSame([], $this->told(), 'what was told of looks and blocks');
        $reservation = $limiter->reserve('r', 1, 60_000);
        $this->told();
        $limiter->refund('a', 1);
        $reservation->settle(1);
        refused('invalid_argument', fn () => $limiter->consume(''));
        self::assertSame([], $this->told(), 'what was told');
        // It denies whatever is asked for.
        self::assertSame([[$limiter->consume('b', 0), 'b']], $this->told(), 'what was told of a blocked key');
    }

    /** @dataProvider stores */
    public function testOfSeveralChargesEachIsToldThatCounted(string $url): void
    {
        $client = $this->telling($url);
        [$user, $shop] = [$client->limiter('user', '2/hour', 's'), $client->limiter('shop', '1/hour', 's')];
        $trial = $client->limiter('trial', '1/hour', 's', enforce: false);
        $trial->consume('t');
        $this->told();
        $both = $client->consumeAll([[$user, 42], [$shop, 's']]);
        self::assertSame([[$both->decisions[0], 42], [$both->decisions[1], 's']], $this->told(), 'what was told');
        $denied = $client->consumeAll([[$user, 42], [$shop, 's'], [$trial, 't']]);
        self::assertSame([false, true], [$denied->allowed, $denied->decisions[0]->allowed], 'who was denied');
        // The first would have been admitted: it was neither charged nor denied.
        $expected = [[$denied->decisions[1], 's'], [$denied->decisions[2], 't']];
        self::assertSame($expected, $this->told(), 'what was told of a denial');
    }

    public function testDecisionsWithoutRedisAreTold(): void
    {
        $limiter = $this->telling(server(), denyCacheMaxMs: 60_000)->limiter('checkout', '2/hour');
        for ($i = 0; $i < 4; $i++) {
            $limiter->consume('a');
        }
        self::assertSame('deny-cache', $this->told()[3][0]->source, 'the source of a denial that is remembered');
        $away = 'unix:///nonexistent/quotalock.sock';
        foreach (['open', 'closed', 'local'] as $how) {
            $this->telling($away, onError: $how)->limiter('checkout', '2/hour')->consume('a');
            self::assertSame([$how], array_map(fn (array $each) => $each[0]->source, $this->told()), 'the source');
        }
        $limiter = $this->telling($away)->limiter('checkout', '2/hour');
        thrown(UnavailableException::class, fn () => $limiter->consume('a'));
        self::assertSame([], $this->told(), 'what was told of a call that failed');
    }

    /** @dataProvider stores */
    public function testALossIsToldOnce(string $url): void
    {
        $lost = [];
        $client = new Client($url, prefix(), 10_000, onLost: function (mixed ...$given) use (&$lost): void {
            $lost[] = $given;
        });
        $lock = $client->lock('sku:42');
        $lose = fn () => $client->lock('sku:42')->forceRelease();
        $lock->acquire();
        $lose();
        self::assertSame([false, [[$lock]]], [$lock->release(), $lost], 'what the release found');
        $lock->acquire();
        $lose();
        $found = [$lock->extend(), $lock->state, $lock->release(), count($lost)];
        self::assertSame([false, 'lost', false, 2], $found, 'what the extension found');
        $lock->acquire();
        self::assertSame([true, 2], [$lock->release(), count($lost)], 'what is not lost');
        thrown(LostException::class, fn () => $lock->run($lose));
        self::assertSame([$lock], $lost[2] ?? null, 'what the end of a function found');
        $brief = $client->lock('sku:43', 500);
        $brief->acquire();
        usleep(550_000);
        thrown(LostException::class, fn () => $brief->assertHeld());
        self::assertSame([[$brief], 4], [$lost[3] ?? null, count($lost)], 'what a look found');
    }

    public function testWhatItThrowsIsAWarningAndChangesNothing(): void
    {
        $fail = fn () => throw new \LogicException('of the hook');
        $client = new Client(server(), prefix(), 10_000, onDecision: $fail, onLost: $fail);
        $limiter = $client->limiter('checkout', '1/hour', 's');
        $lock = $client->lock('sku:42');
        $lock->acquire();
        $lock->forceRelease();
        $calls = [
            'what is admitted' => fn () => self::assertTrue($limiter->consume('a')->allowed),
            'what is thrown' => fn () => thrown(RateLimitedException::class, fn () => $limiter->require('a')),
            'several charges' => fn () => self::assertFalse($client->consumeAll([[$limiter, 'a']])->allowed),
            'an estimate' => fn () => self::assertFalse($limiter->reserve('a', 1, 1_000)->decision->allowed),
            'a release' => fn () => self::assertFalse($lock->release()),
        ];
        $settings = array_map(fn (string $name) => [$name, ini_set($name, '0')], ['display_errors', 'log_errors']);
        // Many make exceptions of warnings, which would change what the caller gets: they are not asked.
        set_error_handler(fn (int $level, string $message) => throw new \ErrorException($message));
        try {
            foreach ($calls as $what => $call) {
                error_clear_last();
                $call();
                $warning = error_get_last();
                self::assertSame(E_WARNING, $warning['type'] ?? null, "the level of the warning after $what");
                $words = 'Uncaught LogicException: of the hook in ' . __FILE__;
                self::assertStringStartsWith($words, $warning['message'], "the warning after $what");
            }
        } finally {
            restore_error_handler();
            array_map(fn (array $setting) => ini_set(...$setting), $settings);
            error_clear_last();
        }
    }

    public function testItMayCallTheClient(): void
    {
        $log = null;
        $client = new Client(server(), prefix(), 10_000, onDecision: function ($decision) use (&$log): void {
            if ($decision->name === 'checkout') {
                $log->consume('all');
            }
        });
        [$limiter, $log] = [$client->limiter('checkout', '3/hour'), $client->limiter('log', '100/hour')];
        for ($i = 0; $i < 4; $i++) {
            $limiter->consume('a');
        }
        self::assertSame(96, $log->peek('all')->remaining, 'what the hook left');
    }

    public function testAScriptMayEndInIt(): void
    {
        $ends = ['exit("left");' => 'left', 'str_repeat("x", 1 << 30);' => 'Allowed memory size'];
        foreach ($ends as $code => $printed) {
            $script = '$client = new Quotalock\Client("memory://", onDecision: function () { ' . $code . ' });'
                . '$limiter = $client->limiter("n", "3/hour", "s");'
                . '%s; echo "went on";';
            $calls = ['$limiter->consume("a")', '$limiter->consumeAll', '$limiter->reserve("a", 1, 1000)'];
            $calls[1] = '$client->consumeAll([[$limiter, "a"]])';
            foreach ($calls as $call) {
                [$output] = php(sprintf($script, $call), ['-d', 'memory_limit=32M']);
                self::assertStringContainsString($printed, $output, 'what was printed');
                self::assertStringNotContainsString('went on', $output, 'what was printed');
            }
        }
    }

    public function testWhatCannotBeCalledIsRefused(): void
    {
        foreach (['onDecision', 'onLost'] as $position => $option) {
            $error = thrown(\TypeError::class, fn () => new Client('memory://', ...[$option => 'no such function']));
            self::assertStringContainsString('(' . '$' . $option . ') must be of type', $error->getMessage());
        }
    }

    public function testObjectsOfTheSameConnectionTellTheirOwn(): void
    {
        $prefix = prefix();
        $told = [];
        $telling = function (string $who) use ($prefix, &$told): Client {
            return new Client(server(), $prefix, onDecision: function () use (&$told, $who): void {
                $told[] = $who;
            });
        };
        [$a, $b] = [$telling('a'), $telling('b')];
        $a->limiter('n', '3/hour')->consume('k');
        $b->limiter('n', '3/hour')->consume('k');
        (new Client(server(), $prefix))->limiter('n', '3/hour')->consume('k');
        self::assertSame(['a', 'b'], $told, 'who told');
    }
}
