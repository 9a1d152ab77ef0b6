<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Exception\ClosedException;
use Quotalock\Exception\InvalidArgumentException;
use Quotalock\Exception\UnavailableException;
use Quotalock\Exception\WrongTypeException;
use Quotalock\LedgerEntry;
use Quotalock\Stock;
use Quotalock\StockReservation;
use Quotalock\StockStatus;
use Quotalock\Testing;

/** Stocks: what is taken, sold and returned, in what language's words, and what is refused. */
final class StocksTest extends TestCase
{
    private const BEGIN = 1_700_000_000_000_000;

    /** The numbers of a sale: available, held, sold, buyers. */
    private static function numbers(Stock $stock): array
    {
        $status = $stock->status();
        self::assertSame($status->quantity, $status->available + $status->held + $status->sold, 'the units');
        return [$status->available, $status->held, $status->sold, $status->buyers];
    }

    /** What happened to a sale. */
    private static function kinds(Stock $stock): array
    {
        return array_map(fn (LedgerEntry $entry) => $entry->kind, $stock->ledger());
    }

    /** @dataProvider stores */
    public function testUnitsAreHeldSoldAndReturned(string $url): void
    {
        $client = client($url);
        Testing::setTime($client, self::BEGIN);
        $stock = $client->stock('sale:42');
        $status = $stock->status();
        self::assertSame(
            ['not_open', 0, null],
            [$status->phase, $status->quantity, $status->endsMs],
            'the numbers before'
        );
        $refused = $stock->take('a');
        self::assertSame(
            ['not_open', null, 0],
            [$refused->outcome, $refused->reservation, $refused->available],
            'a take before'
        );
        self::assertSame(
            [true, false],
            [$stock->open(5, perBuyer: 3), $stock->open(5, 3)],
            'whether it was opened, and again'
        );
        $error = thrown(InvalidArgumentException::class, fn () => $stock->open(6, 3));
        self::assertStringContainsString('quantity 5, per_buyer 3, ends none', $error->getMessage());
        self::assertSame('invalid_argument', $error->getErrorCode(), 'the code');

        $taken = $stock->take('a', 2);
        self::assertSame(['held', 3], [$taken->outcome, $taken->available], 'what it was answered');
        $first = $taken->reservation;
        $shown = [$first->quantity, $first->buyer, $first->prizes, $first->untilMs];
        self::assertSame([2, 'a', [], self::BEGIN / 1000 + 600_000], $shown, 'what is held');
        self::assertSame('buyer_limit', $stock->take('a', 2)->outcome, 'a take of too many');
        $second = $stock->take('a')->reservation;
        $third = $stock->take("\xff\0b", 2, 60_000)->reservation;
        self::assertSame("\xff\0b", $third->buyer, 'the buyer');
        self::assertSame(['sold_out', 0], [$stock->take('c')->outcome, $stock->take('c')->available], 'a take of none');
        self::assertSame([0, 5, 0, 2], self::numbers($stock), 'the numbers');
        self::assertSame([true, true, false], [
            $stock->confirm($first->id),
            $stock->confirm($first->id),
            $stock->cancel($first->id),
        ], 'a confirmation, again, and a cancellation of what is sold');
        self::assertSame([true, true, false], [
            $stock->cancel($second->id),
            $stock->cancel($second->id),
            $stock->confirm($second->id),
        ], 'a cancellation, again, and a confirmation of what was returned');
        self::assertSame([1, 2, 2, 2], self::numbers($stock), 'the numbers then');
        self::assertSame(true, $stock->extend($third->id, 120_000), 'whether it is extended');
        $page = $stock->reservations();
        $until = fn (StockReservation $held) => [$held->id, $held->untilMs];
        $wanted = [[$third->id, self::BEGIN / 1000 + 120_000]];
        self::assertSame([$wanted, null], [array_map($until, $page->reservations), $page->next], 'what is held');
        Testing::setTime($client, self::BEGIN + 120_000_000);
        self::assertSame([3, 0, 2, 1], self::numbers($stock), 'the numbers when it is over');
        self::assertSame(
            [false, false],
            [$stock->confirm($third->id), $stock->extend($third->id)],
            'what is done with it'
        );
        $kinds = ['opened', 'held', 'held', 'held', 'confirmed', 'cancelled', 'extended', 'expired'];
        self::assertSame($kinds, self::kinds($stock), 'what happened');
        $entry = $stock->ledger()[1];
        self::assertSame(
            [2, $first->id, 'a', 2, self::BEGIN / 1000, 3, 2, 0, []],
            [$entry->number, $entry->reservation, $entry->buyer, $entry->quantity, $entry->timeMs, $entry->available,
                $entry->held, $entry->sold, $entry->prizes],
            'an entry'
        );
        self::assertSame([null, null], [$stock->ledger()[0]->reservation, $stock->ledger()[0]->buyer], 'of an opening');
    }

