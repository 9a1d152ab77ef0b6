<?php

/** A lock, a sale, a cache and a fork, with the extension as it is installed: `smoke.php URL`. */

declare(strict_types=1);

function must(bool $condition, string $otherwise): void
{
    $condition || throw new LogicException($otherwise);
}

[, $url] = $argv;
$client = new Quotalock\Client($url, 'smoke' . getmypid(), timeoutMs: 10_000);

$client->lock('report', ttlMs: 5_000)->run(function () use ($client): void {
    must(!$client->lock('report')->acquire(), 'two holders of one lock');
});

$sale = $client->stock('seats');
$sale->open(1);
must($sale->confirm($sale->take('ada')->reservation->id), 'a seat was not sold');
must($sale->take('bob')->outcome === 'sold_out', 'a seat was sold twice');

$pages = $client->cache('pages', freshMs: 60_000);
$loads = 0;
for ($i = 0; $i < 2; $i++) {
    $page = $pages->get('home', function () use (&$loads): string {
        $loads++;
        return 'Home';
    });
    must($page === 'Home', 'another value came back');
}
must($loads === 1, 'a fresh value was loaded again');

$limiter = $client->limiter('logins', '3/minute');
must($limiter->consume('ada')->allowed, 'the first call was denied');
$child = pcntl_fork();
if ($child === 0) {
    // The child has its own connection; memory:// is its own too.
    exit($limiter->consume('ada')->allowed ? 0 : 1);
}
pcntl_waitpid($child, $status);
must(pcntl_wexitstatus($status) === 0, 'the child of a fork was denied');
$left = $limiter->peek('ada')->remaining;
must($left === (str_starts_with($url, 'memory') ? 2 : 1), "$left left after a fork");
echo 'smoke passed on ', strtok($url, ':'), "\n";
