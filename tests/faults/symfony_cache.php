<?php

// Readers of one key through Symfony Cache, each a process: `symfony_cache.php PORT READERS MACHINES LOAD_MS`; prints
// how often they loaded it. Its lock against stampedes is flock() on files of its own, so those of one machine wait for
// each other. Other machines have other files: here MACHINES of them.

declare(strict_types=1);

use Symfony\Component\Cache\Adapter\RedisAdapter;
use Symfony\Component\Cache\LockRegistry;

require '/usr/share/php/Symfony/Component/Cache/autoload.php';

[, $port, $readers, $machines, $loadMs] = array_map(intval(...), $argv);
$loads = tempnam(sys_get_temp_dir(), 'ql-');
$files = array_map(fn () => tempnam(sys_get_temp_dir(), 'ql-'), range(1, $machines));
$ready = tempnam(sys_get_temp_dir(), 'ql-');
for ($reader = 0; $reader < $readers; $reader++) {
    if (pcntl_fork() === 0) {
        LockRegistry::setFiles([$files[$reader % $machines]]);
        $cache = new RedisAdapter(RedisAdapter::createConnection("redis://127.0.0.1:$port"), "symfony$machines");
        // As under php-fpm: in a command it has no lock.
        $cache->setCallbackWrapper([LockRegistry::class, 'compute']);
        // They begin when the last is ready, however long a fork takes.
        file_put_contents($ready, '.', FILE_APPEND | LOCK_EX);
        while (filesize($ready) < $readers) {
            usleep(1000);
            clearstatcache();
        }
        $cache->get('key', function () use ($loads, $loadMs) {
            file_put_contents($loads, "load\n", FILE_APPEND);
            usleep($loadMs * 1000);
            return 'value';
        });
        exit;
    }
}
while (pcntl_wait($status) > 0) {
}
echo count(file($loads));
array_map(unlink(...), [$loads, $ready, ...$files]);
