<?php

/** The objects that calls return, as PHP programmers handle objects. */

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\CombinedDecision;
use Quotalock\Decision;
use Quotalock\Holder;
use Quotalock\Inspection;
use Quotalock\Limiter;
use Quotalock\Lock;
use Quotalock\Reservation;
use Quotalock\Rule;
use Quotalock\RuleDecision;
use Quotalock\Testing;

test('a decision can be cloned, serialized, compared, dumped and encoded', function () {
    $decision = client()->limiter('n', '3/minute;5/hour')->consume('k');
    holds($decision == clone $decision, 'that a clone is equal');
    holds($decision == unserialize(serialize($decision)), 'that it survives serialization');
    $array = json_decode(json_encode($decision), true);
    $fields = ['allowed', 'wouldDeny', 'limit', 'remaining', 'retryAfterMs', 'resetAfterMs', 'cost', 'source'];
    same([...$fields, 'healed', 'rules'], array_keys($array), 'the fields in JSON');
    same([true, false, 3, 2, 0, 60_000, 1, 'memory', false], array_slice(array_values($array), 0, 9), 'the values');
    same(2, count($array['rules']), 'the rules in JSON');
    contains("'remaining' => 2", var_export($decision, true));
    holds($decision->rules[1] instanceof RuleDecision, 'the class of a rule');
    same([true, 5, 4, 0, 3_600_000], array_values(get_object_vars($decision->rules[1])), 'the second rule');
});

test('so can a decision about several keys', function () {
    $client = client();
    $limiter = $client->limiter('n', '3/minute');
    $combined = $client->consumeAll([[$limiter, 'a'], [$client->limiter('m', '3/minute;5/hour'), 'b', 4]]);
    holds($combined == clone $combined, 'that a clone is equal');
    $copy = unserialize(serialize($combined));
    holds($combined == $copy && $copy !== $combined, 'that it survives serialization');
    same([Decision::class, RuleDecision::class], [
        $copy->decisions[1]::class,
        $copy->decisions[1]->rules[0]::class,
    ], 'the classes within');
    thrown(\Error::class, fn () => $copy->allowed = true);
    $array = json_decode(json_encode($combined), true);
    $fields = ['allowed', 'wouldDeny', 'binding', 'retryAfterMs', 'source', 'decisions'];
    same($fields, array_keys($array), 'the fields in JSON');
    same([false, false, 1, null, 'memory'], array_slice(array_values($array), 0, 5), 'the values in JSON');
    same([true, false], array_column($array['decisions'], 'allowed'), 'the decisions in JSON');
    contains("'binding' => 1", var_export($combined, true));
    contains('[binding] => 1', print_r($combined, true));
});

test('the properties of all objects are readonly', function () {
    $client = client();
    $limiter = $client->limiter('n', '3/minute');
    $decision = $limiter->consume('k');
    $combined = $client->consumeAll([[$limiter, 'k']]);
    [$made, $known] = [$limiter->reserve('k', 1, 1000), $limiter->reservation('k', str_repeat('a', 32))];
    $lock = $client->lock('n');
    $lock->acquire();
    $seen = $lock->inspect();
    $objects = [$client, $limiter, $decision, $decision->rules[0], new Rule(1, 1000), $combined, $made, $known];
    array_push($objects, $lock, $seen, $seen->holders[0]);
    Testing::setTime($client, 1_700_000_000_000_000);
    foreach ($objects as $object) {
        $properties = array_keys(get_object_vars($object));
        holds($properties !== [], 'that there are properties');
        foreach ($properties as $name) {
            $error = thrown(\Error::class, fn () => $object->$name = $object->$name);
            same('Cannot modify readonly property ' . $object::class . "::\$$name", $error->getMessage());
            thrown(\Error::class, function () use ($object, $name) {
                unset($object->$name);
            });
            $value = $object->$name;
            try {
                // PHP refuses a reference, or, to an object, makes one to a copy.
                $reference = &$object->$name;
                $reference = 'other';
            } catch (\Error | \ErrorException) {
            }
            holds($object->$name === $value, "that $name is what it was");
            unset($reference);
        }
        thrown(\Error::class, fn () => $object->other = 1);
    }
});

test('what a lock shows is what is so at each look', function () {
    $client = client();
    Testing::setTime($client, 1_700_000_000_000_000);
    $lock = $client->lock("sku:42\xff", ttlMs: 10_000);
    $before = ['names' => ["sku:42\xff"], 'redisKeys' => ["$client->prefix:lock:{sku:42\xff}"], 'ttlMs' => 10_000];
    $shown = fn (): array => array_slice(get_object_vars($lock), 3);
    same($before, array_slice(get_object_vars($lock), 0, 3), 'what never changes');
    same(['token' => null, 'state' => 'released', 'held' => false, 'remainingMs' => 0], $shown(), 'before');
    $read = function () use ($lock): array {
        // One place of the code, which the engine may remember.
        return [$lock->token, $lock->state, $lock->held, $lock->remainingMs, isset($lock->token), !empty($lock->held)];
    };
    same([null, 'released', false, 0, false, false], $read(), 'what is read before');
    $lock->acquire();
    $token = 1_700_000_000_000_000;
    same([$token, 'held', true, 9_898, true, true], $read(), 'what is read then');
    Testing::setTime($client, $token + 5_000_000);
    same([$token, 'held', true, 4_898, true, true], $read(), 'what is read 5 s later');
    same(['token' => $token, 'state' => 'held', 'held' => true, 'remainingMs' => 4_898], $shown(), 'all of it');
    contains('"remainingMs":4898', json_encode($shown()));
    contains("'remainingMs' => 4898", var_export($lock, true));
    Testing::setTime($client, $token + 9_898_000);
    same([$token, 'lost', false, 0, true, false], $read(), 'what is read when it is over');
    same(['token' => $token, 'state' => 'lost', 'held' => false, 'remainingMs' => 0], $shown(), 'all of it');
    contains('[state] => lost', print_r($lock, true));
});

