<?php

/**
 * A write that comes too late, since its holder was stopped past its ttl: the database refuses it by the fencing token.
 *
 * The database is SQLite in memory, or PostgreSQL if DATABASE has its DSN. Redis: `ratelimit.url`, then QUOTALOCK_URL.
 */

declare(strict_types=1);

$db = new PDO(getenv('DATABASE') ?: 'sqlite::memory:');
$db->exec(
    'CREATE TEMPORARY TABLE stock (id VARCHAR(64) PRIMARY KEY, price INT, fence BIGINT NOT NULL DEFAULT 0)'
);
$db->exec("INSERT INTO stock (id, price) VALUES ('sku:42', 100)");

// The whole guard: a column for the largest token seen, and a condition. Who changes no row came too late.
$guarded = $db->prepare('UPDATE stock SET price = :price, fence = :token WHERE id = :id AND fence < :token');
$setPrice = function (int $price, ?int $token) use ($guarded): string {
    $guarded->execute(['price' => $price, 'token' => $token, 'id' => 'sku:42']);
    return $guarded->rowCount() === 1 ? "$price written\n" : "$price refused\n";
};

$client = new Quotalock\Client();
$first = $client->lock('sku:42', ttlMs: 300);
$second = $client->lock('sku:42', waitMs: 5000);

$first->acquire() or exit("somebody else holds it\n");
$first->assertHeld();
echo "the first makes sure that it holds the lock, and is stopped before it writes\n";
usleep(400_000); // a full disk, a virtual machine that is moved, a debugger

$second->run(function (Quotalock\Lock $lock) use ($setPrice, $first): void {
    echo 'the second holds it: ', $setPrice(120, $lock->token);
    echo 'the first goes on: ', $setPrice(90, $first->token);
});
echo "the first knows: $first->state\n";

// The database may have seen a larger token than Redis gives: of a server whose clock was ahead by a minute.
$db->exec('UPDATE stock SET fence = fence + 60000000');
$second->run(function (Quotalock\Lock $lock) use ($setPrice, $db): void {
    echo 'the second again: ', $setPrice(130, $lock->token);
    $lock->raiseFloor((int) $db->query('SELECT fence FROM stock')->fetchColumn());
});
$second->run(function (Quotalock\Lock $lock) use ($setPrice): void {
    echo 'above the floor: ', $setPrice(130, $lock->token);
});
echo 'price: ', $db->query('SELECT price FROM stock')->fetchColumn(), "\n";
