<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Exception\ClosedException;
use Quotalock\Testing;

/** Several keys at once, and what they and single calls may be given: request ids, scopes, enforce. */
final class ChargesTest extends TestCase
{
    public function testAChargeIsALimiterAndAKeyWithACostIfItIsNot1(): void
    {
        $client = client();
        $limiter = $client->limiter('n', '9/minute');
        $charges = ['text' => [$limiter, 'k', 2], 7 => [$limiter, 42], [$limiter, 'tight', 7]];
        $combined = $client->consumeAll(charges: $charges);
        self::assertSame([true, false, 2, 0, 'memory'], [
            $combined->allowed,
            $combined->wouldDeny,
            $combined->binding,
            $combined->retryAfterMs,
            $combined->source,
        ], 'the decision');
        self::assertSame([2, 1, 7], array_column($combined->decisions, 'cost'), 'the costs');
        self::assertSame([0, 1, 2], array_keys($combined->decisions), 'the places');
        self::assertSame(8, $limiter->peek('42')->remaining, 'remaining of the integer');
        self::assertSame(
            7,
            $client->consumeAll([[$limiter, new Stringable42()]])->decisions[0]->remaining,
            'of an object'
        );
        self::assertSame(8, $client->consumeAll([[$limiter, "\xff\0"]])->decisions[0]->remaining, 'of bytes');
    }

    public function testWhatIsNoChargeIsRefusedAndToldWhereItStands(): void
    {
        $client = client();
        $limiter = $client->limiter('n', '9/minute');
        $form = ': give [$limiter, $key] or [$limiter, $key, $cost]';
        $bad = [
            "charges[1] is string$form" => 'k',
            "charges[1] is Quotalock\Limiter$form" => $limiter,
            "charges[1] is an array of 0$form" => [],
            "charges[1] is an array of 1$form" => [$limiter],
            "charges[1] is an array of 4$form" => [$limiter, 'k', 1, 1],
            "charges[1] is an array with keys of its own$form" => ['limiter' => $limiter, 'key' => 'k'],
            'charges[1] has string as its limiter: give Quotalock\Limiter' => ['n', 'k'],
            'charges[1] has Quotalock\Client as its limiter: give Quotalock\Limiter' => [$client, 'k'],
            'charges[1] has null as its key: give Stringable|string|int' => [$limiter, null],
            'charges[1] has float as its key: give Stringable|string|int' => [$limiter, 1.5],
            'charges[1] has string as its cost: give int' => [$limiter, 'k', '2'],
            'charges[1] has null as its cost: give int' => [$limiter, 'k', null],
        ];
        foreach ($bad as $message => $charge) {
            $error = refused('invalid_argument', fn () => $client->consumeAll([[$limiter, 'good'], $charge]));
            self::assertSame($message, $error->getMessage(), 'the message');
        }
        self::assertStringContainsString(
            'no charge',
            refused('invalid_argument', fn () => $client->consumeAll([]))->getMessage()
        );
        self::assertStringContainsString(
            '-1',
            refused('invalid_argument', fn () => $client->consumeAll([[$limiter, 'k', -1]]))->getMessage()
        );
        refused('invalid_argument', fn () => $client->consumeAll([[$limiter, 'k', 0]]));
        refused('invalid_argument', fn () => $client->consumeAll([[$limiter, '']]));
        $twice = refused('invalid_argument', fn () => $client->consumeAll([[$limiter, '42'], [$limiter, 42]]));
        self::assertStringContainsString('"42" is given twice', $twice->getMessage());
        $error = thrown(\TypeError::class, fn () => $client->consumeAll('k'));
        self::assertStringContainsString(
            'consumeAll(): Argument #1 ($charges) must be of type array, string given',
            $error->getMessage()
        );
        self::assertSame(9, $limiter->peek('good')->remaining, 'remaining after all this');
    }

