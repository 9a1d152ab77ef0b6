<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use PHPUnit\Framework\Assert;
use PHPUnit\Framework\AssertionFailedError;
use Quotalock\Client;
use Quotalock\LedgerEntry;
use Quotalock\Stock;
use Quotalock\StockReservation;
use Quotalock\StockStatus;
use Quotalock\Testing;

/** The steps of one vector about stocks. */
final class StockSteps
{
    /** @var array<string, Stock> by their labels */
    private array $stocks;

    /** @var array<string, array{string, string}> the labels of stocks, and ids, of reservations by their labels */
    private array $reservations = [];

    public function __construct(private readonly Client $client, private readonly array $case)
    {
        $this->stocks = array_map(
            fn (array $given) => $client->stock(Vectors::bytes($given, 'name'), Vectors::bytes($given, 'scope')),
            $case['stocks']
        );
    }

    /** Makes a call that is refused; what it leaves out is good. */
    public static function refused(Client $client, array $case): void
    {
        $given = $case['args'];
        $ms = fn (string $name, int $default) => intdiv($given[$name] ?? $default, 1_000);
        $make = fn (string $name): Stock => $client->stock(
            $name,
            $given['scope'] ?? null,
            $given['ledger_cap'] ?? 100_000,
            $ms('retention', 2_592_000_000_000)
        );
        $stock = $make($given['name'] ?? 'stock');
        $quantity = $given['quantity'] ?? 1;
        [$prizes, $request, $hold] = [$given['prizes'] ?? null, $given['request'] ?? null, $ms('hold', 1_000_000)];
        [$buyer, $id, $count] = [$given['buyer'] ?? 'buyer', $given['id'] ?? 'x', $given['count'] ?? 10];
        $ends = isset($given['ends']) ? intdiv($given['ends'], 1_000) : null;
        match ($case['op']) {
            'stock' => null,
            'open' => $stock->open($quantity, $given['per_buyer'] ?? null, $ends, $prizes),
            'restock' => $stock->restock($quantity, $prizes, $request),
            'take' => $stock->take($buyer, $quantity, $hold, $request),
            'take_all' => $client->takeAll(
                array_map(fn (array $item) => [$make($item[0]), $item[1]], $given['items']),
                $buyer,
                $hold,
                $request
            ),
            'confirm' => $stock->confirm($id),
            'cancel' => $stock->cancel($id),
            'extend' => $stock->extend($id, $hold),
            'confirm_all' => $client->confirmAll(array_map(fn (string $id) => [$stock, $id], $given['ids'])),
            'reservations' => $stock->reservations($given['cursor'] ?? null, $count),
            'ledger' => $stock->ledger($given['after'] ?? null, $count),
        };
    }

    public function execute(): void
    {
        foreach ($this->case['steps'] as $i => $step) {
            Testing::setTime($this->client, $step['at']);
            if (isset($step['error'])) {
                Vectors::fails($step['error'], fn () => $this->perform($step));
                continue;
            }
            $found = $this->perform($step);
            if (isset($step['expect'])) {
                Assert::assertSame(self::sorted($step['expect']), self::sorted($found), "the answer of steps[$i]");
            }
        }
    }

    private function label(array $step): string
    {
        return $step['stock'] ?? array_key_first($this->stocks);
    }

    private function perform(array $step): ?array
    {
        $stock = $this->stocks[$this->label($step)];
        return match ($step['op']) {
            'open' => ['opened' => $stock->open(
                $step['quantity'],
                $step['per_buyer'] ?? null,
                isset($step['ends']) ? self::ms($step['ends']) : null,
                $step['prizes'] ?? null
            )],
            'close' => ['closed' => $stock->close()],
            'restock' => ['quantity' => $stock->restock(
                $step['quantity'],
                $step['prizes'] ?? null,
                $step['request'] ?? null
            )],
            'take' => $this->take($stock, $step),
            'take_all' => $this->takeAll($step),
            'confirm', 'cancel', 'extend' => ['done' => $this->settle($step)],
            'status' => self::status($stock->status()),
            'reservations' => ['pages' => $this->pages($stock, $step['count'])],
            'ledger' => ['entries' => $this->entries($stock, $step)],
            'redis_keys' => ['redis_keys' => array_map(
                fn (string $key) => substr($key, strlen("{$this->client->prefix}:")),
                $stock->redisKeys
            )],
            'plant', 'persist', 'raw' => Vectors::raw($this->client, $stock->redisKeys[$step['key']], $step),
        };
    }

