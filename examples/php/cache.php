<?php

/** A cache that never stampedes, and what is done once. Redis: QUOTALOCK_URL. */

declare(strict_types=1);

$client = new Quotalock\Client();

// Fresh for a minute; then served for ten more while one process, out of all, loads a new one.
$pages = $client->cache('pages', freshMs: 60_000, staleMs: 600_000);
$load = function (): string {
    echo "loading\n";
    return '<h1>Home</h1>';
};
for ($i = 0; $i < 2; $i++) {
    echo $pages->get('home', $load), "\n";
}

// What has changed is forgotten, and not overwritten by who began to load before.
$pages->invalidate('home');
echo $pages->peek('home') === null ? "forgotten\n" : "still there\n";

// Several at once: one look, and one call for all that is missing. What is left out has no value.
$prices = $client->cache('prices')->getMany(['sku:1', 'sku:2', 'sku:3'], function (array $missing): array {
    echo 'asking for ', implode(', ', $missing), "\n";
    return ['sku:1' => '9.90', 'sku:3' => '4.50'];
});
echo json_encode($prices), "\n";

// Whatever JSON can say.
$user = $client->cache('users')->getJson('7', fn (): array => ['name' => 'Ada', 'roles' => ['admin']]);
echo $user['name'], "\n";

// What a loader throws gets out; for a second, others are told at once instead of trying too.
try {
    $pages->get('down', fn () => throw new RuntimeException('no database'));
} catch (RuntimeException $error) {
    echo $error->getMessage(), "\n";
}
try {
    $pages->get('down', $load);
} catch (Quotalock\Exception\LoadFailedException $error) {
    echo $error->getErrorCode(), "\n";
}

// Once: a webhook that comes twice is worked on once, and both get the same answer.
$payments = $client->once('payments');
for ($i = 0; $i < 2; $i++) {
    echo $payments->run('event 17', function (): string {
        echo "paying\n";
        return 'receipt 17';
    }), "\n";
}

// Or as a claim: who is the first?
$coupons = $client->once('coupons');
foreach (['user:1', 'user:2'] as $user) {
    $claimed = $coupons->claim('WELCOME', $user);
    echo $claimed->first ? "$user has it\n" : "$claimed->value was first\n";
}