    public function testAFileWithoutStrictTypesTakesWholeNumbersInAnyFormForACostAnd1And0ForABool(): void
    {
        [$output] = php('$c = new Quotalock\Client("memory://"); $l = $c->limiter("n", "9/minute");'
            . 'foreach (["2", 2.0, "x", 1.5] as $cost)'
            . ' try { echo $c->consumeAll([[$l, "k", $cost]])->decisions[0]->cost, "|"; }'
            . ' catch (Exception $e) { echo $e->getMessage(), "|"; }'
            . 'foreach ([1, "1", 0, "0", "", 2, "false", []] as $yes)'
            . ' try { echo json_encode($c->limiter("n", "1/s", enforce: $yes)->enforce), "|"; }'
            . ' catch (TypeError $e) { echo strstr($e->getMessage(), "type"), "|"; }');
        $wanted = '2|2|charges[0] has string as its cost: give int|charges[0] has float as its cost: give int|'
            . 'true|true|false|false|false|type bool, int given|type bool, string given|type bool, array given|';
        self::assertSame($wanted, $output);
        $error = thrown(\TypeError::class, fn () => client()->limiter('n', '1/s', enforce: 1));
        self::assertStringContainsString(
            'Argument #4 ($enforce) must be of type bool, int given',
            $error->getMessage()
        );
    }

    public function testLimitersOfAnotherClientAreRefusedThoseOfAnObjectWithTheSameSettingsAreNot(): void
    {
        $client = client();
        $other = client()->limiter('foreign', '9/minute');
        $error = refused('invalid_argument', fn () => $client->consumeAll([[$other, 'k']]));
        self::assertStringContainsString('"foreign" belongs to another client', $error->getMessage());
        $same = new Client('memory://', $client->prefix);
        $limiter = $same->limiter('n', '9/minute');
        self::assertSame(8, $client->consumeAll([[$limiter, 'k']])->decisions[0]->remaining, 'remaining');
        $same->close();
        thrown(ClosedException::class, fn () => $client->consumeAll([[$limiter, 'k']]));
    }

    public function testAToStringThatChangesTheListWhileItIsReadHarmsNobody(): void
    {
        $client = client();
        [$limiter, $key, $charge] = [$client->limiter('n', '9/minute'), str_repeat('k', 50), null];
        $meddler = new class (function () use (&$limiter, &$key, &$charge, &$charges) {
            $limiter = null;
            $key = str_repeat('x', 50);
            $charge = 'gone';
            $charges = [];
            gc_collect_cycles();
        }) {
            public function __construct(private readonly \Closure $meddle)
            {
            }

            public function __toString(): string
            {
                ($this->meddle)();
                return 'meddler';
            }
        };
        $charge = [$limiter, $meddler];
        $charges = [[&$limiter, &$key], &$charge];
        $error = refused('invalid_argument', fn () => $client->consumeAll($charges));
        self::assertSame(
            'charges[0] has null as its limiter: give Quotalock\Limiter',
            $error->getMessage(),
            'the message'
        );
        $limiter = $client->limiter('n', '9/minute');
        $charge = [$client->limiter('m', '9/minute'), $meddler];
        $charges = [[$client->limiter('n', '9/minute'), &$key], &$charge];
        self::assertStringContainsString(
            'charges[1] is string',
            refused('invalid_argument', fn () => $client->consumeAll($charges))->getMessage()
        );
        $key = new class {
            public function __toString(): string
            {
                throw new \DomainException('no text');
            }
        };
        $limiter = $client->limiter('n', '9/minute');
        thrown(\DomainException::class, fn () => $client->consumeAll([[$limiter, 'k'], [$limiter, $key]]));
        self::assertSame(9, $limiter->peek('k')->remaining, 'remaining');
    }

