<?php

/**
 * Lets the last reference to an object of every class go, as `$argv[1]` says: while an exception is on its way that the
 * script catches, or with the script, which then ends in the midst of what `$argv[2]` says.
 */

declare(strict_types=1);

use Quotalock\Client;
use Quotalock\Exception\InvalidArgumentException;
use Quotalock\Exception\RateLimitedException;
use Quotalock\Rule;

const ROUNDS = 10;

[, $how, $where] = $argv + [2 => ''];
$number = 0;
// Each object has a client of its own, which goes with it.
$client = function () use (&$number): Client {
    return new Client(getenv('SERVER'), getenv('PREFIX') . $number++, 10_000);
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
    function () use ($client) {
        try {
            $client()->limiter('api', '1/hour')->require('k', 2);
        } catch (RateLimitedException $error) {
            return $error;
        }
    },
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

/**
 * How an object goes while what was thrown gets out. What an expression has so far goes while the exception is on its
 * way; so most have the object in an array that is being built.
 */
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

if (isset($endings[$how])) {
    foreach ($makers as $maker => $make) {
        for ($round = 0; $round < ROUNDS; $round++) {
            try {
                $endings[$how]($make);
                echo "nothing was thrown: $maker\n";
            } catch (RuntimeException | InvalidArgumentException) {
            }
        }
    }
    exit("done\n");
}

/** How the script ends. */
$stops = [
    'uncaught' => throws(...),
    'caught' => throws(...),
    'exit' => fn () => exit(3),
    'error' => fn () => trigger_error('the end', E_USER_ERROR),
    'undefined' => fn () => nosuch(),
    'memory' => fn () => str_repeat('x', 1 << 40),
    'time' => function (): never {
        set_time_limit(1);
        for (;;) {
        }
    },
    'finally' => fn () => (function () {
        try {
            yield;
        } finally {
            exit(3);
        }
    })()->current(),
];

/** Lets its objects go one by one. */
$keeper = fn (array $all): object => new class ($all) {
    public function __construct(private array $kept)
    {
    }

    public function __destruct()
    {
        while (array_pop($this->kept) !== null) {
        }
    }
};

/** One object of each class, each in an array that is being built around the next. */
$nest = function (array $makers, Closure $stop) use (&$nest): array {
    $make = array_pop($makers);
    return $make === null ? $stop() : [$make(), $nest($makers, $stop)];
};
$all = fn (): array => array_map(fn (Closure $make) => $make(), $makers);
$held = function (Closure $stop) use ($all): void {
    $it = $all();
    $stop();
};

/** What the script is in the midst of. */
$places = [
    'array' => fn (Closure $stop) => $nest($makers, $stop),
    'property' => function (Closure $stop) use ($all, $keeper): void {
        $it = $keeper($all());
        $stop();
    },
    'run' => fn (Closure $stop) => $client()->lock('around', 60_000)->run(fn () => $held($stop)),
    'load' => fn (Closure $stop) => $client()->cache('around', errorTtlMs: 0)->get('k', fn () => $held($stop)),
];
echo "begun\n";
try {
    $places[$where]($stops[$how]);
} catch (RuntimeException $error) {
    echo $how === 'caught' ? 'caught' : throw $error;
}
