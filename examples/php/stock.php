<?php

/** Stocks: units of a sale that are held while the buyer pays, and never sold twice. Redis: QUOTALOCK_URL. */

declare(strict_types=1);

$client = new Quotalock\Client();
$sale = $client->stock('sale:42');

// Once, by whoever comes first. Opened again with the same numbers, nothing changes.
$sale->open(3, perBuyer: 2);

// Held for ten minutes. With the id of the request, one that is sent twice takes once.
$taken = $sale->take('user:1', 2, requestId: 'order 1001');
echo $taken->outcome, ", $taken->available left\n";

// The buyer pays, in this process or in another: all that is needed is the id.
echo $sale->confirm($taken->reservation->id) ? "sold\n" : "too late: it went back to stock\n";

// Who wants too many is told why not. What nobody confirms in time goes back by itself.
echo $sale->take('user:1')->outcome, "\n";
$second = $sale->take('user:2', holdMs: 60_000)->reservation;
echo $sale->take('user:3')->outcome, "\n";
$sale->cancel($second->id);

$status = $sale->status();
echo "$status->available available, $status->held held, $status->sold sold\n";
foreach ($sale->ledger() as $entry) {
    echo "$entry->number. $entry->kind $entry->quantity: $entry->available available\n";
}

// A basket, whole or not at all; each unit of the seats has its own name. In a cluster they need a common scope.
$seats = $client->stock('seats', scope: 'concert');
$drinks = $client->stock('drinks', scope: 'concert');
$seats->open(2, prizes: ['A1', 'A2']);
$drinks->open(1);
[$seat, $drink] = $client->takeAll([[$seats, 1], [$drinks, 1]], 'user:1')->reservations;
echo $client->confirmAll([[$seats, $seat->id], [$drinks, $drink->id]]) ? "seat {$seat->prizes[0]} and a drink\n" : '';
$basket = $client->takeAll([[$seats, 1], [$drinks, 1]], 'user:2');
echo $basket->outcome, ' at the ', ['seats', 'drinks'][$basket->refused], "\n";
