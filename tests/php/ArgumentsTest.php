<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Rule;

/** What may be given for a parameter, and how PHP says no. */
final class ArgumentsTest extends TestCase
{
    public function testAStringAnIntegerAndAnObjectWithToStringAreTheSameKey(): void
    {
        $limiter = client()->limiter('n', '3/minute');
        self::assertSame([2, 1, 0], [
            $limiter->consume('42')->remaining,
            $limiter->consume(42)->remaining,
            $limiter->consume(new Stringable42())->remaining,
        ], 'remaining');
        self::assertSame(0, $limiter->peek(key: '42', cost: 1)->remaining, 'remaining by named arguments');
    }

    public function testAKeyIsAnyBytes(): void
    {
        $limiter = client()->limiter('n', '3/minute');
        self::assertSame(2, $limiter->consume("\xff\0\xfe")->remaining, 'remaining');
        self::assertSame(1, $limiter->consume("\xff\0\xfe")->remaining, 'remaining');
        self::assertStringContainsString("{\xff\0\xfe}", $limiter->redisKey("\xff\0\xfe"));
        self::assertSame(0, $limiter->consume(-7, 3)->remaining, 'remaining of a negative integer');
    }

    public function testOtherTypesAreNoKey(): void
    {
        $limiter = client()->limiter('n', '3/minute');
        $types = ['null' => null, 'bool' => true, 'float' => 1.5, 'array' => ['a'], 'Closure' => fn () => 1];
        foreach ($types as $type => $key) {
            $error = thrown(\TypeError::class, fn () => $limiter->consume($key));
            self::assertSame('Quotalock\Limiter::consume(): Argument #1 ($key) must be of type Stringable|string|int, '
                . "$type given", $error->getMessage(), 'the message');
        }
        $error = thrown(\TypeError::class, fn () => \Quotalock\limit('n', [], '1/s'));
        self::assertStringContainsString('Quotalock\limit(): Argument #2 ($key)', $error->getMessage());
    }

    public function testWhatToStringThrowsIsWhatTheCallerGets(): void
    {
        $key = new class {
            public function __toString(): string
            {
                throw new \DomainException('no text');
            }
        };
        self::assertSame(
            'no text',
            thrown(\DomainException::class, fn () => client()->limiter('n', '1/s')->peek($key))->getMessage()
        );
    }

    public function testAFileWithStrictTypesTakesIntegersForIntegersAndNothingElse(): void
    {
        $limiter = client()->limiter('n', '9/minute');
        self::assertSame(2, $limiter->consume('k', 2)->cost, 'cost');
        foreach (['2', 2.0, true, []] as $cost) {
            $error = thrown(\TypeError::class, fn () => $limiter->consume('k', $cost));
            self::assertStringContainsString('Argument #2 ($cost) must be of type int', $error->getMessage());
        }
        thrown(\TypeError::class, fn () => $limiter->consume('k', null));
        thrown(\TypeError::class, fn () => new Client(6379));
        thrown(\TypeError::class, fn () => client()->limiter(7, '1/s'));
    }

    public function testAFileWithoutStrictTypesTakesWholeNumbersInAnyFormAndCutsOffNothing(): void
    {
        [$output] = php('$l = (new Quotalock\Client("memory://"))->limiter(7, "9/minute");'
            . 'foreach (["2", 2.0, "x", 1.5, true, 1e300] as $cost) try { echo $l->consume("k", $cost)->cost, "|"; }'
            . ' catch (TypeError $e) { echo strstr($e->getMessage(), "type"), "|"; } echo $l->name;');
        self::assertSame(
            '2|2|type int, string given|type int, float given|type int, bool given|type int, float given|7',
            $output
        );
    }

