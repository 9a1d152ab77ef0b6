<?php

/** What may be given for a parameter, and how PHP says no. */

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Rule;

test('a string, an integer and an object with __toString are the same key', function () {
    $limiter = client()->limiter('n', '3/minute');
    same([2, 1, 0], [
        $limiter->consume('42')->remaining,
        $limiter->consume(42)->remaining,
        $limiter->consume(new Stringable42())->remaining,
    ], 'remaining');
    same(0, $limiter->peek(key: '42', cost: 1)->remaining, 'remaining by named arguments');
});

test('a key is any bytes', function () {
    $limiter = client()->limiter('n', '3/minute');
    same(2, $limiter->consume("\xff\0\xfe")->remaining, 'remaining');
    same(1, $limiter->consume("\xff\0\xfe")->remaining, 'remaining');
    contains("{\xff\0\xfe}", $limiter->redisKey("\xff\0\xfe"));
    same(0, $limiter->consume(-7, 3)->remaining, 'remaining of a negative integer');
});

test('other types are no key', function () {
    $limiter = client()->limiter('n', '3/minute');
    $types = ['null' => null, 'bool' => true, 'float' => 1.5, 'array' => ['a'], 'Closure' => fn () => 1];
    foreach ($types as $type => $key) {
        $error = thrown(\TypeError::class, fn () => $limiter->consume($key));
        same('Quotalock\Limiter::consume(): Argument #1 ($key) must be of type Stringable|string|int, '
            . "$type given", $error->getMessage(), 'the message');
    }
    $error = thrown(\TypeError::class, fn () => \Quotalock\limit('n', [], '1/s'));
    contains('Quotalock\limit(): Argument #2 ($key)', $error->getMessage());
});

test('what __toString throws is what the caller gets', function () {
    $key = new class {
        public function __toString(): string
        {
            throw new \DomainException('no text');
        }
    };
    same('no text', thrown(\DomainException::class, fn () => client()->limiter('n', '1/s')->peek($key))->getMessage());
});

test('a file with strict types takes integers for integers and nothing else', function () {
    $limiter = client()->limiter('n', '9/minute');
    same(2, $limiter->consume('k', 2)->cost, 'cost');
    foreach (['2', 2.0, true, []] as $cost) {
        $error = thrown(\TypeError::class, fn () => $limiter->consume('k', $cost));
        contains('Argument #2 ($cost) must be of type int', $error->getMessage());
    }
    thrown(\TypeError::class, fn () => $limiter->consume('k', null));
    thrown(\TypeError::class, fn () => new Client(6379));
    thrown(\TypeError::class, fn () => client()->limiter(7, '1/s'));
});

test('a file without strict types takes whole numbers in any form, and cuts off nothing', function () {
    [$output] = php('$l = (new Quotalock\Client("memory://"))->limiter(7, "9/minute");'
        . 'foreach (["2", 2.0, "x", 1.5, true, 1e300] as $cost) try { echo $l->consume("k", $cost)->cost, "|"; }'
        . ' catch (TypeError $e) { echo strstr($e->getMessage(), "type"), "|"; } echo $l->name;');
    same('2|2|type int, string given|type int, float given|type int, bool given|type int, float given|7', $output);
});

test('a policy is a text, a rule or a list of rules', function () {
    $client = client();
    $minute = new Rule(10, 60_000);
    $hour = new Rule(limit: 100, periodMs: 3_600_000, algorithm: 'calendar-window');
    same('10/minute', $client->limiter('n', $minute)->policy, 'the policy of a rule');
    same('10/minute;calendar-window 100/hour', $client->limiter('n', [$minute, $hour])->policy, 'of two');
    same('10/minute', $client->limiter('n', ' 10 per 60s')->policy, 'of a text');
    same([100, 3_600_000, 'calendar-window'], [$hour->limit, $hour->periodMs, $hour->algorithm], 'the properties');
    foreach ([null, 1, 1.5, true, new \stdClass()] as $policy) {
        $error = thrown(\TypeError::class, fn () => $client->limiter('n', $policy));
        contains('Argument #2 ($policy) must be of type Quotalock\Rule|array|string', $error->getMessage());
    }
    contains('empty', refused('invalid_policy', fn () => $client->limiter('n', []))->getMessage());
    $mixed = refused('invalid_policy', fn () => $client->limiter('n', [$minute, '10/minute']));
    contains('string', $mixed->getMessage());
});

test('a rule has a capacity', function () {
    $rule = new Rule(10, 1000, 'token-bucket', 50);
    same(50, $rule->capacity, 'the capacity');
    same('token-bucket 10/second capacity 50', client()->limiter('n', $rule)->policy, 'the policy');
    $plain = new Rule(10, 1000, 'token-bucket', capacity: null);
    same([10, 10], [$plain->capacity, (new Rule(10, 1000))->capacity], 'the capacity that is the limit');
    same('token-bucket 10/second', client()->limiter('n', $plain)->policy, 'the policy without');
    refused('invalid_policy', fn () => new Rule(10, 1000, 'token-bucket', 0));
    contains('capacity', refused('invalid_policy', fn () => new Rule(10, 1000, capacity: 10))->getMessage());
    contains('capacity', refused('invalid_argument', fn () => new Rule(1, 1000, 'token-bucket', -1))->getMessage());
    $error = thrown(\TypeError::class, fn () => new Rule(10, 1000, 'token-bucket', '50'));
    contains('must be of type int', $error->getMessage());
});

test('a rule that cannot be is refused', function () {
    contains('-1', refused('invalid_argument', fn () => new Rule(-1, 1000))->getMessage());
    contains('-5', refused('invalid_argument', fn () => new Rule(1, -5))->getMessage());
    refused('invalid_argument', fn () => new Rule(1, PHP_INT_MAX));
    refused('invalid_policy', fn () => new Rule(0, 1000));
    refused('invalid_policy', fn () => new Rule(1, 0));
    contains('leaky', refused('invalid_policy', fn () => new Rule(1, 1000, 'leaky'))->getMessage());
});

test('text that is not UTF-8 is refused where text is needed', function () {
    contains('name', refused('invalid_argument', fn () => client()->limiter("\xff", '1/s'))->getMessage());
    contains('url', refused('invalid_argument', fn () => new Client("redis://\xff"))->getMessage());
    contains('prefix', refused('invalid_argument', fn () => new Client('memory://', "\xff"))->getMessage());
    contains('policy', refused('invalid_argument', fn () => client()->limiter('n', "10/minute\xff"))->getMessage());
    contains('algorithm', refused('invalid_argument', fn () => new Rule(1, 1000, "\xff"))->getMessage());
});

test('too few and too many arguments are PHP\'s own errors', function () {
    thrown(\ArgumentCountError::class, fn () => client()->limiter('n', '1/s')->consume());
    thrown(\ArgumentCountError::class, fn () => client()->limiter('n', '1/s')->consume('k', 1, 'id', 3));
    thrown(\Error::class, fn () => client()->limiter('n', '1/s')->consume('k', price: 1));
});
