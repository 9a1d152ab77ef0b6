<?php

/**
 * Lets the last reference to an object of every class go in one way, `$argv[1]`, some rounds long. What an expression
 * has so far goes while the exception is on its way; so each ending has the object in an array that is being built.
 */

declare(strict_types=1);

use Quotalock\Client;
use Quotalock\Rule;

$prefix = 'unwinding-' . getmypid() . '-';
$number = 0;
$client = function () use ($prefix, &$number): Client {
    return new Client(getenv('SERVER'), $prefix . $number++, 10_000);
};
$limiter = fn () => $client()->limiter('api', '1000000/hour');
$lock = function () use ($client) {
    $lock = $client()->lock('e', 1000);
    $lock->acquire() || throw new LogicException('it is free');
    return $lock;
};
$stock = function () use ($client) {
    $stock = $client()->stock('sale');
    $stock->open(10);
    return $stock;
};
$taken = function () use ($stock) {
    $sale = $stock();
    return [$sale, $sale->take('buyer')];
};
$cache = function () use ($client) {
    $cache = $client()->cache('pages');
    $cache->get('k', fn () => 'page');
    return $cache;
};
$all = function () use ($client) {
    $client = $client();
    return $client->consumeAll([[$client->limiter('api', '1000000/hour'), 'k']]);
};
$allTaken = function () use ($client) {
    $client = $client();
    $sale = $client->stock('sale');
    $sale->open(10);
    return $client->takeAll([[$sale, 1]], 'buyer');
};

$makers = [
    $client,
    $limiter,
    fn () => new Rule(1, 1000),
    fn () => $limiter()->consume('k'),
    fn () => $limiter()->consume('k')->rules[0],
    $all,
    fn () => $limiter()->reserve('k', 1, 1000),
    $lock,
    fn () => $lock()->inspect(),
    fn () => $lock()->inspect()->holders[0],
    $stock,
    fn () => $taken()[1],
    fn () => $taken()[1]->reservation,
    $allTaken,
    fn () => $stock()->status(),
    fn () => $taken()[0]->reservations(),
    fn () => $taken()[0]->ledger()[0],
    $cache,
    fn () => $cache()->peek('k'),
    fn () => $client()->once('orders'),
    fn () => $client()->once('orders')->claim('id'),
];

function throws(): never
{
    throw new RuntimeException('the end');
}

/** What only the collector ends. */
function circle(object $held): void
{
    $circle = new stdClass();
    [$circle->me, $circle->held] = [$circle, $held];
}

/** What throws in its destructor, while it still has the object. */
function heir(object $held): object
{
    return new class ($held) {
        public function __construct(private ?object $held)
        {
        }

        public function __destruct()
        {
            [$this->held, $this->held = null, throws()];
        }
    };
}

/** Ends each in its way; what was thrown gets out. */
$endings = [
    'exception' => fn (Closure $make) => [$make(), throws()],
    'argument' => fn (Closure $make) => (function (object $held): void {
        throws();
    })($make()),
    'call' => fn (Closure $make) => [$make(), (new Client('memory://'))->limiter('n', '1/s')->consume('')],
    'load' => fn (Closure $make) => (new Client('memory://'))->cache('c')->get('k', fn () => [$make(), throws()]),
    'generator' => function (Closure $make): void {
        $going = (function () use ($make) {
            [$make(), yield];
        })();
        $going->current();
        $going->throw(new RuntimeException('the end'));
    },
    'forgotten' => function (Closure $make): void {
        $going = (function () use ($make) {
            [$make(), yield];
        })();
        $going->current();
        [$going, $going = null, throws()];
    },
    'fiber' => function (Closure $make): void {
        $going = new Fiber(fn () => [$make(), Fiber::suspend()]);
        $going->start();
        [$going, $going = null, throws()];
    },
    'collected' => function (Closure $make): void {
        try {
            throws();
        } finally {
            circle($make());
            gc_collect_cycles();
        }
    },
    'destructor' => fn (Closure $make) => [heir($make()), throws()],
];

[, $how, $rounds] = $argv;
foreach ($makers as $maker => $make) {
    // What ends the script ends it with one object of each class on its stack.
    for ($round = 0; $round < (int) $rounds && isset($endings[$how]); $round++) {
        try {
            $endings[$how]($make);
            echo "nothing was thrown: $maker\n";
        } catch (RuntimeException | Quotalock\Exception\InvalidArgumentException) {
        }
    }
}
$nest = function (array $makers) use (&$nest, $how): array {
    $make = array_pop($makers);
    return $make === null ? $how() : [$make(), $nest($makers)];
};
echo "done\n";
function exits(): never
{
    exit(0);
}
function uncaught(): never
{
    throws();
}
function memory(): never
{
    str_repeat('x', 1 << 40);
}
if (function_exists($how)) {
    $kept = array_map(fn ($make) => $make(), $makers);
    $nest($makers);
}