    /** @dataProvider stores */
    public function testEachUnitHasItsPrizeAndARestockAddsSome(string $url): void
    {
        $stock = client($url)->stock('seats');
        $ends = (time() + 3_600) * 1_000;
        $stock->open(3, endsMs: $ends, prizes: ['A1', 2, new Stringable42()]);
        self::assertSame([$ends, null], [$stock->status()->endsMs, $stock->status()->perBuyer], 'the end');
        $held = $stock->take(7, 2)->reservation;
        self::assertSame([['A1', '2'], '7'], [$held->prizes, $held->buyer], 'the prizes');
        self::assertSame(['42'], $stock->take('b')->reservation->prizes, 'the last');
        self::assertSame([4, 4], [
            $stock->restock(1, ["\0"], 'request'),
            $stock->restock(1, ["\0"], 'request'),
        ], 'how many there are, also for a request that is repeated');
        self::assertSame(["\0"], $stock->take('c')->reservation->prizes, 'the new one');
        self::assertSame(["\0"], $stock->ledger($stock->ledger()[3]->id)[0]->prizes, 'its entry');
        self::assertSame(
            [['A1', '2'], ['A1', '2']],
            [$held->prizes, $stock->ledger()[1]->prizes],
            'the prizes of the first'
        );
        thrown(InvalidArgumentException::class, fn () => $stock->restock(2, ['one']));
        thrown(InvalidArgumentException::class, fn () => $stock->restock(1));
    }

    /** @dataProvider stores */
    public function testARequestTakesOnce(string $url): void
    {
        $stock = client($url)->stock('n');
        $stock->open(10);
        $first = $stock->take('a', 3, requestId: 'r1')->reservation;
        $again = $stock->take('a', 3, requestId: 'r1')->reservation;
        self::assertSame([$first->id, $first->untilMs], [$again->id, $again->untilMs], 'the reservation');
        self::assertSame(
            false,
            $stock->take('b', 3, requestId: 'r1')->reservation->id === $first->id,
            "another buyer's"
        );
        self::assertSame(
            false,
            $stock->take('a', 1, requestId: 2)->reservation->id === $first->id,
            'of another request'
        );
        self::assertSame([3, 7, 0, 2], self::numbers($stock), 'the numbers');
    }

    /** @dataProvider stores */
    public function testSeveralStocksAreTakenFromTogether(string $url): void
    {
        $client = client($url);
        [$a, $b] = [$client->stock('a', scope: 's'), $client->stock('b', scope: 's')];
        self::assertSame(["$client->prefix:stock:{s}:{a}", 's'], [$a->redisKeys[0], $a->scope], 'the key');
        $a->open(5);
        $b->open(1);
        $taken = $client->takeAll([[$a, 2], [$b, 1]], 'me', requestId: 'r');
        self::assertSame(['held', null, [3, 0]], [$taken->outcome, $taken->refused, $taken->available], 'the answer');
        self::assertSame([2, 1], array_map(fn ($held) => $held->quantity, $taken->reservations), 'what is held');
        $again = $client->takeAll([[$a, 2], [$b, 1]], 'me', requestId: 'r');
        $ids = fn ($taken) => array_map(fn ($held) => $held->id, $taken->reservations);
        self::assertSame($ids($taken), $ids($again), 'of the same request');
        $refused = $client->takeAll([[$a, 1], [$b, 1]], 'you');
        $shown = [$refused->outcome, $refused->refused, $refused->reservations, $refused->available];
        self::assertSame(['sold_out', 1, [], [3, 0]], $shown, 'what is refused');
        $pairs = [[$a, $ids($taken)[0]], [$b, $ids($taken)[1]]];
        self::assertSame([true, true, true], [
            $client->extendAll($pairs, 900_000),
            $client->confirmAll($pairs),
            $client->confirmAll($pairs),
        ], 'what is done with them');
        self::assertSame(false, $client->cancelAll($pairs), 'what is sold is not returned');
        self::assertSame([[3, 0, 2, 1], [0, 0, 1, 1]], [self::numbers($a), self::numbers($b)], 'the numbers');
        $third = $client->takeAll([[$a, 1]], 'you');
        self::assertSame(true, $client->cancelAll([[$a, $ids($third)[0]]]), 'a cancellation');
        self::assertSame(false, $client->confirmAll([[$a, $ids($third)[0]]]), 'a confirmation of that');
    }

