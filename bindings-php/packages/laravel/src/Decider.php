<?php

declare(strict_types=1);

namespace Quotalock\Laravel;

use Quotalock\Client;
use Quotalock\CombinedDecision;
use Quotalock\Decision;
use Quotalock\Rule;

/** Decides about all limits of a request, or of a job, in one atomic call. */
final class Decider
{
    public function __construct(private readonly Client $client, private readonly bool $spread = false)
    {
    }

    /**
     * Charges every limit once, or none. Limits of the same key are rules of one policy.
     *
     * @param non-empty-list<object{key: string, maxAttempts: int}> $limits with `decaySeconds`, or `decayMinutes`
     * @throws \LogicException for a limit that cannot be
     */
    public function decide(string $name, array $limits): Decision|CombinedDecision
    {
        $policies = [];
        foreach ($limits as $limit) {
            $key = (string) $limit->key;
            // No key is a limit for everybody, which Laravel allows; it cannot be the key of anybody.
            $rule = self::rule($name, $limit);
            // A rule that is given twice counts once.
            $policies["k$key"]["$rule->limit/$rule->periodMs"] = $rule;
        }
        $scope = $this->spread ? null : $name;
        $charges = [];
        foreach ($policies as $key => $rules) {
            $charges[] = [$this->client->limiter($name, array_values($rules), $scope), $key];
        }
        return count($charges) === 1 ? $charges[0][0]->consume($charges[0][1]) : $this->client->consumeAll($charges);
    }

    /**
     * Which of these limits the decision shows: the one that binds.
     *
     * @param non-empty-list<object> $limits
     */
    public static function binding(Decision|CombinedDecision $decision, array $limits): object
    {
        $at = $decision instanceof CombinedDecision ? $decision->binding : 0;
        $keys = array_values(array_unique(array_map(fn (object $limit): string => (string) $limit->key, $limits)));
        $shown = self::shown($decision);
        foreach ($limits as $limit) {
            if ((string) $limit->key === $keys[$at] && (int) $limit->maxAttempts === $shown->limit) {
                return $limit;
            }
        }
        return $limits[0];
    }

    /** The decision about the key that binds. */
    public static function shown(Decision|CombinedDecision $decision): Decision
    {
        return $decision instanceof CombinedDecision ? $decision->decisions[$decision->binding] : $decision;
    }

    /** In how many seconds to try again, rounded up. */
    public static function retryAfter(Decision|CombinedDecision $decision): int
    {
        return (int) ceil(($decision->retryAfterMs ?? 0) / 1000);
    }

    private static function rule(string $name, object $limit): Rule
    {
        // Laravel 11 counts in seconds.
        $seconds = $limit->decaySeconds ?? $limit->decayMinutes * 60;
        try {
            return new Rule((int) $limit->maxAttempts, (int) ceil($seconds * 1000));
        } catch (\InvalidArgumentException $problem) {
            throw new \LogicException("The rate limiter \"$name\": {$problem->getMessage()}", 0, $problem);
        }
    }
}
