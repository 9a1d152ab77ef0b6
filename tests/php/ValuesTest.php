<?php

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

/** The objects that calls return, as PHP programmers handle objects. */
final class ValuesTest extends TestCase
{
    public function testADecisionCanBeClonedSerializedComparedDumpedAndEncoded(): void
    {
        $decision = client()->limiter('n', '3/minute;5/hour')->consume('k');
        self::assertTrue($decision == clone $decision, 'that a clone is equal');
        self::assertTrue($decision == unserialize(serialize($decision)), 'that it survives serialization');
        $array = json_decode(json_encode($decision), true);
        $fields = ['allowed', 'wouldDeny', 'limit', 'remaining', 'retryAfterMs', 'resetAfterMs', 'cost', 'source'];
        self::assertSame(['name', ...$fields, 'healed', 'rules'], array_keys($array), 'the fields in JSON');
        self::assertSame(
            ['n', true, false, 3, 2, 0, 60_000, 1, 'memory', false],
            array_slice(array_values($array), 0, 10),
            'the values'
        );
        self::assertSame(2, count($array['rules']), 'the rules in JSON');
        self::assertStringContainsString("'remaining' => 2", var_export($decision, true));
        self::assertTrue($decision->rules[1] instanceof RuleDecision, 'the class of a rule');
        self::assertSame(
            [true, 5, 4, 0, 3_600_000, 'fixed-window', 5, 3_600_000, 5],
            array_values(get_object_vars($decision->rules[1])),
            'the second rule'
        );
    }

    public function testSoCanADecisionAboutSeveralKeys(): void
    {
        $client = client();
        $limiter = $client->limiter('n', '3/minute');
        $combined = $client->consumeAll([[$limiter, 'a'], [$client->limiter('m', '3/minute;5/hour'), 'b', 4]]);
        self::assertTrue($combined == clone $combined, 'that a clone is equal');
        $copy = unserialize(serialize($combined));
        self::assertTrue($combined == $copy && $copy !== $combined, 'that it survives serialization');
        self::assertSame([Decision::class, RuleDecision::class], [
            $copy->decisions[1]::class,
            $copy->decisions[1]->rules[0]::class,
        ], 'the classes within');
        thrown(\Error::class, fn () => $copy->allowed = true);
        $array = json_decode(json_encode($combined), true);
        $fields = ['allowed', 'wouldDeny', 'binding', 'retryAfterMs', 'source', 'decisions'];
        self::assertSame($fields, array_keys($array), 'the fields in JSON');
        self::assertSame(
            [false, false, 1, null, 'memory'],
            array_slice(array_values($array), 0, 5),
            'the values in JSON'
        );
        self::assertSame([true, false], array_column($array['decisions'], 'allowed'), 'the decisions in JSON');
        self::assertStringContainsString("'binding' => 1", var_export($combined, true));
        self::assertStringContainsString('[binding] => 1', print_r($combined, true));
    }

