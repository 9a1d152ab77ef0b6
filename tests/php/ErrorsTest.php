<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Exception\ClosedException;
use Quotalock\Exception\InvalidArgumentException;
use Quotalock\Exception\InvalidPolicyException;
use Quotalock\Exception\NotPermittedException;
use Quotalock\Exception\QuotalockException;
use Quotalock\Exception\RateLimitedException;
use Quotalock\Exception\UnavailableException;
use Quotalock\Exception\WrongTypeException;
use Quotalock\Rule;
use Quotalock\Testing;

/** Exceptions: their classes, codes and messages, and what they tell of where they happened. */
final class ErrorsTest extends TestCase
{
    public function testAnExceptionHasTheClassOfItsCodeAndSaysWhereItWasThrown(): void
    {
        $line = __LINE__ + 1;
        $error = thrown(InvalidArgumentException::class, fn () => client()->limiter('n', '1/s')->consume(''));
        self::assertSame(['invalid_argument', 0], [$error->getErrorCode(), $error->getCode()], 'the codes');
        self::assertSame([__FILE__, $line], [$error->getFile(), $error->getLine()], 'the place');
        self::assertSame(
            ['consume', 'Quotalock\Limiter'],
            [$error->getTrace()[0]['function'], $error->getTrace()[0]['class']]
        );
        self::assertStringContainsString('ErrorsTest.php(', $error->getTraceAsString());
        self::assertTrue(
            $error instanceof QuotalockException && $error instanceof \InvalidArgumentException,
            'what it is'
        );
        thrown(InvalidPolicyException::class, fn () => client()->limiter('n', '1/month'));
    }

    public function testAnUncaughtExceptionEndsTheScriptAsPHPsOwnDo(): void
    {
        [$output, $code] = php('(new Quotalock\Client("memory://"))->limiter("n", "1/s")->consume("");');
        self::assertStringContainsString('Uncaught Quotalock\Exception\InvalidArgumentException: key', $output);
        self::assertStringContainsString('Quotalock\Limiter->consume(', $output);
        self::assertStringContainsString('on line 1', $output);
        self::assertSame(255, $code, 'the exit code');
    }

    public function testADeniedRequireCarriesItsDecision(): void
    {
        $limiter = client()->limiter('checkout', '1/minute');
        self::assertSame(0, $limiter->require('user:42')->remaining, 'remaining');
        $error = thrown(RateLimitedException::class, fn () => $limiter->require('user:42'));
        self::assertSame('limited', $error->getErrorCode(), 'the code');
        self::assertStringContainsString('"user:42" is over the limit of "checkout"', $error->getMessage());
        self::assertSame(
            [false, 0],
            [$error->getDecision()->allowed, $error->getDecision()->remaining],
            'the decision'
        );
        self::assertTrue($error->getDecision()->retryAfterMs > 50_000, 'retryAfterMs');
        self::assertTrue($error->getDecision() === $error->getDecision(), 'that it is one decision');
        self::assertSame([__FILE__, 'require'], [$error->getFile(), $error->getTrace()[0]['function']], 'the place');
        thrown(\Error::class, fn () => (new RateLimitedException('made by hand'))->getDecision());
    }

    public function testExceptionsCanBeChainedAndExtendedWithPHPsMeans(): void
    {
        $cause = new ClosedException('cause');
        $error = new UnavailableException('effect', 3, $cause);
        self::assertSame($cause, $error->getPrevious(), 'the previous one');
        self::assertTrue(unserialize(serialize($cause)) instanceof ClosedException, 'that it survives serialization');
    }

    public function testNoPasswordShowsWhereverOneLooks(): void
    {
        $port = freePort();
        $client = new Client("redis://user:s3cret@127.0.0.1:$port", prefix());
        self::assertSame("127.0.0.1:$port", $client->server, 'the server');
        $shown = print_r($client, true) . var_export($client, true) . json_encode($client);
        $error = thrown(UnavailableException::class, fn () => $client->limiter('n', '1/s')->peek('k'));
        self::assertStringNotContainsString('s3cret', $shown . $error . print_r($error, true));
        $code = 'new Quotalock\Client("redis://user:s3cret@host:99999");';
        [$output] = php($code, ['-d', 'zend.exception_ignore_args=0']);
        self::assertStringContainsString('99999', $output);
        self::assertStringContainsString('SensitiveParameterValue', $output);
        // The line itself is not part of the output, only the arguments of its calls would be.
        self::assertStringNotContainsString('s3cret', $output);
    }

    public function testAClosedClientSaysSoAndItsLimitersToo(): void
    {
        $client = client();
        $limiter = $client->limiter('n', '1/s');
        $reservation = $limiter->reserve('held', 1, 1000);
        $client->close();
        $client->close();
        foreach (['consume', 'peek', 'require', 'reset'] as $method) {
            thrown(ClosedException::class, fn () => $limiter->$method('k'));
        }
        thrown(ClosedException::class, fn () => $limiter->wait('k', 1000));
        thrown(ClosedException::class, fn () => $limiter->consumeUpTo('k', 1));
        thrown(ClosedException::class, fn () => $limiter->reserve('k', 1, 1000));
        thrown(ClosedException::class, fn () => $limiter->reservation('k', $reservation->id));
        thrown(ClosedException::class, fn () => $reservation->settle(1));
        thrown(ClosedException::class, fn () => $reservation->cancel());
        thrown(ClosedException::class, fn () => $client->consumeAll([[$limiter, 'k']]));
        thrown(ClosedException::class, fn () => $client->limiter('n', '1/s'));
        thrown(ClosedException::class, fn () => Testing::get($client, 'k'));
    }

