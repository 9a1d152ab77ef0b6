<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use PHPUnit\Framework\Assert;
use Quotalock\Client;
use Quotalock\CombinedDecision;
use Quotalock\Decision;
use Quotalock\Limiter;
use Quotalock\Testing;

/** The steps of one vector about what decisions tell over HTTP. */
final class AnswerSteps
{
    /** @var array<string, Limiter> by their names */
    private array $limiters = [];

    public function __construct(private readonly Client $client, private readonly array $case)
    {
        foreach ($case['limiters'] as $name => $how) {
            $enforce = $how['enforce'] ?? true;
            $this->limiters[$name] = $client->limiter($name, $how['policy'], enforce: $enforce);
        }
    }

    public function execute(): void
    {
        foreach ($this->case['steps'] as $i => $step) {
            Testing::setTime($this->client, $step['at']);
            self::check($this->decided($step), $step, "step $i");
        }
    }

    private function decided(array $step): Decision|CombinedDecision
    {
        if ($step['op'] === 'consume_all') {
            $charge = fn (array $each): array => [$this->limiters[$each['limiter']], $each['key'], $each['cost']];
            $decision = $this->client->consumeAll(array_map($charge, $step['charges']));
            $names = array_map(fn (Decision $each) => $each->name, $decision->decisions);
            Assert::assertSame(array_column($step['charges'], 'limiter'), $names, 'the names');
            return $decision;
        }
        $limiter = $this->limiters[$step['limiter']];
        $decision = match ($step['op']) {
            'consume' => $limiter->consume($step['key'], $step['cost']),
            'peek' => $limiter->peek($step['key'], $step['cost']),
            'block' => $limiter->block($step['key'], intdiv($step['duration'], 1000)),
        };
        Assert::assertSame($step['limiter'], $decision->name, 'the name');
        return $decision;
    }

    private static function check(Decision|CombinedDecision $decision, array $step, string $where): void
    {
        foreach ($step['headers'] ?? [] as $wanted) {
            $how = array_intersect_key($wanted, ['syntax' => true, 'legacy' => true]);
            if (isset($wanted['error'])) {
                refused($wanted['error'], fn () => $decision->headers(...$how));
                continue;
            }
            $expected = array_column($wanted['expect'], 1, 0);
            Assert::assertSame($expected, $decision->headers(...$how), "the headers of $where");
        }
        if (isset($step['problem']['error'])) {
            refused($step['problem']['error'], fn () => $decision->problem());
        } elseif (isset($step['problem'])) {
            Assert::assertSame($step['problem'], $decision->problem(), "the problem of $where");
        }
        foreach ($step['rules'] ?? [] as $i => [$algorithm, $quota, $period, $capacity]) {
            $rule = $decision->rules[$i];
            Assert::assertSame(
                [$algorithm, $quota, Vectors::ms($period), $capacity],
                [$rule->algorithm, $rule->quota, $rule->periodMs, $rule->capacity],
                "the rules of $where"
            );
        }
    }
}
