<?php

// Takes units and settles them in PHP and writes down what came of it: `worker.php SETUP`. See sale_load.py.

declare(strict_types=1);

namespace Quotalock\Tests\Harness;

use Quotalock\Client;
use Quotalock\Exception\QuotalockException;

/** One taker: one call after the other, each with a line in the history. */
final class Taker
{
    private mixed $file;
    private array $stocks = [];

    public function __construct(private readonly array $setup)
    {
        $client = new Client($setup['url'], $setup['prefix'], timeoutMs: $setup['timeout_ms']);
        foreach ($setup['mix'] as $name) {
            $this->stocks[$name] = $client->stock($name);
        }
        $this->file = fopen($setup['path'], 'a');
        mt_srand($setup['seed']);
    }

    /** Takes at random, for ever. */
    public function run(): void
    {
        for ($request = 0; true; $request++) {
            $this->buy("{$this->setup['proc']} 0 $request");
        }
    }

    /** Takes units once; then sells them, lets them go, or forgets them. */
    private function buy(string $request): void
    {
        $name = array_rand($this->stocks);
        $stock = $this->stocks[$name];
        $buyer = 'buyer ' . mt_rand(0, $this->setup['buyers'] - 1);
        [$quantity, $holdMs] = [mt_rand(1, 3), mt_rand(20, 300)];
        $record = ['proc' => $this->setup['proc'], 'stock' => $name, 'buyer' => $buyer, 'request' => $request];
        $this->write($record + ['op' => 'take', 'outcome' => 'begun']);
        $take = fn () => $stock->take($buyer, $quantity, holdMs: $holdMs, requestId: $request);
        $taken = $this->answered($record + ['op' => 'take'], $take);
        if ($taken->reservation === null) {
            return;
        }
        usleep([0, mt_rand(0, $holdMs), $holdMs][mt_rand(0, 2)] * 1000);
        if (mt_rand(0, 9) === 0) {
            $this->answered($record + ['op' => 'take'], $take);
        }
        $id = $taken->reservation->id;
        $record['reservation'] = $id;
        $how = mt_rand() / mt_getrandmax();
        if ($how < $this->setup['confirms']) {
            $this->answered($record + ['op' => 'confirm'], fn () => $stock->confirm($id));
        } elseif ($how < 0.6) {
            $this->answered($record + ['op' => 'cancel'], fn () => $stock->cancel($id));
        }
    }

    /** Calls until there is an answer, and writes down each. */
    private function answered(array $record, callable $call): mixed
    {
        while (true) {
            try {
                $answer = $call();
            } catch (QuotalockException $error) {
                $this->write(['outcome' => $error->getErrorCode()] + $record);
                if (!in_array($error->getErrorCode(), ['unavailable', 'timeout'], true)) {
                    throw $error;
                }
                usleep(10_000);
                continue;
            }
            if (is_bool($answer)) {
                $this->write(['outcome' => $answer ? 'true' : 'false'] + $record);
            } else {
                $held = $answer->reservation === null ? [] : ['reservation' => $answer->reservation->id];
                $this->write(['outcome' => $answer->outcome] + $held + $record);
            }
            return $answer;
        }
    }

    /** Adds a line to the history, at once. */
    private function write(array $record): void
    {
        fwrite($this->file, json_encode($record, JSON_THROW_ON_ERROR) . "\n");
    }
}

(new Taker(json_decode($argv[1], true, flags: JSON_THROW_ON_ERROR)))->run();