    /** @dataProvider stores */
    public function testPagesFollowEachOther(string $url): void
    {
        $stock = client($url)->stock('n');
        $stock->open(10);
        $ids = [];
        foreach ([5_000, 3_000, 4_000] as $hold) {
            $ids[$hold] = $stock->take('a', holdMs: $hold * 1_000)->reservation->id;
        }
        ksort($ids);
        $found = [];
        for ($cursor = null, $i = 0; $i === 0 || $cursor !== null; $cursor = $page->next, $i++) {
            $page = $stock->reservations($cursor, 2);
            $found = [...$found, ...array_map(fn ($held) => $held->id, $page->reservations)];
        }
        self::assertSame([array_values($ids), 2], [$found, $i], 'the reservations, and how many pages');
        $entries = $stock->ledger(count: 2);
        $rest = $stock->ledger($entries[1]->id);
        self::assertSame(
            [1, 2, 3, 4],
            array_map(fn ($entry) => $entry->number, [...$entries, ...$rest]),
            'the numbers'
        );
    }

    /** @dataProvider servers */
    public function testNoUnitIsSoldTwiceByProcessesAtOnce(string $url): void
    {
        $prefix = prefix();
        $stock = (new Client($url, $prefix))->stock('n');
        $stock->open(100, perBuyer: 30);
        $children = [];
        for ($worker = 0; $worker < 6; $worker++) {
            $children[] = forked(function () use ($url, $prefix, $worker) {
                $stock = (new Client($url, $prefix))->stock('n');
                $sold = 0;
                for ($i = 0; $i < 40; $i++) {
                    $held = $stock->take("buyer $worker")->reservation;
                    if ($held !== null && ($i % 3 > 0 || $stock->cancel($held->id) === false)) {
                        $sold += (int) $stock->confirm($held->id);
                    }
                }
                return $sold;
            });
        }
        $sold = array_sum(array_map(fn (\Closure $child) => $child(), $children));
        self::assertSame([100 - $sold, 0, $sold], array_slice(self::numbers($stock), 0, 3), 'the numbers');
        self::assertTrue($sold > 60, "that some were sold, and not $sold");
    }

    public function testABadArgumentIsRefusedBeforeAnythingIsAsked(): void
    {
        // Nobody listens there.
        $client = client('redis://127.0.0.1:' . freePort());
        $stock = $client->stock('n');
        [$other] = [client()->stock('n')];
        $other->open(1);
        $id = $other->take('a')->reservation->id;
        foreach (
            [
                'name is empty' => fn () => $client->stock(''),
                '2048 bytes' => fn () => $client->stock(str_repeat('n', 2_048)),
                'ledger_cap 999' => fn () => $client->stock('n', ledgerCap: 999),
                'ledger_cap -1' => fn () => $client->stock('n', ledgerCap: -1),
                'retention of' => fn () => $client->stock('n', retentionMs: 59_999),
                'scope' => fn () => $client->stock('n', ''),
                'quantity 0' => fn () => $stock->open(0),
                'quantity -1' => fn () => $stock->open(-1),
                'quantity 4503599627370497' => fn () => $stock->open(2 ** 52 + 1),
                'per_buyer 0' => fn () => $stock->open(1, 0),
                'ends' => fn () => $stock->open(1, endsMs: 0),
                'ends of -5 ms' => fn () => $stock->open(1, endsMs: -5),
                '1 prizes do not match 2 units' => fn () => $stock->open(2, prizes: ['a']),
                'prizes[1] is null: give strings or integers' => fn () => $stock->open(2, prizes: ['a', null]),
                'prize 1 has 0 bytes' => fn () => $stock->open(1, prizes: ['']),
                '1025 bytes' => fn () => $stock->restock(1, [str_repeat('p', 1_025)]),
                'quantity -2' => fn () => $stock->take('a', -2),
                'quantity 0 is' => fn () => $stock->take('a', 0),
                'buyer' => fn () => $stock->take(''),
                '2048' => fn () => $stock->take(str_repeat('b', 2_048)),
                'hold of' => fn () => $stock->take('a', holdMs: 0),
                'hold of -1 ms' => fn () => $stock->take('a', holdMs: -1),
                '30 days' => fn () => $stock->take('a', holdMs: 30 * 86_400_000 + 1),
                'request_id' => fn () => $stock->take('a', requestId: ''),
                '257 bytes' => fn () => $stock->restock(1, requestId: str_repeat('r', 257)),
                'id' => fn () => $stock->confirm('nonsense'),
                'does not belong to stock' => fn () => $client->stock('m')->confirm($id),
                'id is not UTF-8' => fn () => $stock->cancel("\xff"),
                'cursor' => fn () => $stock->reservations('x'),
                'count 0' => fn () => $stock->reservations(count: 0),
                'count 1001' => fn () => $stock->ledger(count: 1_001),
                '"x"' => fn () => $stock->ledger('x'),
                'no stock' => fn () => $client->takeAll([], 'a'),
                'given twice' => fn () => $client->takeAll([[$stock, 1], [$client->stock('n'), 1]], 'a'),
                'belongs to another client' => fn () => $client->takeAll([[$other, 1]], 'a'),
                'takes[0] is an array of 1: give [$stock, $quantity]' => fn () => $client->takeAll([[$stock]], 'a'),
                'takes[0] is an array of 2' => fn () => $client->takeAll([['stock' => $stock, 'n' => 1]], 'a'),
                'takes[0] is string' => fn () => $client->takeAll(['n'], 'a'),
                'takes[1] has string as its stock' => fn () => $client->takeAll([[$stock, 1], ['m', 1]], 'a'),
                'takes[0] has string as its quantity: give int' => fn () => $client->takeAll([[$stock, 'x']], 'a'),
                'quantity -3' => fn () => $client->takeAll([[$stock, -3]], 'a'),
                'no reservation' => fn () => $client->confirmAll([]),
                'reservations[0] has int as its id: give string' => fn () => $client->cancelAll([[$stock, 1]]),
                'reservations[0] is an array of 3: give [$stock, $id]' =>
                    fn () => $client->extendAll([[$stock, 'x', 1]]),
            ] as $part => $call
        ) {
            $error = thrown(InvalidArgumentException::class, $call);
            self::assertSame('invalid_argument', $error->getErrorCode(), 'the code');
            self::assertStringContainsString((string) $part, $error->getMessage());
        }
        foreach (
            [
                '#1 ($name) must be of type string, int given' => fn () => $client->stock(42),
                '#1 ($quantity) must be of type int, string given' => fn () => $stock->open('5'),
                '#1 ($buyer) must be of type Stringable|string|int, null given' => fn () => $stock->take(null),
                '#1 ($takes) must be of type array, string given' => fn () => $client->takeAll('n', 'a'),
                '#4 ($prizes) must be of type array, string given' => fn () => $stock->open(1, prizes: 'a'),
                '#1 ($id) must be of type string, int given' => fn () => $stock->confirm(1),
            ] as $part => $call
        ) {
            self::assertStringContainsString($part, thrown(\TypeError::class, $call)->getMessage());
        }
        $error = thrown(UnavailableException::class, fn () => $stock->take('a'));
        self::assertSame(['unavailable', __FILE__], [$error->getErrorCode(), $error->getFile()], 'the error');
        thrown(InvalidArgumentException::class, fn () => client()->stock('n')->restock(1));
    }

