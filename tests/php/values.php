<?php

/** The objects that calls return, as PHP programmers handle objects. */

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Decision;
use Quotalock\Limiter;
use Quotalock\Rule;
use Quotalock\RuleDecision;
use Quotalock\Testing;

test('a decision can be cloned, serialized, compared, dumped and encoded', function () {
    $decision = client()->limiter('n', '3/minute;5/hour')->consume('k');
    holds($decision == clone $decision, 'that a clone is equal');
    holds($decision == unserialize(serialize($decision)), 'that it survives serialization');
    $array = json_decode(json_encode($decision), true);
    $fields = ['allowed', 'limit', 'remaining', 'retryAfterMs', 'resetAfterMs', 'cost', 'source', 'healed', 'rules'];
    same($fields, array_keys($array), 'the fields in JSON');
    same([true, 3, 2, 0, 60_000, 1, 'memory', false], array_slice(array_values($array), 0, 8), 'the values in JSON');
    same(2, count($array['rules']), 'the rules in JSON');
    contains("'remaining' => 2", var_export($decision, true));
    holds($decision->rules[1] instanceof RuleDecision, 'the class of a rule');
    same([true, 5, 4, 0, 3_600_000], array_values(get_object_vars($decision->rules[1])), 'the second rule');
});

test('the properties of all objects are readonly', function () {
    $client = client();
    $limiter = $client->limiter('n', '3/minute');
    $decision = $limiter->consume('k');
    foreach ([$client, $limiter, $decision, $decision->rules[0], new Rule(1, 1000)] as $object) {
        $properties = array_keys(get_object_vars($object));
        holds($properties !== [], 'that there are properties');
        foreach ($properties as $name) {
            $error = thrown(\Error::class, fn () => $object->$name = $object->$name);
            same('Cannot modify readonly property ' . $object::class . "::\$$name", $error->getMessage());
            thrown(\Error::class, function () use ($object, $name) {
                unset($object->$name);
            });
        }
        thrown(\Error::class, fn () => $object->other = 1);
    }
});

test('what calls return cannot be made by hand', function () {
    foreach ([Limiter::class, Decision::class, RuleDecision::class, Testing::class] as $class) {
        contains('private', thrown(\Error::class, fn () => new $class())->getMessage());
    }
    $bare = fn (string $class) => (new \ReflectionClass($class))->newInstanceWithoutConstructor();
    thrown(\ReflectionException::class, fn () => $bare(Limiter::class));
    thrown(\ReflectionException::class, fn () => $bare(Client::class));
});

test('clients and limiters are not copied', function () {
    $client = client();
    thrown(\Error::class, fn () => clone $client);
    contains('not allowed', thrown(\Exception::class, fn () => serialize($client))->getMessage());
    thrown(\Error::class, fn () => clone $client->limiter('n', '1/s'));
});

test('a limiter outlives the variable of its client', function () {
    $limiter = client()->limiter('n', '3/minute');
    same(2, $limiter->consume('k')->remaining, 'remaining');
});

test('decisions hold for the largest numbers', function () {
    $largest = 2 ** 52;
    $decision = client()->limiter('n', new Rule($largest, 3_153_600_000_000))->consume('k', $largest - 1);
    same([$largest, 1, $largest - 1], [$decision->limit, $decision->remaining, $decision->cost], 'the numbers');
    same(3_153_600_000_000, $decision->resetAfterMs, 'the time');
});

test('a cost above the limit is denied for ever', function () {
    same(null, client()->limiter('n', '3/minute')->consume('k', 4)->retryAfterMs, 'retryAfterMs');
});

test('no call leaks memory', function () {
    $client = client();
    $limiter = $client->limiter('n', '3/minute;5/hour');
    $round = function (int $times) use ($client, $limiter): void {
        for ($i = 0; $i < $times; $i++) {
            $limiter->consume($i % 10);
            $limiter->peek(new Stringable42());
            $client->limiter('n', [new Rule(3, 1000)])->refund('k', 1);
            (new Client('memory://'))->limiter('n', '3/minute')->redisKey('k');
            Testing::get($client, $limiter->redisKey('1'));
            try {
                $limiter->require('k', 9);
            } catch (\Quotalock\Exception\RateLimitedException $error) {
                $error->getDecision();
            }
            try {
                $limiter->consume('', -1);
            } catch (\Quotalock\Exception\InvalidArgumentException) {
            }
        }
    };
    $resident = fn (): int => (int) explode(' ', (string) file_get_contents('/proc/self/statm'))[1] * 4096;
    $round(2_000);
    [$used, $held] = [memory_get_usage(), $resident()];
    $round(20_000);
    holds(memory_get_usage() - $used < 4_096, 'that PHP\'s memory stays the same');
    holds($resident() - $held < 2 << 20, 'that the process\' memory stays the same');
});
