<?php

/** Locks and the end of what holds them: of the request, the process, or of its patience. */

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;
use Quotalock\Lock;

/** How a script can end while it holds a lock, and what tells it apart. */
const ENDS = [
    'return' => '',
    'exit' => 'exit(3);',
    'exception' => 'throw new DomainException("thrown");',
    'error' => 'trigger_error("the end", E_USER_ERROR);',
    'undefined' => 'nosuch();',
    'memory' => 'str_repeat("x", 1 << 40);',
    'time' => 'set_time_limit(1); for (;;);',
    'handler' => 'pcntl_async_signals(true); pcntl_signal(SIGUSR1, function () { exit(4); });
        posix_kill(getmypid(), SIGUSR1); sleep(1);',
];

/** Runs a script that knows `$client` and a `$lock` of a minute; returns what it wrote and a handle for that lock. */
function script(string $code, array $environment = []): array
{
    $environment += ['SERVER' => server(), 'PREFIX' => prefix()];
    $begin = '$client = new Quotalock\Client(getenv("SERVER"), getenv("PREFIX")); $lock = $client->lock("n", 60000);';
    [$output, $code] = php($begin . $code, ['-d', 'memory_limit=64M'], $environment);
    return [$output, (new Client($environment['SERVER'], $environment['PREFIX']))->lock('n'), $code];
}

foreach (ENDS as $how => $end) {
    test("a lock that is still held at the end of a script is released ($how)", function () use ($end) {
        [$output, $lock] = script("echo \$lock->acquire() ? 'held,' : 'no,'; $end");
        contains('held,', $output);
        same([], $lock->inspect()->holders, 'who holds it');
        holds($lock->inspect()->token > 0, 'that it was held');
    });

    test("a run releases its lock before anything else happens ($how)", function () use ($end) {
        [$output, $lock, $code] = script(<<<CODE
            register_shutdown_function(function () use (\$client) {
                echo 'held by ', count(\$client->lock('n')->inspect()->holders), ' at the end';
            });
            \$lock->run(function (\$lock) { echo 'in,'; $end });
            CODE);
        contains('in,', $output);
        contains('held by 0 at the end', $output);
        same([], $lock->inspect()->holders, 'who holds it');
        same(['' => 0, 'exit(3);' => 3][$end] ?? (str_contains($end, 'exit(4)') ? 4 : 255), $code, 'the exit code');
    });
}

test('locks that objects hold in circles, in static variables and in each other are released too', function () {
    [, $lock] = script(<<<'CODE'
        class Circle { public $self; public $lock; }
        $circle = new Circle(); $circle->self = $circle; $circle->lock = $lock; $lock->acquire(); unset($circle, $lock);
        function keep($lock) { static $kept; $kept = $lock; $kept->acquire(); }
        keep($client->lock('m', 60000));
        $client->lock('o', 60000)->run(function () use ($client) { $client->lock('p', 60000)->acquire(); exit; });
        CODE);
    same([], $lock->inspect()->holders, 'who holds n');
});

test('the end of a script waits at most a moment for a Redis that is away, however much it holds', function () {
    foreach ([SIGSTOP, SIGKILL] as $signal) {
        $server = new RedisServer();
        $output = '';
        $took = 0.0;
        $code = <<<CODE
            \$locks = [];
            for (\$i = 0; \$i < 20; \$i++) {
                \$locks[] = \$client->lock("n\$i", 60000);
                \$locks[\$i]->acquire();
            }
            posix_kill({$server->pid()}, $signal);
            usleep(20_000);
            echo hrtime(true);
            CODE;
        $stalls = stalls(function () use ($code, $server, &$output, &$took) {
            [$output] = script($code, ['SERVER' => $server->url()]);
            $took = (hrtime(true) - (int) $output) / 1e6;
        });
        $server->signal(SIGCONT);
        // Each by itself may take half a second.
        holds($took < 1_000 + $stalls, "that it took $took ms");
    }
});