    public function testAPolicyIsATextARuleOrAListOfRules(): void
    {
        $client = client();
        $minute = new Rule(10, 60_000);
        $hour = new Rule(limit: 100, periodMs: 3_600_000, algorithm: 'calendar-window');
        self::assertSame('10/minute', $client->limiter('n', $minute)->policy, 'the policy of a rule');
        self::assertSame(
            '10/minute;calendar-window 100/hour',
            $client->limiter('n', [$minute, $hour])->policy,
            'of two'
        );
        self::assertSame('10/minute', $client->limiter('n', ' 10 per 60s')->policy, 'of a text');
        self::assertSame(
            [100, 3_600_000, 'calendar-window'],
            [$hour->limit, $hour->periodMs, $hour->algorithm],
            'the properties'
        );
        foreach ([null, 1, 1.5, true, new \stdClass()] as $policy) {
            $error = thrown(\TypeError::class, fn () => $client->limiter('n', $policy));
            self::assertStringContainsString(
                'Argument #2 ($policy) must be of type Quotalock\Rule|array|string',
                $error->getMessage()
            );
        }
        self::assertStringContainsString(
            'empty',
            refused('invalid_policy', fn () => $client->limiter('n', []))->getMessage()
        );
        $mixed = refused('invalid_policy', fn () => $client->limiter('n', [$minute, '10/minute']));
        self::assertStringContainsString('string', $mixed->getMessage());
    }

    public function testARuleHasACapacity(): void
    {
        $rule = new Rule(10, 1000, 'token-bucket', 50);
        self::assertSame(50, $rule->capacity, 'the capacity');
        self::assertSame('token-bucket 10/second capacity 50', client()->limiter('n', $rule)->policy, 'the policy');
        $plain = new Rule(10, 1000, 'token-bucket', capacity: null);
        self::assertSame(
            [10, 10],
            [$plain->capacity, (new Rule(10, 1000))->capacity],
            'the capacity that is the limit'
        );
        self::assertSame('token-bucket 10/second', client()->limiter('n', $plain)->policy, 'the policy without');
        refused('invalid_policy', fn () => new Rule(10, 1000, 'token-bucket', 0));
        refused('invalid_policy', fn () => new Rule(2 ** 62, 1000));
        refused('invalid_policy', fn () => new Rule(10, 1000, 'token-bucket', 2 ** 62));
        self::assertStringContainsString(
            'capacity',
            refused('invalid_policy', fn () => new Rule(10, 1000, capacity: 10))->getMessage()
        );
        self::assertStringContainsString(
            'capacity',
            refused('invalid_argument', fn () => new Rule(1, 1000, 'token-bucket', -1))->getMessage()
        );
        $error = thrown(\TypeError::class, fn () => new Rule(10, 1000, 'token-bucket', '50'));
        self::assertStringContainsString('must be of type int', $error->getMessage());
    }

    public function testARuleThatCannotBeIsRefused(): void
    {
        self::assertStringContainsString('-1', refused('invalid_argument', fn () => new Rule(-1, 1000))->getMessage());
        self::assertStringContainsString('-5', refused('invalid_argument', fn () => new Rule(1, -5))->getMessage());
        refused('invalid_argument', fn () => new Rule(1, PHP_INT_MAX));
        refused('invalid_policy', fn () => new Rule(0, 1000));
        refused('invalid_policy', fn () => new Rule(1, 0));
        self::assertStringContainsString(
            'leaky',
            refused('invalid_policy', fn () => new Rule(1, 1000, 'leaky'))->getMessage()
        );
    }

    public function testTextThatIsNotUtf8IsRefusedWhereTextIsNeeded(): void
    {
        self::assertStringContainsString(
            'name',
            refused('invalid_argument', fn () => client()->limiter("\xff", '1/s'))->getMessage()
        );
        self::assertStringContainsString(
            'url',
            refused('invalid_argument', fn () => new Client("redis://\xff"))->getMessage()
        );
        self::assertStringContainsString(
            'prefix',
            refused('invalid_argument', fn () => new Client('memory://', "\xff"))->getMessage()
        );
        self::assertStringContainsString(
            'policy',
            refused('invalid_argument', fn () => client()->limiter('n', "10/minute\xff"))->getMessage()
        );
        self::assertStringContainsString(
            'algorithm',
            refused('invalid_argument', fn () => new Rule(1, 1000, "\xff"))->getMessage()
        );
    }

    public function testTooFewAndTooManyArgumentsArePHPsOwnErrors(): void
    {
        thrown(\ArgumentCountError::class, fn () => client()->limiter('n', '1/s')->consume());
        thrown(\ArgumentCountError::class, fn () => client()->limiter('n', '1/s')->consume('k', 1, 'id', 3));
        thrown(\Error::class, fn () => client()->limiter('n', '1/s')->consume('k', price: 1));
    }
}