    public function testAKeyOfAnotherTypeIsNamed(): void
    {
        $client = client(server());
        $limiter = $client->limiter('n', '1/s');
        Testing::put($client, $limiter->redisKey('k'), 'list', '');
        $error = thrown(WrongTypeException::class, fn () => $limiter->consume('k'));
        self::assertSame('wrong_type', $error->getErrorCode(), 'the code');
        self::assertStringContainsString($limiter->redisKey('k'), $error->getMessage());
    }

    public function testTheLeftoverOfTheIncidentIsHealedByTheFirstCall(): void
    {
        foreach (servers() as $url) {
            $client = client($url);
            $limiter = $client->limiter('item', '1/minute');
            Testing::put($client, $limiter->redisKey('k'), 'string', '-37412');
            self::assertSame(null, Testing::get($client, $limiter->redisKey('k'))['ttlMs'], 'the TTL before');
            $decision = $limiter->consume('k');
            self::assertSame([true, true], [$decision->allowed, $decision->healed], 'the first decision');
            self::assertTrue(Testing::get($client, $limiter->redisKey('k'))['ttlMs'] > 0, 'that it has a TTL now');
            $decision = $limiter->consume('k');
            self::assertSame([false, false], [$decision->allowed, $decision->healed], 'the second decision');
        }
    }

    public function testAMissingOrWrongPasswordIsNotPermitted(): void
    {
        $server = new RedisServer('--requirepass', 'right');
        foreach (['', ':wrong@', 'nobody:right@'] as $login) {
            $client = new Client($server->url($login), prefix());
            $error = thrown(NotPermittedException::class, fn () => $client->limiter('n', '1/s')->consume('k'));
            self::assertSame('not_permitted', $error->getErrorCode(), 'the code');
            self::assertStringNotContainsString('right', $error->getMessage());
        }
        self::assertSame(
            true,
            (new Client($server->url(':right@'), prefix()))->limiter('n', '1/s')->consume('k')->allowed,
            'allowed'
        );
    }

    /** @return iterable<string, array{string, string, \Closure}> what a message says, and what it does not */
    public static function messages(): iterable
    {
        $set = function (Client $client, int $micros): void {
            Testing::setTime($client, 1_700_000_000_000_000 + $micros);
        };
        yield 'when to try again' => ['try again in 29.999s', '29.9989', function (Client $client) use ($set) {
            $set($client, 0);
            $client->limiter('n', '1/30s')->require('k');
            $set($client, 1_086);
            $client->limiter('n', '1/30s')->require('k');
        }];
        yield 'how long a lock is held' => ['for 29.999s more', '29.9989', function (Client $client) use ($set) {
            $set($client, 0);
            $lock = $client->lock('n');
            $lock->acquire();
            $set($client, 1_086);
            $client->lock('n')->run(fn () => null);
        }];
        yield 'period' => ['period of 0 is under 1 ms', 'µs', fn () => new Rule(1, 0)];
        $blocked = fn (Client $client) => $client->limiter('n', '1/s')->block('k', 0);
        yield 'duration' => ['duration of 0 is not between 1 ms and 36500 days', 'µs', $blocked];
        $burst = fn (Client $client) => $client->limiter('n', 'token-bucket 1/s burst 5');
        yield 'burst' => ['for a burst say capacity', '?', $burst];
        $algorithm = 'use one of fixed-window, calendar-window, sliding-window, token-bucket, sliding-log';
        yield 'algorithm' => [$algorithm, '?', fn (Client $client) => $client->limiter('n', 'sliding_window 1/s')];
        yield 'algorithm of a rule' => [$algorithm, '?', fn () => new Rule(1, 1_000, 'sliding_window')];
        $texts = fn (Client $client) => $client->limiter('n', ['10/minute', '100/hour']);
        yield 'list' => ['or one string for all of them, such as "10/minute;100/hour"', '?', $texts];
    }

    /** @dataProvider messages */
    public function testAMessageSpeaksTheLanguageOfItsReader(string $says, string $never, \Closure $call): void
    {
        try {
            $call(client('memory://' . prefix()));
            self::fail('it is refused');
        } catch (QuotalockException $error) {
            self::assertStringContainsString($says, $error->getMessage());
            self::assertStringNotContainsString($never, $error->getMessage());
        }
    }

    public function testAUserWithoutARightIsToldWhich(): void
    {
        $server = new RedisServer();
        $redis = new Connection($server->url());
        $redis->acl('SETUSER', 'app', 'on', '>secret', '~*', '+@all', '-evalsha', '-eval');
        $client = new Client($server->url('app:secret@'), prefix());
        $error = thrown(NotPermittedException::class, fn () => $client->limiter('n', '1/s')->consume('k'));
        self::assertStringContainsString('eval', strtolower($error->getMessage()));
        self::assertStringNotContainsString('secret', $error->getMessage());
    }

    public function testAFullRedisIsUnavailableAndHealsWhenThereIsRoom(): void
    {
        $server = new RedisServer('--maxmemory-policy', 'noeviction');
        $client = new Client($server->url(), prefix());
        $limiter = $client->limiter('n', '5/minute');
        self::assertSame(4, $limiter->consume('k')->remaining, 'remaining');
        $redis = new Connection($server->url());
        $redis->config('SET', 'maxmemory', '1');
        $error = thrown(UnavailableException::class, fn () => $limiter->consume('k'));
        self::assertStringContainsString('memory', strtolower($error->getMessage()));
        $redis->config('SET', 'maxmemory', '0');
        self::assertSame(3, $limiter->consume('k')->remaining, 'remaining when there is room again');
    }
}