test('code that was compiled reads of a lock what is so, too', function () {
    $code = <<<'CODE'
        $client = new Quotalock\Client('memory://', 'p');
        Quotalock\Testing::setTime($client, 1_700_000_000_000_000);
        $lock = $client->lock('n', 10_000);
        $lock->acquire();
        function look(Quotalock\Lock $lock): int { return $lock->remainingMs + ($lock->held ? 0 : 1); }
        for ($i = 0; $i < 9_899; $i++) {
            Quotalock\Testing::setTime($client, 1_700_000_000_000_000 + $i * 1_000);
            // Fills the slots, which compiled code must not read all the same.
            $i % 1_000 === 0 && get_object_vars($lock);
            $found = look($lock);
            $found === max(9_898 - $i, 1) || exit("$found at $i");
        }
        echo opcache_get_status()['jit']['on'] ? 'compiled' : 'interpreted', ' ', $lock->state;
        CODE;
    $options = ['opcache.enable_cli=1', 'opcache.jit_buffer_size=32M', 'opcache.jit=tracing'];
    $file = tempnam(sys_get_temp_dir(), 'quotalock-');
    file_put_contents($file, "<?php $code");
    [$output] = php($file, array_merge(...array_map(fn (string $option) => ['-d', $option], $options)));
    unlink($file);
    same('compiled lost', $output, 'what it wrote');
});

test('an inspection can be cloned, serialized, dumped and encoded', function () {
    $lock = client()->semaphore('n', 3, 2, label: 'import');
    $lock->acquire();
    $seen = $lock->inspect();
    holds($seen == clone $seen, 'that a clone is equal');
    holds($seen == unserialize(serialize($seen)), 'that it survives serialization');
    $array = json_decode(json_encode($seen), true);
    same(['token', 'waiters', 'holders', 'healed'], array_keys($array), 'the fields in JSON');
    same(['host', 'pid', 'label', 'token', 'permits', 'sinceMs', 'untilMs'], array_keys($array['holders'][0]));
    $holder = $seen->holders[0];
    same([gethostname(), getmypid(), 'import', 2], [$holder->host, $holder->pid, $holder->label, $holder->permits]);
    same([$seen->token, $lock->token, 30_000], [$holder->token, $holder->token, $holder->untilMs - $holder->sinceMs]);
    holds(abs($holder->sinceMs - microtime(true) * 1000) < 5_000, 'that it was granted just now');
});

test('what calls return cannot be made by hand', function () {
    $classes = [Limiter::class, Decision::class, RuleDecision::class, Testing::class];
    array_push($classes, CombinedDecision::class, Reservation::class, Lock::class, Inspection::class, Holder::class);
    foreach ($classes as $class) {
        contains('private', thrown(\Error::class, fn () => new $class())->getMessage());
    }
    $bare = fn (string $class) => (new \ReflectionClass($class))->newInstanceWithoutConstructor();
    thrown(\ReflectionException::class, fn () => $bare(Limiter::class));
    thrown(\ReflectionException::class, fn () => $bare(Client::class));
    thrown(\ReflectionException::class, fn () => $bare(Reservation::class));
    thrown(\ReflectionException::class, fn () => $bare(Lock::class));
});

test('clients, limiters, reservations and locks are not copied', function () {
    $client = client();
    thrown(\Error::class, fn () => clone $client);
    contains('not allowed', thrown(\Exception::class, fn () => serialize($client))->getMessage());
    thrown(\Error::class, fn () => clone $client->limiter('n', '1/s'));
    $reservation = $client->limiter('n', '1/s')->reserve('k', 1, 1000);
    thrown(\Error::class, fn () => clone $reservation);
    contains('not allowed', thrown(\Exception::class, fn () => serialize($reservation))->getMessage());
    thrown(\Error::class, fn () => clone $client->lock('n'));
    contains('not allowed', thrown(\Exception::class, fn () => serialize($client->lock('n')))->getMessage());
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
            $client->consumeAll([[$limiter, new Stringable42()], [$limiter, $i % 10, 2]], requestId: $i % 10);
            $limiter->reserve('held', 1, 1)->cancel();
            $limiter->consumeUpTo('k', 5);
            $client->limiter('n', '3/minute', new Stringable42(), false)->consume('k', 1, new Stringable42());
            try {
                $client->consumeAll([[$limiter, 'k'], [$limiter, ['k']]]);
            } catch (\Quotalock\Exception\InvalidArgumentException) {
            }
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
