<?php

// Takes and gives back locks in PHP and writes down what came of it: `worker.php SETUP`. See lock_load.py.

declare(strict_types=1);

namespace Quotalock\Tests\Harness;

use Quotalock\Client;
use Quotalock\Exception\QuotalockException;
use Quotalock\Lock;

/** One caller: one call after the other, each with a line in the history. */
final class Lane
{
    private int $grant = 0;
    private mixed $file;

    public function __construct(private readonly array $setup, private readonly Client $client)
    {
        $this->file = fopen($setup['path'], 'a');
        mt_srand($setup['seed']);
    }

    /** Takes locks at random, for ever, or with `once` each of the mix one time. */
    public function run(): void
    {
        $mix = $this->setup['mix'];
        $handles = array_map($this->handle(...), $mix);
        if ($this->setup['once'] > 0) {
            foreach ($mix as $at => $entry) {
                $this->take($handles[$at], $entry, $this->setup['once'], hold: false);
            }
            return;
        }
        while (true) {
            $at = array_rand($mix);
            $ttl = $mix[$at]['ttl_ms'];
            if (!$this->take($handles[$at], $mix[$at], [0, intdiv($ttl, 5), $ttl * 2][mt_rand(0, 2)], hold: true)) {
                self::sleep(self::uniform(1, 10));
            }
        }
    }

    private function handle(array $entry): Lock
    {
        $names = $entry['names'];
        $options = ['ttlMs' => $entry['ttl_ms'], 'fair' => $entry['fair']];
        return match ($entry['kind']) {
            'lock' => $this->client->lock($names[0], ...$options),
            'lock_all' => $this->client->lockAll($names, ...$options),
            'semaphore' => $this->client->semaphore($names[0], $entry['permits'], $entry['weight'], ...$options),
            'read_lock' => $this->client->readLock($names[0], ...$options),
            'write_lock' => $this->client->writeLock($names[0], ...$options),
        };
    }

    /** Acquires, holds for a time that likes the edges, and releases. */
    private function take(Lock $lock, array $entry, int $waitMs, bool $hold): bool
    {
        $this->grant++;
        $got = $this->call('acquire', $entry, $lock, fn () => $lock->acquire($waitMs));
        if ($got && $hold) {
            [$how, $ttl] = [self::uniform(0, 1), $entry['ttl_ms']];
            if ($how < 0.4) {
                self::sleep(self::uniform(0, $ttl / 3));
            } elseif ($how < 0.6) {
                self::sleep($lock->remainingMs + self::uniform(-4, 4));
            } elseif ($how < 0.75) {
                self::sleep($ttl + self::uniform(-4, 4));
            } else {
                self::sleep($lock->remainingMs * [self::uniform(0, 1), 0.95, 1][mt_rand(0, 2)]);
                $this->call('extend', $entry, $lock, fn () => $lock->extend());
                self::sleep([self::uniform(0, $ttl / 3), $lock->remainingMs][mt_rand(0, 1)]);
            }
        }
        if ($got) {
            $this->call('release', $entry, $lock, fn () => $lock->release());
        }
        return $got;
    }

    /** Makes one call and writes it down. */
    private function call(string $op, array $entry, Lock $lock, callable $method): bool
    {
        $record = ['proc' => $this->setup['proc'], 'lane' => 0, 'grant' => $this->grant, 'op' => $op];
        $record += ['names' => $entry['names'], 'permits' => $entry['permits'], 'weight' => $entry['weight']];
        $record['invoke_ns'] = hrtime(true);
        if ($op === 'release') {
            $record['held'] = $lock->held;
            // Whoever is killed in the middle of it may have released.
            $this->write($record + ['done_ns' => $record['invoke_ns'], 'outcome' => 'begun']);
        }
        try {
            $done = $method();
            $outcome = $done ? 'ok' : 'no';
        } catch (QuotalockException $error) {
            [$done, $outcome] = [false, $error->getErrorCode()];
        }
        $record += ['done_ns' => hrtime(true), 'outcome' => $outcome];
        if ($done && $op !== 'release') {
            [$looked, $remaining] = [hrtime(true), $lock->remainingMs * 1_000_000];
            $record += ['token' => $lock->token, 'until_ns' => $remaining ? $looked + $remaining : 0];
        }
        $this->write($record);
        return $done;
    }

    /** Adds a line to the history, at once. */
    private function write(array $record): void
    {
        fwrite($this->file, json_encode($record, JSON_THROW_ON_ERROR) . "\n");
    }

    private static function uniform(float $low, float $high): float
    {
        return $low + ($high - $low) * mt_rand() / mt_getrandmax();
    }

    private static function sleep(float $ms): void
    {
        usleep((int) (max(0, $ms) * 1000));
    }
}

$setup = json_decode($argv[1], true, flags: JSON_THROW_ON_ERROR);
$client = new Client($setup['url'], $setup['prefix'], timeoutMs: $setup['timeout_ms']);
(new Lane($setup, $client))->run();
