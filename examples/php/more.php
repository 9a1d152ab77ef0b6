<?php

/** What else a limiter can do, here for a service that sells tokens of a language model. Redis: QUOTALOCK_URL. */

declare(strict_types=1);

$client = new Quotalock\Client();

// Several keys, charged all or none in one round trip; with an id a request that is sent again is charged once. What is
// charged together has a common scope: in a cluster that puts it into one slot.
$calls = $client->limiter('calls', '10/minute', scope: 'team:blue');
$team = $client->limiter('team', '100/minute', scope: 'team:blue');
for ($i = 0; $i < 2; $i++) {
    $both = $client->consumeAll([[$calls, 'user:42'], [$team, 'all', 5]], requestId: 'request-7');
    echo $both->allowed ? 'go ahead, ' : "retry in {$both->retryAfterMs} ms, ";
    echo implode(' and ', array_column($both->decisions, 'remaining')), " left\n";
}

// An estimate that is held until the real amount is known, or half a minute has passed.
$tokens = $client->limiter('tokens', 'token-bucket 1000/minute');
$reservation = $tokens->reserve('team:blue', 800, ttlMs: 30_000, unsettled: 'returned');
if ($reservation->decision->allowed) {
    // Any process that knows the key and the id can settle it.
    $tokens->reservation('team:blue', $reservation->id)->settle(310);
    echo "310 tokens in place of 800\n";
}

// As many as there are.
$mails = $client->limiter('mails', '100/hour');
echo "sending {$mails->consumeUpTo('team:blue', 250)->cost} of 250 mails\n";

// A policy on trial: everything passes, and what it would deny is marked.
$trial = $client->limiter('trial', '1/minute', enforce: false);
for ($i = 0; $i < 2; $i++) {
    echo $trial->consume('user:42')->wouldDeny ? "would be denied\n" : "would pass\n";
}
