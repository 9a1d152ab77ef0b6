<?php

// PHP of `make bench ONLY=memory`: `in_process.php ours CALLS` prints the nanoseconds of CPU of a call about a hot key.

declare(strict_types=1);

$limiter = (new Quotalock\Client('memory://'))->limiter('bench', '1000000000/hour');

$cpu = static function (): float {
    $used = getrusage();
    return 1e9 * ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec'])
        + 1e3 * ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']);
};

$drive = static function (int $calls) use ($limiter, $cpu): float {
    $begun = $cpu();
    for ($call = 0; $call < $calls; $call++) {
        $limiter->consume('user:42');
    }
    return ($cpu() - $begun) / $calls;
};

$calls = (int) $argv[2];
$drive(intdiv($calls, 10) + 1);
echo $drive($calls), "\n";