test('a lock of a process that was killed ends with its ttl', function () {
    $prefix = prefix();
    $before = hrtime(true);
    $pid = pcntl_fork();
    if ($pid === 0) {
        $lock = (new Client(server(), $prefix))->lock('n', 2_000);
        $lock->acquire();
        posix_kill(getmypid(), SIGKILL);
    }
    pcntl_waitpid($pid, $status);
    same(SIGKILL, pcntl_wtermsig($status), 'what ended it');
    $lock = (new Client(server(), $prefix))->lock('n');
    same($pid, $lock->inspect()->holders[0]->pid, 'who holds it');
    same(true, $lock->acquire(10_000), 'whether it is granted');
    $took = (hrtime(true) - $before) / 1e6;
    holds($took >= 2_000 && $took < 5_000, "that it was granted $took ms after the other, or a little more");
});

test('a forked child holds nothing of its parent, and releases nothing of it', function () {
    $client = client(server());
    $lock = $client->lock('n');
    $lock->acquire();
    $held = $client->lock('n');
    $child = forked(fn () => [$lock->state, $lock->token, $lock->held, $lock->release(), $lock->acquire()]);
    same(['released', null, false, false, false], $child(), 'what the child knows, and does');
    foreach (['exit(0);', '$lock = null; exit(0);', '$client->close(); exit(0);'] as $end) {
        $pid = pcntl_fork();
        if ($pid === 0) {
            eval($end);
        }
        pcntl_waitpid($pid, $status);
        same([true, 1], [$lock->held, count($held->inspect()->holders)], "what is held after \"$end\"");
    }
    // The child waits with the parent's handle, over a connection of its own.
    $child = forked(fn () => [$lock->acquire(10_000), $lock->token]);
    eventually(fn () => $held->inspect()->waiters === 1, fn () => 'nobody waits');
    $token = $lock->token;
    same(true, $lock->release(), 'whether the parent releases it');
    [$granted, $theirs] = $child();
    same(true, $granted, 'whether the child gets it');
    holds($theirs > $token, 'that its token is larger');
    eventually(fn () => $held->inspect()->holders === [], fn () => 'the child still holds it');
});

/** Runs it with a handler for a signal that arrives when somebody waits for the lock. */
function disturbed(Lock $lock, \Closure $handler, \Closure $run): mixed
{
    pcntl_async_signals(true);
    pcntl_signal(SIGUSR1, $handler);
    $parent = getmypid();
    $child = forked(function () use ($parent, $lock) {
        eventually(fn () => $lock->inspect()->waiters === 1, fn () => 'nobody waits');
        return posix_kill($parent, SIGUSR1);
    });
    try {
        return $run();
    } finally {
        $child();
        pcntl_signal(SIGUSR1, SIG_DFL);
        pcntl_async_signals(false);
    }
}

test('a handler runs while a lock is waited for, which then goes on', function () {
    $client = client(server());
    [$holder, $lock] = [$client->lock('n'), $client->lock('n')];
    $holder->acquire();
    $ran = [];
    $granted = disturbed($holder, function () use (&$ran, $holder, $client) {
        // Its own calls are no matter, and it may release what is waited for.
        $ran = [$client->lock('other')->acquire(), $holder->release()];
    }, fn () => $lock->acquire(10_000));
    same([true, true, true], [$granted, ...$ran], 'what happened');
});

test('what a handler throws ends the wait, which leaves nothing', function () {
    $client = client(server());
    [$holder, $lock] = [$client->lock('n'), $client->lock('n')];
    $holder->acquire();
    $took = elapsed(fn () => thrown(\DomainException::class, fn () => disturbed(
        $holder,
        fn () => throw new \DomainException('enough'),
        fn () => $lock->acquire(60_000)
    )));
    holds($took < 5_000, "that the wait ended after $took ms");
    same('released', $lock->state, 'what it is');
    eventually(fn () => $holder->inspect()->waiters === 0, fn () => 'somebody waits');
    $holder->release();
    same(true, $lock->acquire(), 'whether it can be acquired');
});