    public function testAClosedClientHasNoStocksAndAKeyOfAnotherTypeIsNamed(): void
    {
        $client = client(server());
        $stock = $client->stock('n');
        (new Connection(server()))->rPush($stock->redisKeys[0], 'x');
        $error = thrown(WrongTypeException::class, fn () => $stock->take('a'));
        self::assertStringContainsString($stock->redisKeys[0], $error->getMessage());
        $client->close();
        foreach (
            [
                fn () => $stock->open(1),
                fn () => $stock->take('a'),
                fn () => $stock->confirm('x'),
                fn () => $stock->status(),
                fn () => $stock->ledger(),
                fn () => $client->stock('n'),
                fn () => $client->takeAll([[$stock, 1]], 'a'),
                fn () => $client->confirmAll([[$stock, 'x']]),
            ] as $call
        ) {
            thrown(ClosedException::class, $call);
        }
    }

    public function testAnswersCanBeClonedSerializedAndShownAndNotBeChanged(): void
    {
        $stock = client()->stock('n');
        $stock->open(2, prizes: ['p', 'q']);
        $taken = $stock->take('a');
        $copy = unserialize(serialize($taken));
        self::assertSame(true, $copy == $taken, 'whether the copy is equal');
        self::assertSame(['p'], json_decode(json_encode($taken), true)['reservation']['prizes'], 'as JSON');
        self::assertStringContainsString(
            'Cannot modify readonly',
            thrown(\Error::class, fn () => $taken->outcome = 'x')->getMessage()
        );
        thrown(\Error::class, fn () => new StockStatus());
        self::assertStringContainsString('readonly', thrown(\Error::class, fn () => $stock->name = 'x')->getMessage());
    }

    public function testFilesWithoutStrictTypesMayGiveNumbersAndTextsAsPHPDoes(): void
    {
        [$output] = php(<<<'CODE'
            $client = new Quotalock\Client('memory://', 'p');
            $stock = $client->stock(42);
            $stock->open('5');
            echo $stock->name, ',', $stock->take(1.0 > 0 ? 'a' : '', '2')->available, ',';
            echo $client->takeAll([[$stock, '1']], 7)->reservations[0]->buyer, ',';
            echo $client->cache('c', '500', beta: '0.5')->name, $client->cache('c', beta: 0)->name;
            CODE);
        self::assertSame('42,3,7,cc', $output, 'what it wrote');
    }
}
