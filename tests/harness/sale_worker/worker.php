<?php

// Takes units and settles them in PHP and writes down what came of it: `worker.php SETUP`. See sale_load.py.

declare(strict_types=1);

namespace Quotalock\Tests\Harness;

use Quotalock\Client;
use Quotalock\Exception\QuotalockException;
use Quotalock\StockReservation;
use Quotalock\Taken;
use Quotalock\TakenAll;

/** One taker: one call after the other, each with a line in the history. */
final class Taker
{
    private mixed $file;
    private Client $client;
    private array $stocks = [];

    public function __construct(private readonly array $setup)
    {
        $this->client = new Client($setup['url'], $setup['prefix'], timeoutMs: $setup['timeout_ms']);
        foreach ($setup['mix'] as $name) {
            $this->stocks[$name] = $this->client->stock($name);
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

    /** Takes units once, of one stock or of several; then sells them, lets them go, or forgets them. */
    private function buy(string $request): void
    {
        $several = mt_rand() / mt_getrandmax() < $this->setup['baskets'];
        $names = (array) array_rand($this->stocks, $several ? mt_rand(2, 3) : 1);
        [$buyer, $holdMs] = ['buyer ' . mt_rand(0, $this->setup['buyers'] - 1), mt_rand(20, 300)];
        $takes = array_map(fn (string $name) => [$this->stocks[$name], mt_rand(1, 3)], $names);
        $all = $several ? '_all' : '';
        $record = ['proc' => $this->setup['proc'], 'stocks' => $names, 'buyer' => $buyer, 'request' => $request];
        $this->write($record + ['op' => "take$all", 'outcome' => 'begun']);
        $take = fn () => $several ? $this->client->takeAll($takes, $buyer, $holdMs, $request)
            : $takes[0][0]->take($buyer, $takes[0][1], $holdMs, $request);
        $held = self::reservations($this->answered($record + ['op' => "take$all"], $take));
        if ($held === []) {
            return;
        }
        usleep([0, mt_rand(0, $holdMs), $holdMs][mt_rand(0, 2)] * 1000);
        if (mt_rand(0, 9) === 0) {
            $this->answered($record + ['op' => "take$all"], $take);
        }
        $how = mt_rand() / mt_getrandmax();
        if ($how >= 0.6) {
            return;
        }
        $verb = $how < $this->setup['confirms'] ? 'confirm' : 'cancel';
        $pairs = array_map(fn (array $take, string $id) => [$take[0], $id], $takes, $held);
        $settle = fn () => $several ? $this->client->{"{$verb}All"}($pairs) : $pairs[0][0]->$verb($held[0]);
        $this->answered($record + ['op' => "$verb$all", 'reservations' => $held], $settle);
    }

    /** The ids of what a take answered. */
    private static function reservations(Taken|TakenAll $answer): array
    {
        $held = $answer instanceof TakenAll ? $answer->reservations : array_filter([$answer->reservation]);
        return array_map(fn (StockReservation $reservation) => $reservation->id, $held);
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
                $held = self::reservations($answer);
                $this->write(['outcome' => $answer->outcome, 'reservations' => $held] + $record);
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