test('exit in a handler, and the time limit, end a wait and leave nothing', function () {
    $ends = [
        'exit' => ['pcntl_async_signals(true); pcntl_signal(SIGUSR1, function () { echo "bye"; exit(3); });', SIGUSR1],
        'time' => ['set_time_limit(30);', SIGPROF],
    ];
    foreach ($ends as $how => [$begin, $signal]) {
        $prefix = prefix();
        $holder = (new Client(server(), $prefix))->lock('n');
        $holder->acquire();
        // On Linux the limit counts processor time, of which a wait takes none: its signal is sent by hand.
        [$output] = script(<<<CODE
            $begin
            \$parent = getmypid();
            if (pcntl_fork() === 0) {
                while (\$lock->inspect()->waiters === 0) usleep(1_000);
                posix_kill(\$parent, $signal);
                posix_kill(getmypid(), SIGKILL);
            }
            \$lock->acquire(60_000);
            echo 'never';
            CODE, ['PREFIX' => $prefix]);
        lacks('never', $output);
        contains($how === 'exit' ? 'bye' : 'Maximum execution time of 30 seconds exceeded', $output);
        eventually(fn () => $holder->inspect()->waiters === 0, fn () => "somebody waits after $how");
        same(1, count($holder->inspect()->holders), "who holds it after $how");
    }
});

test('php-fpm releases what a request forgot, however it ended, and keeps nothing for the next', function () {
    $server = new RedisServer();
    $fpm = new Fpm(pool($server, 'pm = static', 'pm.max_children = 1', 'php_admin_value[memory_limit] = 64M'));
    $lock = (new Client($server->url(), 'pool'))->lock('n');
    $pids = [];
    for ($round = 0; $round < 2; $round++) {
        foreach (['return', 'exit', 'exception', 'error', 'memory', 'time', 'close', 'in run', 'static'] as $how) {
            $body = $fpm->get('lock.php', ['how' => $how]);
            $answer = json_decode(strstr($body, '}', true) . '}', true) ?? throw new Failure("\"$how\": $body");
            same(true, $answer['acquired'], "whether the request that ends by $how gets it");
            $pids[] = $answer['pid'];
            eventually(fn () => $lock->inspect()->holders === [], fn () => "it is still held after $how");
        }
    }
    same(1, count(array_unique($pids)), 'the workers');
    lacks('signal', strtolower($fpm->log()));
});

test('workers of php-fpm wait for each other, and none gets in between', function () {
    $server = new RedisServer();
    $fpm = new Fpm(pool($server, 'pm = static', 'pm.max_children = 6'));
    $answers = $fpm->load('lock.php', 6, 20, ['how' => 'turn']);
    same(120, count($answers), 'the answers');
    same([1], array_values(array_unique(array_column($answers, 'inside'))), 'how many were in it');
    $tokens = array_column($answers, 'token');
    same(120, count(array_unique($tokens)), 'the tokens');
    $subscriptions = array_filter(redis($server->url())->client('list'), fn (array $each) => $each['sub'] > 0);
    holds(count($subscriptions) <= 6, 'that each worker has at most one subscription');
    same([], (new Client($server->url(), 'pool'))->lock('n')->inspect()->holders, 'who holds it');
});

test('a killed worker of php-fpm holds its lock until its ttl, and no longer', function () {
    $server = new RedisServer();
    $fpm = new Fpm(pool($server, 'pm = static', 'pm.max_children = 1'));
    $dying = forked(function () use ($fpm) {
        try {
            return $fpm->get('lock.php', ['how' => 'sleep', 'ttl' => 2_500]);
        } catch (\Throwable) {
            return 'cut off';
        }
    });
    $lock = (new Client($server->url(), 'pool'))->lock('n');
    eventually(fn () => $lock->inspect()->holders !== [], fn () => 'nobody holds it');
    $holder = $lock->inspect()->holders[0];
    posix_kill($holder->pid, SIGKILL);
    $dying();
    same(false, $lock->acquire(), 'whether it is free at once');
    same(true, $lock->acquire(10_000), 'whether it is free in the end');
    $early = $holder->untilMs - $lock->inspect()->holders[0]->sinceMs;
    holds($early <= 0 && $early > -2_000, "that it was granted $early ms before its end");
});
