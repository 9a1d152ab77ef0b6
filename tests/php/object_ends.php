<?php

/** The last reference to an object of each class goes in the midst of an end: nothing crashes, and nothing is kept. */

declare(strict_types=1);

namespace Quotalock\Tests;

use Quotalock\Client;

/** How a script ends while `$it` is alone with its object, and its exit code then. */
const OBJECT_ENDS = [
    'exception' => ['throw new DomainException("thrown");', 255],
    'caught' => ['throw new DomainException("thrown");', 0],
    'exit' => ['exit(3);', 3],
    'error' => ['trigger_error("the end", E_USER_ERROR);', 255],
    'undefined' => ['nosuch($it);', 255],
    'memory' => ['str_repeat("x", 1 << 40);', 255],
    'time' => ['set_time_limit(1); for (;;);', 255],
    'argument' => ['throwing($it, new DomainException("thrown"));', 255],
    'generator' => ['(function () use ($it) { try { yield 1; } finally { $it = null; exit(3); } })()->current();', 3],
];

/** How an object of each class is made. */
const OBJECTS = [
    'Client' => 'new Quotalock\Client(getenv("SERVER"), getenv("PREFIX"))',
    'Limiter' => '$client->limiter("n", "9/minute")',
    'Rule' => 'new Quotalock\Rule(5, 1000)',
    'Decision' => '$client->limiter("n", "9/minute")->consume("k")',
    'CombinedDecision' => '$client->consumeAll([[$client->limiter("n", "9/minute"), "k"]])',
    'Reservation' => '$client->limiter("n", "9/minute")->reserve("k", 1, 1)',
    'Lock' => '(function () use ($client) { $lock = $client->lock("n", 60_000); $lock->acquire(); return $lock; })()',
    'Inspection' => '$client->lock("n")->inspect()',
    'Stock' => '$client->stock("s")',
    'Taken' => '$client->stock("s")->take("b")',
    'StockStatus' => '$client->stock("s")->status()',
    'Cache' => '$client->cache("c")',
    'Once' => '$client->once("o")',
    'Claimed' => '$client->once("o")->claim("x")',
    'Seen' => '$client->cache("c")->peek("x")',
    'RateLimitedException' => '(function () use ($client) {
        try { $client->limiter("z", "1/hour")->require("k", 2); } catch (Throwable $e) { return $e; }
    })()',
];

foreach (OBJECT_ENDS as $how => [$stop, $wanted]) {
    test("the last reference to each object goes without harm ($how)", function () use ($how, $stop, $wanted) {
        $prefix = prefix();
        $environment = ['SERVER' => server(), 'PREFIX' => $prefix];
        $client = new Client(server(), $prefix);
        $client->cache('c')->put('x', 'v');
        $client->stock('s')->open(100);
        $make = '[' . implode(', ', OBJECTS) . ']';
        // Alone in a property, in a local variable, and as what a callback of ours has.
        $begin = 'class Holder { public function __construct(public mixed $it) {}'
            . ' public function __destruct() { $this->it = null; echo "gone,"; } }'
            . ' $client = new Quotalock\Client(getenv("SERVER"), getenv("PREFIX"));'
            . " function throwing(mixed \$it, Throwable \$problem): never { throw \$problem; }";
        $ends = [
            "(function () use (\$client) { \$it = new Holder($make); $stop })();",
            "\$client->lock('other')->run(function () use (\$client) { \$it = $make; $stop });",
            "\$client->cache('d', errorsMs: 0)->get('y', function () use (\$client) { \$it = [$make]; $stop });",
        ];
        foreach ($ends as $end) {
            $code = $how === 'caught' ? "try { $end } catch (DomainException) { echo 'caught'; }" : $end;
            [$output, $exit] = php("$begin $code", ['-d', 'memory_limit=64M'], $environment);
            same($wanted, $exit, "the exit code, after \"$output\"");
            lacks('ArgumentCountError', $output);
            lacks('Quotalock\\Exception', $output);
        }
        same([], $client->lock('n')->inspect()->holders, 'who still holds the lock');
        same([], $client->lock('other')->inspect()->holders, 'who still holds the lock around it');
    });
}
