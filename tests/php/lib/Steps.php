<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use PHPUnit\Framework\Assert;
use Quotalock\Client;
use Quotalock\CombinedDecision;
use Quotalock\Decision;
use Quotalock\Limiter;
use Quotalock\Testing;

/** The steps of one vector, with its limiters and reservations. */
final class Steps
{
    /** @var array<string, Limiter> by their labels; that of the case itself has none */
    private array $limiters;

    /** @var array<string, string> the ids of reservations by their labels */
    private array $reservations = [];

    public function __construct(
        private readonly Client $client,
        private readonly array $case,
        private readonly string $source
    ) {
        foreach (['' => $case] + ($case['limiters'] ?? []) as $label => $given) {
            $name = $label === '' || ($given['name'] ?? '') === 'main' ? $case['id'] : "$case[id] $label";
            [$scope, $enforce] = [Vectors::bytes($given, 'scope'), $given['enforce'] ?? true];
            $this->limiters[$label] = $client->limiter($name, $given['policy'], $scope, $enforce);
        }
    }

    public function execute(): void
    {
        foreach ($this->case['steps'] as $i => $step) {
            Testing::setTime($this->client, $step['at']);
            if (isset($step['error'])) {
                Vectors::fails($step['error'], fn () => $this->perform($step));
                continue;
            }
            $found = self::plain($this->perform($step));
            if (isset($step['expect'])) {
                Assert::assertSame($this->wanted($step['expect']), $found, "the answer of steps[$i]");
            }
        }
    }

    private function perform(array $step): Decision|CombinedDecision|array|null
    {
        if ($step['op'] === 'consume_all') {
            return $this->consumeAll($step);
        }
        $limiter = $this->limiters[$step['limiter'] ?? ''];
        $key = Vectors::bytes($step, 'key');
        $request = $step['request'] ?? null;
        return match ($step['op']) {
            'consume' => $limiter->consume($key, $step['cost'], $request),
            'peek' => $limiter->peek($key, $step['cost']),
            'consume_up_to' => $limiter->consumeUpTo($key, $step['most']),
            'refund' => $limiter->refund($key, $step['amount'], $request),
            'block' => $limiter->block($key, Vectors::ms($step['duration'])),
            'reset' => ['existed' => $limiter->reset($key)],
            'reserve' => $this->reserve($limiter, $key, $step),
            'settle', 'cancel' => ['settled' => $this->settle($limiter, $key, $step)],
            'plant', 'persist', 'raw' => Vectors::raw($this->client, $limiter->redisKey($key), $step),
        };
    }

    private function consumeAll(array $step): CombinedDecision
    {
        $charges = [];
        foreach ($step['charges'] as $charge) {
            $charges[] = [$this->limiters[$charge['limiter'] ?? ''], Vectors::bytes($charge, 'key'), $charge['cost']];
        }
        return $this->client->consumeAll($charges, $step['request'] ?? null);
    }

    private function reserve(Limiter $limiter, string $key, array $step): Decision
    {
        $ttlMs = Vectors::ms($step['ttl']);
        $unsettled = isset($step['unsettled']) ? ['unsettled' => $step['unsettled']] : [];
        $reservation = $limiter->reserve($key, $step['estimate'], $ttlMs, ...$unsettled);
        Assert::assertSame($key, $reservation->key, 'the key of the reservation');
        $this->reservations[$step['as']] = $reservation->id;
        return $reservation->decision;
    }

    private function settle(Limiter $limiter, string $key, array $step): bool
    {
        // Made anew, as another process does.
        $reservation = $limiter->reservation($key, $this->reservations[$step['reservation']]);
        return $step['op'] === 'cancel' ? $reservation->cancel() : $reservation->settle($step['actual']);
    }

    /** What a vector expects, as PHP shows it. */
    private function wanted(array $expect): array
    {
        $wanted = [];
        foreach ($expect as $name => $value) {
            match ($name) {
                'would_deny' => $wanted['wouldDeny'] = $value,
                'retry_after' => $wanted['retryAfterMs'] = $value === null ? null : Vectors::ms($value),
                'reset_after' => $wanted['resetAfterMs'] = Vectors::ms($value),
                'rules', 'decisions' => $wanted[$name] = array_map($this->wanted(...), $value),
                default => $wanted[$name] = $value,
            };
        }
        if (isset($expect['rules']) || isset($expect['decisions'])) {
            $wanted += ['wouldDeny' => false, 'source' => $this->source];
        }
        ksort($wanted);
        return $wanted;
    }

    /** An answer as arrays, with its fields in the order that wanted() has. */
    private static function plain(mixed $answer): mixed
    {
        if (!is_object($answer) && !is_array($answer)) {
            return $answer;
        }
        // What an answer says of its limiter is in answers.json.
        $own = ['name' => true, 'algorithm' => true, 'quota' => true, 'periodMs' => true, 'capacity' => true];
        $fields = array_map(self::plain(...), array_diff_key((array) $answer, $own));
        ksort($fields);
        return $fields;
    }
}