    private function take(Stock $stock, array $step): array
    {
        $buyer = Vectors::bytes($step, 'buyer');
        $taken = $stock->take($buyer, $step['quantity'], self::ms($step['hold']), $step['request'] ?? null);
        $wanted = $step['expect']['reservation'] ?? null;
        $held = $taken->reservation;
        return [
            'outcome' => $taken->outcome,
            'available' => $taken->available,
            'reservation' => $held === null ? null : $this->shown($this->label($step), $held, $wanted),
        ];
    }

    private function takeAll(array $step): array
    {
        $items = $step['items'];
        $takes = array_map(fn (array $item) => [$this->stocks[$this->label($item)], $item['quantity']], $items);
        $buyer = Vectors::bytes($step, 'buyer');
        $taken = $this->client->takeAll($takes, $buyer, self::ms($step['hold']), $step['request'] ?? null);
        $shown = [];
        foreach ($taken->reservations as $i => $held) {
            $shown[] = $this->shown($this->label($items[$i]), $held, $step['expect']['reservations'][$i] ?? null);
        }
        return [
            'outcome' => $taken->outcome,
            'refused' => $taken->refused === null ? null : $this->label($items[$taken->refused]),
            'available' => $taken->available,
            'reservations' => $shown,
        ];
    }

    private function settle(array $step): bool
    {
        $op = $step['op'];
        $hold = isset($step['hold']) ? [self::ms($step['hold'])] : [];
        if (isset($step['reservations'])) {
            $pair = fn (array $known) => [$this->stocks[$known[0]], $known[1]];
            $pairs = array_map(fn (string $label) => $pair($this->reservations[$label]), $step['reservations']);
            return $this->client->{"{$op}All"}($pairs, ...$hold);
        }
        [$stock, $id] = isset($step['reservation']) ? $this->reservations[$step['reservation']]
            : [$this->label($step), $step['id']];
        return $this->stocks[$step['stock'] ?? $stock]->$op($id, ...$hold);
    }

    private static function status(StockStatus $status): array
    {
        return [
            'phase' => $status->phase,
            'quantity' => $status->quantity,
            'available' => $status->available,
            'held' => $status->held,
            'sold' => $status->sold,
            'buyers' => $status->buyers,
            'per_buyer' => $status->perBuyer,
            'ends' => $status->endsMs === null ? null : $status->endsMs * 1_000,
        ];
    }

    private function pages(Stock $stock, int $count): array
    {
        $pages = [];
        $cursor = null;
        do {
            $page = $stock->reservations($cursor, $count);
            $pages[] = array_map(fn (StockReservation $held) => $this->shown('', $held, null), $page->reservations);
            $cursor = $page->next;
        } while ($cursor !== null);
        return $pages;
    }

    private function entries(Stock $stock, array $step): array
    {
        $after = null;
        foreach (isset($step['after']) ? $stock->ledger(count: 1_000) : [] as $entry) {
            $after = $entry->number === $step['after'] ? $entry->id : $after;
        }
        return array_map(fn (LedgerEntry $entry) => [
            'number' => $entry->number,
            'kind' => $entry->kind,
            'reservation' => $entry->reservation === null ? null : $this->known($entry->reservation),
            'buyer' => $entry->buyer,
            'quantity' => $entry->quantity,
            'time' => $entry->timeMs * 1_000,
            'available' => $entry->available,
            'held' => $entry->held,
            'sold' => $entry->sold,
            'prizes' => $entry->prizes,
        ], $stock->ledger($after, $step['count'] ?? 100));
    }

    /** A reservation as vectors have it; one that is not known gets the label that is wanted. */
    private function shown(string $stock, StockReservation $held, ?array $wanted): array
    {
        if (isset($wanted['reservation'])) {
            $this->reservations[$wanted['reservation']] ??= [$stock, $held->id];
        }
        $buyer = isset($wanted['buyer_hex']) ? ['buyer_hex' => bin2hex($held->buyer)] : ['buyer' => $held->buyer];
        return $buyer + [
            'reservation' => $this->known($held->id),
            'quantity' => $held->quantity,
            'prizes' => $held->prizes,
            'until' => $held->untilMs * 1_000,
        ];
    }

    /** The label of a reservation. */
    private function known(string $id): string
    {
        foreach ($this->reservations as $label => [, $known]) {
            if ($known === $id) {
                return $label;
            }
        }
        throw new AssertionFailedError("nobody took $id");
    }

    /** Microseconds as milliseconds; all of them are whole. */
    private static function ms(int $micros): int
    {
        Assert::assertSame(0, $micros % 1_000, 'what is left of the milliseconds');
        return intdiv($micros, 1_000);
    }

    /** With the fields of all objects in one order. */
    private static function sorted(mixed $value): mixed
    {
        if (!is_array($value)) {
            return $value;
        }
        if (!array_is_list($value)) {
            ksort($value);
        }
        return array_map(self::sorted(...), $value);
    }
}
