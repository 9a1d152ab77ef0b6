<?php

// What a child of php-fpm runs: it calls until a file is gone, each time as a request of its own would, and answers how
// many calls it made and how many failed.

declare(strict_types=1);

use Quotalock\Client;
use Quotalock\Exception\QuotalockException;

['url' => $url, 'file' => $file, 'number' => $number] = $_GET;
mt_srand((int) $number);
for ($calls = $failed = 0; is_file($file); $calls++) {
    clearstatcache();
    try {
        $limiter = (new Client($url, 'herd', timeoutMs: 2000))->limiter('herd', '1000000/1h');
        $limiter->consume('key ' . mt_rand(0, 999));
    } catch (QuotalockException) {
        $failed++;
    }
    // All of them have called when the last has begun.
    if ($calls === 3) {
        file_put_contents($file, '.', FILE_APPEND | LOCK_EX);
    }
    usleep(mt_rand(0, 400_000));
}
echo "$calls $failed";
