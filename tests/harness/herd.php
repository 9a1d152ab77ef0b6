<?php

// So many children of one PHP, as those of php-fpm are, who call until a file is gone: `herd.php URL CHILDREN FILE`.

declare(strict_types=1);

use Quotalock\Client;
use Quotalock\Exception\QuotalockException;

[, $url, $children, $file] = $argv;
for ($n = 0; $n < (int) $children; $n++) {
    if (pcntl_fork() !== 0) {
        continue;
    }
    mt_srand($n);
    $limiter = (new Client($url, 'herd', timeoutMs: 2000))->limiter('herd', '1000000/1h');
    for ($calls = $failed = 0; is_file($file); $calls++) {
        clearstatcache();
        try {
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
    fwrite(STDOUT, "$calls $failed\n");
    exit(0);
}
while (pcntl_wait($status) > 0) {
}
