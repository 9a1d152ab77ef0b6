<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;

/** Functions that tell the password: what PHP makes of them. */
final class PasswordsTest extends TestCase
{
    private const SECRET = 'sw0rdfish';

    private RedisServer $server;

    protected function setUp(): void
    {
        parent::setUp();
        $this->server = new RedisServer();
        $this->accept(self::SECRET);
    }

    /** Has the server take this password alone, and hang up on who had another. */
    private function accept(string $password): void
    {
        $redis = new Connection($this->server->url());
        $redis->acl('SETUSER', 'app', 'on', 'resetpass', ">$password", '~*', '&*', '+@all');
        $redis->client('KILL', 'USER', 'app');
        // A connection that was used within the last millisecond is not looked at before it is used again.
        usleep(10_000);
    }

    private function app(\Closure|array|string $password, mixed ...$options): Client
    {
        return new Client($this->server->url('app@'), prefix(), ...$options, password: $password);
    }

    public function testItIsAskedAtTheFirstCallAndWhenTheServerRefuses(): void
    {
        [$told, $asked] = [self::SECRET, 0];
        $limiter = $this->app(function () use (&$told, &$asked) {
            $asked++;
            return $told;
        })->limiter('n', '100/hour');
        self::assertSame(0, $asked, 'how often it was asked before the first call');
        self::assertSame([99, 98], [$limiter->consume('k')->remaining, $limiter->consume('k')->remaining], 'remaining');
        self::assertSame(1, $asked, 'how often it was asked');
        $this->accept($told = 'other');
        self::assertSame(97, $limiter->consume('k')->remaining, 'remaining');
        self::assertSame(2, $asked, 'how often it was asked');
    }

    public function testWhatItThrowsIsThrown(): void
    {
        $error = new \LogicException('no token');
        $client = $this->app(fn () => throw $error);
        $calls = [
            fn () => $client->limiter('n', '1/s')->consume('k'),
            fn () => $client->lock('n')->acquire(100),
            fn () => $client->cache('n')->get('k', fn () => 'v'),
            fn () => $client->once('n')->claim('k'),
        ];
        foreach ($calls as $call) {
            self::assertSame($error, thrown(\LogicException::class, $call), 'what was thrown');
        }
    }

    public function testWhatIsNoStringIsATypeErrorAndNotShown(): void
    {
        foreach ([null, 7, [self::SECRET], new \ArrayObject([self::SECRET])] as $wrong) {
            $limiter = $this->app(fn () => $wrong)->limiter('n', '1/s');
            $error = thrown(\TypeError::class, fn () => $limiter->consume('k'));
            self::assertStringContainsString('must return a value of type string', $error->getMessage());
            self::assertStringNotContainsString(self::SECRET, (string) $error);
        }
        $limiter = $this->app(fn () => "\xff")->limiter('n', '1/s');
        $error = refused('not_permitted', fn () => $limiter->consume('k'));
        self::assertStringContainsString('it is not UTF-8', $error->getMessage());
        $error = thrown(\TypeError::class, fn () => $this->app(self::SECRET));
        self::assertStringNotContainsString(self::SECRET, $error->getMessage());
        $ours = fn (array $frame) => ($frame['class'] ?? '') === Client::class;
        foreach (array_filter($error->getTrace(), $ours) as $frame) {
            self::assertStringNotContainsString(self::SECRET, print_r($frame['args'] ?? [], true), 'its frame');
        }
    }

    public function testAnyKindOfCallableDoes(): void
    {
        $object = new class {
            public function tell(): string
            {
                return 'sw0rdfish';
            }

            public static function always(): string
            {
                return 'sw0rdfish';
            }
        };
        foreach ([[$object, 'tell'], [$object::class, 'always'], $object->tell(...)] as $callable) {
            self::assertTrue($this->app($callable)->limiter('n', '1/s')->consume('k')->allowed);
        }
    }

    public function testAFunctionOfEachRequestIsAskedInItsTurnAndNoneOutlivesIts(): void
    {
        $fpm = new Fpm(['pm = static', 'pm.max_children = 1', 'php_admin_value[memory_limit] = 64M']);
        $pids = [];
        $ask = function (string $told, string $how = 'tell') use ($fpm, &$pids): array {
            $query = ['url' => $this->server->url('app@'), 'told' => $told, 'how' => $how];
            $answer = json_decode($fpm->get('password.php', $query), true);
            $pids[$answer['pid'] ?? array_key_first($pids)] = true;
            return [$answer['left'], $answer['asked'] ?? null];
        };
        self::assertSame([99, 1], $ask(self::SECRET));
        $left = 99;
        for ($round = 0; $round < 5; $round++) {
            // It is known, so nobody is asked.
            self::assertSame([--$left, 0], $ask('wrong'));
            foreach (['exit' => 'exit', 'throw' => 'no token', 'memory' => 'error'] as $how => $answered) {
                $this->accept("next-$round-$how");
                self::assertSame($answered, $ask('unused', $how)[0], $how);
                self::assertSame([--$left, 1], $ask("next-$round-$how"));
            }
        }
        self::assertCount(1, $pids, 'the workers');
    }

    public function testNoObjectShowsIt(): void
    {
        $client = $this->app(fn () => self::SECRET);
        $limiter = $client->limiter('n', '100/hour');
        self::assertTrue($limiter->consume('k')->allowed);
        foreach ([$client, $limiter, $client->lock('n'), $client->cache('n')] as $object) {
            $shown = print_r($object, true) . var_export((array) $object, true) . json_encode($object);
            $shown .= (new \ReflectionObject($object)) . print_r(get_mangled_object_vars($object), true);
            self::assertStringNotContainsString(self::SECRET, $shown);
            thrown(\Exception::class, fn () => serialize($object));
        }
        ob_start();
        phpinfo(INFO_MODULES);
        self::assertStringNotContainsString(self::SECRET, (string) ob_get_clean());
    }

    public function testAChildAsksForItself(): void
    {
        $asked = 0;
        $limiter = $this->app(function () use (&$asked) {
            $asked++;
            return self::SECRET;
        })->limiter('n', '100/hour');
        self::assertSame(99, $limiter->consume('k')->remaining);
        $child = forked(function () use ($limiter, &$asked) {
            return [$limiter->consume('k')->remaining, $asked];
        });
        self::assertSame([98, 2], $child());
        self::assertSame([97, 1], [$limiter->consume('k')->remaining, $asked]);
    }
}