    public function testThePropertiesOfAllObjectsAreReadonly(): void
    {
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
            self::assertTrue($properties !== [], 'that there are properties');
            foreach ($properties as $name) {
                $error = thrown(\Error::class, fn () => $object->$name = $object->$name);
                self::assertSame(
                    'Cannot modify readonly property ' . $object::class . "::\$$name",
                    $error->getMessage()
                );
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
                self::assertTrue($object->$name === $value, "that $name is what it was");
                unset($reference);
            }
            thrown(\Error::class, fn () => $object->other = 1);
        }
    }

    public function testWhatALockShowsIsWhatIsSoAtEachLook(): void
    {
        $client = client();
        Testing::setTime($client, 1_700_000_000_000_000);
        $lock = $client->lock("sku:42\xff", ttlMs: 10_000);
        $before = ['names' => ["sku:42\xff"], 'redisKeys' => ["$client->prefix:lock:{sku:42\xff}"], 'ttlMs' => 10_000];
        $shown = fn (): array => array_slice(get_object_vars($lock), 3);
        self::assertSame($before, array_slice(get_object_vars($lock), 0, 3), 'what never changes');
        self::assertSame(
            ['token' => null, 'state' => 'released', 'held' => false, 'remainingMs' => 0],
            $shown(),
            'before'
        );
        $read = function () use ($lock): array {
            // One place of the code, which the engine may remember.
            $found = [$lock->token, $lock->state, $lock->held, $lock->remainingMs];
            return [...$found, isset($lock->token), !empty($lock->held)];
        };
        self::assertSame([null, 'released', false, 0, false, false], $read(), 'what is read before');
        $lock->acquire();
        $token = 1_700_000_000_000_000;
        self::assertSame([$token, 'held', true, 9_898, true, true], $read(), 'what is read then');
        Testing::setTime($client, $token + 5_000_000);
        self::assertSame([$token, 'held', true, 4_898, true, true], $read(), 'what is read 5 s later');
        self::assertSame(
            ['token' => $token, 'state' => 'held', 'held' => true, 'remainingMs' => 4_898],
            $shown(),
            'all of it'
        );
        self::assertStringContainsString('"remainingMs":4898', json_encode($shown()));
        self::assertStringContainsString("'remainingMs' => 4898", var_export($lock, true));
        Testing::setTime($client, $token + 9_898_000);
        self::assertSame([$token, 'lost', false, 0, true, false], $read(), 'what is read when it is over');
        self::assertSame(
            ['token' => $token, 'state' => 'lost', 'held' => false, 'remainingMs' => 0],
            $shown(),
            'all of it'
        );
        self::assertStringContainsString('[state] => lost', print_r($lock, true));
    }

    public function testCodeThatWasCompiledReadsOfALockWhatIsSoToo(): void
    {
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
        self::assertSame('compiled lost', $output, 'what it wrote');
    }

    public function testAnInspectionCanBeClonedSerializedDumpedAndEncoded(): void
    {
        $lock = client()->semaphore('n', 3, 2, label: 'import');
        $lock->acquire();
        $seen = $lock->inspect();
        self::assertTrue($seen == clone $seen, 'that a clone is equal');
        self::assertTrue($seen == unserialize(serialize($seen)), 'that it survives serialization');
        $array = json_decode(json_encode($seen), true);
        self::assertSame(['token', 'waiters', 'holders', 'healed'], array_keys($array), 'the fields in JSON');
        self::assertSame(
            ['host', 'pid', 'label', 'token', 'permits', 'sinceMs', 'untilMs'],
            array_keys($array['holders'][0])
        );
        $holder = $seen->holders[0];
        self::assertSame(
            [gethostname(), getmypid(), 'import', 2],
            [$holder->host, $holder->pid, $holder->label, $holder->permits]
        );
        self::assertSame(
            [$seen->token, $lock->token, 30_000],
            [$holder->token, $holder->token, $holder->untilMs - $holder->sinceMs]
        );
        self::assertTrue(abs($holder->sinceMs - microtime(true) * 1000) < 5_000, 'that it was granted just now');
    }

    public function testWhatCallsReturnCannotBeMadeByHand(): void
    {
        $classes = [Limiter::class, Decision::class, RuleDecision::class, Testing::class];
        array_push(
            $classes,
            CombinedDecision::class,
            Reservation::class,
            Lock::class,
            Inspection::class,
            Holder::class
        );
        foreach ($classes as $class) {
            self::assertStringContainsString('private', thrown(\Error::class, fn () => new $class())->getMessage());
        }
        $bare = fn (string $class) => (new \ReflectionClass($class))->newInstanceWithoutConstructor();
        thrown(\ReflectionException::class, fn () => $bare(Limiter::class));
        thrown(\ReflectionException::class, fn () => $bare(Client::class));
        thrown(\ReflectionException::class, fn () => $bare(Reservation::class));
        thrown(\ReflectionException::class, fn () => $bare(Lock::class));
    }

    public function testClientsLimitersReservationsAndLocksAreNotCopied(): void
    {
        $client = client();
        thrown(\Error::class, fn () => clone $client);
        self::assertStringContainsString(
            'not allowed',
            thrown(\Exception::class, fn () => serialize($client))->getMessage()
        );
        thrown(\Error::class, fn () => clone $client->limiter('n', '1/s'));
        $reservation = $client->limiter('n', '1/s')->reserve('k', 1, 1000);
        thrown(\Error::class, fn () => clone $reservation);
        self::assertStringContainsString(
            'not allowed',
            thrown(\Exception::class, fn () => serialize($reservation))->getMessage()
        );
        thrown(\Error::class, fn () => clone $client->lock('n'));
        self::assertStringContainsString(
            'not allowed',
            thrown(\Exception::class, fn () => serialize($client->lock('n')))->getMessage()
        );
    }

    public function testALimiterOutlivesTheVariableOfItsClient(): void
    {
        $limiter = client()->limiter('n', '3/minute');
        self::assertSame(2, $limiter->consume('k')->remaining, 'remaining');
    }

    public function testDecisionsHoldForTheLargestNumbers(): void
    {
        $largest = 2 ** 52;
        $decision = client()->limiter('n', new Rule($largest, 3_153_600_000_000))->consume('k', $largest - 1);
        self::assertSame(
            [$largest, 1, $largest - 1],
            [$decision->limit, $decision->remaining, $decision->cost],
            'the numbers'
        );
        self::assertSame(3_153_600_000_000, $decision->resetAfterMs, 'the time');
    }

    public function testACostAboveTheLimitIsDeniedForEver(): void
    {
        self::assertSame(null, client()->limiter('n', '3/minute')->consume('k', 4)->retryAfterMs, 'retryAfterMs');
    }

    public function testNoCallLeaksMemory(): void
    {
        $client = client();
        $limiter = $client->limiter('n', '3/minute;5/hour');
        $count = fn () => null;
        $telling = new Client('memory://', onDecision: $count, onLost: $count);
        $told = $telling->limiter('told', '3/minute');
        $round = function (int $times) use ($client, $limiter, $count, $telling, $told): void {
            for ($i = 0; $i < $times; $i++) {
                $limiter->consume($i % 10);
                $limiter->peek(new Stringable42());
                $client->limiter('n', [new Rule(3, 1000)])->refund('k', 1);
                (new Client('memory://'))->limiter('n', '3/minute')->redisKey('k');
                Testing::get($client, $limiter->redisKey('1'));
                $client->consumeAll([[$limiter, new Stringable42()], [$limiter, $i % 10, 2]], requestId: $i % 10);
                $limiter->reserve('held', 1, 1)->cancel();
                $limiter->consumeUpTo('k', 5);
                (new Client('memory://', onDecision: $count))->limiter('n', '3/minute')->consume($i % 10);
                $told->consume($i % 10);
                $told->reserve('held', 1, 1)->cancel();
                $telling->consumeAll([[$told, new Stringable42()], [$told, $i % 10]]);
                $lock = $telling->lock('told');
                $lock->acquire();
                $lock->forceRelease();
                $lock->release();
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
        self::assertTrue(memory_get_usage() - $used < 4_096, 'that PHP\'s memory stays the same');
        self::assertTrue($resident() - $held < 2 << 20, 'that the process\' memory stays the same');
    }
}