    public function testARequestIdIsAnyBytesAnIntegerOrAnObjectWithToString(): void
    {
        $client = client();
        $limiter = $client->limiter('n', '9/minute');
        self::assertSame([8, 8, 8], [
            $limiter->consume('k', 1, '42')->remaining,
            $limiter->consume('k', requestId: 42)->remaining,
            $limiter->consume('k', 1, new Stringable42())->remaining,
        ], 'remaining');
        self::assertSame(7, $limiter->consume('k', 1, "\xff\0\xfe")->remaining, 'remaining of another');
        self::assertSame(7, $limiter->consume('k', 1, "\xff\0\xfe")->remaining, 'remaining of another, again');
        self::assertSame([8, 8], [
            $limiter->refund('k', 1, -7)->remaining,
            $limiter->refund('k', 1, '-7')->remaining,
        ], 'remaining after a refund');
        self::assertSame(7, $limiter->consume('k', 1, null)->remaining, 'remaining without an id');
        $all = fn (mixed $id) => $client->consumeAll([[$limiter, 'all', 3]], $id)->decisions[0]->remaining;
        self::assertSame(
            [6, 6, 6, 3],
            [$all('42'), $all(42), $all(new Stringable42()), $all(null)],
            'remaining of several keys'
        );
        foreach (['bool' => true, 'float' => 1.5, 'array' => []] as $type => $id) {
            $error = thrown(\TypeError::class, fn () => $limiter->consume('k', 1, $id));
            $wanted = 'Argument #3 ($requestId) must be of type Stringable|string|int|null, ' . "$type given";
            self::assertSame("Quotalock\Limiter::consume(): $wanted", $error->getMessage(), 'the message');
        }
        self::assertStringContainsString(
            'request_id',
            refused('invalid_argument', fn () => $limiter->refund('k', 1, ''))->getMessage()
        );
    }

    public function testARequestIsRememberedForAsLongAsItsClientSays(): void
    {
        $client = new Client('memory://', prefix(), timeoutMs: 1_000, requestMemoryMs: 5_000);
        $limiter = $client->limiter('n', '9/minute');
        $left = [];
        foreach ([0, 4_999, 5_000] as $ms) {
            Testing::setTime($client, 1_700_000_000_000_000 + $ms * 1000);
            $left[] = $limiter->consume('k', 1, 'id')->remaining;
        }
        self::assertSame([8, 8, 7], $left, 'remaining');
        foreach ([0, -1, 86_400_001, PHP_INT_MAX] as $ms) {
            $make = fn () => new Client('memory://', requestMemoryMs: $ms);
            self::assertStringContainsString('request_memory', refused('invalid_argument', $make)->getMessage());
        }
        thrown(\TypeError::class, fn () => new Client('memory://', requestMemoryMs: '5000'));
    }

    public function testAScopeIsAnyBytesAndStandsBeforeTheKey(): void
    {
        $client = client();
        $scopes = ['shop' => 'shop', '42' => 42, "\xff\0" => "\xff\0"];
        foreach ($scopes as $text => $scope) {
            $limiter = $client->limiter('n', '9/minute', $scope);
            self::assertSame((string) $text, $limiter->scope, 'the scope');
            self::assertSame("$client->prefix:limit:n:{{$text}}:{k}", $limiter->redisKey('k'), 'the Redis key');
        }
        self::assertSame('42', $client->limiter('n', '9/minute', new Stringable42())->scope, 'the scope of an object');
        $plain = $client->limiter('n', '9/minute');
        self::assertSame([null, true], [$plain->scope, $plain->enforce], 'what is not given');
        self::assertStringContainsString(
            'scope',
            refused('invalid_argument', fn () => $client->limiter('n', '1/s', ''))->getMessage()
        );
        $error = thrown(\TypeError::class, fn () => $client->limiter('n', '1/s', 1.5));
        self::assertStringContainsString(
            'Argument #3 ($scope) must be of type Stringable|string|int|null, float given',
            $error->getMessage()
        );
    }

    public function testAPolicyOnTrialLetsEverythingPassAndMarksIt(): void
    {
        $trial = client()->limiter('n', '1/minute', enforce: false);
        self::assertSame(false, $trial->enforce, 'enforce');
        [$first, $second] = [$trial->require('k'), $trial->require('k')];
        self::assertSame([true, false, true, true], [
            $first->allowed,
            $first->wouldDeny,
            $second->allowed,
            $second->wouldDeny,
        ], 'the decisions');
    }
}
