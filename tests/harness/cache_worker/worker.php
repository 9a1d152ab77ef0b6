<?php

// Readers of one key in PHP, each a process: `worker.php SETUP`. See stampede.py.

declare(strict_types=1);

namespace Quotalock\Tests\Harness;

use Quotalock\Client;
use Quotalock\Exception\QuotalockException;

/** Asks once, at the moment that is set for all. */
final class Reader
{
    public function __construct(private readonly array $setup, private readonly int $number)
    {
    }

    /** Connects, says that it is ready, and reads. */
    public function run(): void
    {
        $client = new Client($this->setup['url'], $this->setup['prefix'], timeoutMs: 5000);
        $cache = $client->cache('pages', ...$this->times('fresh', 'stale', 'lease'), beta: 0.0);
        $cache->peek('warm');
        $this->write(['op' => 'ready']);
        while (!file_exists($this->setup['go'])) {
            usleep(5000);
            clearstatcache();
        }
        $begin = json_decode(file_get_contents($this->setup['go']), true)[$this->setup['proc']];
        $begin += intdiv($this->setup['spread_ms'] * 1_000_000 * $this->number, $this->setup['readers']);
        usleep((int) max(0, ($begin - hrtime(true)) / 1000));
        $invoke = hrtime(true);
        try {
            $got = ['value' => $cache->get('key', $this->load(...), ...$this->times('wait'))];
        } catch (QuotalockException $error) {
            $got = ['error' => $error->getErrorCode()];
        }
        $this->write(['op' => 'get', 'invoke_ns' => $invoke, 'done_ns' => hrtime(true)] + $got);
    }

    /** What is set of these. */
    private function times(string ...$names): array
    {
        $set = array_filter($names, fn (string $name) => isset($this->setup["{$name}_ms"]));
        return array_combine(
            array_map(fn (string $name) => "{$name}Ms", $set),
            array_map(fn (string $name) => $this->setup["{$name}_ms"], $set),
        );
    }

    private function load(): string
    {
        $this->write(['op' => 'load', 'pid' => getmypid(), 'at_ns' => hrtime(true)]);
        usleep($this->setup['load_ms'] * 1000);
        return "loaded by {$this->setup['proc']}";
    }

    /** Adds a line to the history, at once. */
    private function write(array $record): void
    {
        $record = ['proc' => $this->setup['proc'], 'reader' => $this->number] + $record;
        file_put_contents($this->setup['path'], json_encode($record, JSON_THROW_ON_ERROR) . "\n", FILE_APPEND);
    }
}

$setup = json_decode($argv[1], true, flags: JSON_THROW_ON_ERROR);
for ($number = 0; $number < $setup['readers']; $number++) {
    if (pcntl_fork() === 0) {
        (new Reader($setup, $number))->run();
        exit;
    }
}
while (pcntl_wait($status) > 0) {
}
