<?php

/** The PHP service of act 4: a unit for a buyer, or the payment for the unit that a reservation holds. */

declare(strict_types=1);

use Quotalock\Exception\TimeoutException;
use Quotalock\Exception\UnavailableException;

$stock = (new Quotalock\Client())->stock(getenv('STOCK'));

try {
    if (!isset($_GET['reservation'])) {
        // The request id has a call that is repeated take it once.
        $taken = $stock->take($_GET['buyer'], holdMs: (int) $_GET['hold'], requestId: 'php');
        exit($taken->outcome . ' ' . ($taken->reservation->id ?? ''));
    }
    if ($_GET['dies']) {
        posix_kill(getmypid(), 9); // what the kernel does when memory runs out
    }
    echo $stock->confirm($_GET['reservation']) ? 'paid' : 'late';
} catch (UnavailableException | TimeoutException) {
    http_response_code(503);
}
