<?php

/** How a loader and whoever waits for one can end: nothing of them stays behind. */

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;

/** How a loader can end without a value, and what its script's exit code is then. */
const STOPS = [
    'exit' => ['exit(3);', 3],
    'exception' => ['throw new DomainException("thrown");', 255],
    'error' => ['trigger_error("the end", E_USER_ERROR);', 255],
    'undefined' => ['nosuch();', 255],
    'memory' => ['str_repeat("x", 1 << 40);', 255],
    'time' => ['set_time_limit(1); for (;;);', 255],
    'handler' => ['pcntl_async_signals(true); pcntl_signal(SIGUSR1, function () { exit(4); });
        posix_kill(getmypid(), SIGUSR1); sleep(1);', 4],
    'array' => ['return [];', 255],
];

foreach (STOPS as $how => [$stop, $wanted]) {
    test("however a loader ends, the next one loads at once ($how)", function () use ($stop, $wanted) {
        $prefix = prefix();
        $begin = '$client = new Quotalock\Client(getenv("SERVER"), getenv("PREFIX"));';
        $calls = [
            '$client->cache("home", leaseMs: 60_000, errorsMs: 0)->get("x", $end);',
            '$client->cache("home", leaseMs: 60_000, errorsMs: 0)->getMany(["y", "z"], $end);',
            '$client->cache("home", leaseMs: 60_000, errorsMs: 0)->getJson("j", $end);',
            '$client->once("coupon", leaseMs: 60_000)->run("x", $end);',
        ];
        foreach ($calls as $i => $call) {
            if ($stop === 'return [];' && $i !== 0) {
                continue;
            }
            $code = "$begin \$end = function () { echo 'in,'; $stop }; $call echo 'never';";
            $environment = ['SERVER' => server(), 'PREFIX' => $prefix];
            [$output, $exit] = php($code, ['-d', 'memory_limit=64M'], $environment);
            contains('in,', $output);
            lacks('never', $output);
            same($wanted, $exit, 'the exit code');
        }
        $client = new Client(server(), $prefix);
        $cache = $client->cache('home');
        same('v', $cache->get('x', fn () => 'v', 0), 'what get loads');
        same(['y' => 'v', 'z' => null], $cache->getMany(['y', 'z'], fn () => ['y' => 'v'], 0), 'what getMany loads');
        same([1], $cache->getJson('j', fn () => [1], 0), 'what getJson loads');
        same('v', $client->once('coupon')->run('x', fn () => 'v', 0), 'what run returns');
    });
}

test('what a handler throws, and exit in it, end a wait and leave nothing', function () {
    foreach (['throw new DomainException("enough");' => 'enough', 'echo "bye"; exit(3);' => 'bye'] as $do => $says) {
        $prefix = prefix();
        $cache = (new Client(server(), $prefix))->cache('home', leaseMs: 60_000);
        $output = '';
        $cache->get('x', function () use ($do, $prefix, &$output) {
            $code = <<<CODE
                pcntl_async_signals(true);
                pcntl_signal(SIGALRM, function () { $do });
                pcntl_alarm(1);
                \$cache = (new Quotalock\Client(getenv('SERVER'), getenv('PREFIX')))->cache('home', leaseMs: 60_000);
                \$cache->get('x', fn () => 'never', 60_000);
                echo 'never';
                CODE;
            $took = elapsed(function () use ($code, $prefix, &$output) {
                [$output] = php($code, [], ['SERVER' => server(), 'PREFIX' => $prefix]);
            });
            holds($took < 5_000, "that the wait ended after $took ms");
            return 'v';
        });
        contains($says, $output);
        lacks('never', str_replace("'never'", '', $output));
        same('v', $cache->get('x', never(...)), 'what is there');
        same(true, $cache->invalidate('x'), 'whether it was');
        same('w', $cache->get('x', fn () => 'w', 0), 'what is loaded');
    }
});

test('php-fpm frees what a request was loading, however it ended', function () {
    $server = new RedisServer();
    $fpm = new Fpm(pool($server, 'pm = static', 'pm.max_children = 1', 'php_admin_value[memory_limit] = 64M'));
    $cache = (new Client($server->url(), 'pool'))->cache('home');
    foreach (['exit', 'exception', 'error', 'memory', 'time', 'return'] as $how) {
        $body = $fpm->get('cache.php', ['how' => $how]);
        contains('in', "$how> $body");
        $found = $cache->get('x', fn () => 'ours', 0);
        same($how === 'return' ? 'theirs' : 'ours', $found, "what is there after $how");
        $cache->invalidate('x');
    }
    lacks('signal', strtolower($fpm->log()));
});
