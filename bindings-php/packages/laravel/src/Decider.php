<?php

declare(strict_types=1);

namespace Quotalock\Laravel;

use Illuminate\Cache\RateLimiting\Unlimited;
use Illuminate\Support\Arr;
use Quotalock\Client;
use Quotalock\CombinedDecision;
use Quotalock\Decision;
use Quotalock\Limiter;
use Quotalock\Rule;
use Quotalock\Support\Keys;
use Quotalock\Support\Names;
use Symfony\Component\HttpFoundation\Response;

/** Decides about all limits of a request, or of a job, in one atomic call. */
final class Decider
{
    /** The limits of `throttle:60,1`, which have no name of their developer's. */
    public const UNNAMED = 'throttle';

    /**
     * @param array<string, int> $prefetch how many permits limiters take ahead, by their names
     * @param string $application what tells applications on one Redis apart in generated names
     */
    public function __construct(
        private readonly Client $client,
        private readonly bool $spread = false,
        private readonly array $prefetch = [],
        private readonly string $application = '',
    ) {
    }

    /**
     * The limits that a named limiter gave, with keys of its own; none if it does not limit.
     *
     * @return list<object{key: string, maxAttempts: int}>
     * @throws \LogicException for nothing, and for a limit that names nobody
     */
    public static function limits(string $name, mixed $given): array
    {
        Names::own($name);
        $given ?? throw new \LogicException("The rate limiter \"$name\" gave nothing: Limit::none() admits everything");
        $limits = [];
        foreach (Arr::wrap($given) as $limit) {
            if (!$limit instanceof Unlimited) {
                // Without by() it is a limit for everybody.
                $key = $limit->key === '' ? '' : Keys::checked($limit->key, "The rate limiter \"$name\"");
                $limits[] = (object) (['key' => md5($name . $key)] + get_object_vars($limit));
            }
        }
        return $limits;
    }

    /** The first limit that admits nothing: Laravel lets nobody pass then, and so nobody is counted. */
    public static function closed(array $limits): ?object
    {
        $closed = array_filter($limits, fn (object $limit): bool => (int) $limit->maxAttempts < 1);
        return reset($closed) ?: null;
    }

    /** How many milliseconds its window has. */
    public static function milliseconds(object $limit): int
    {
        // Laravel 11 counts in seconds.
        return (int) ceil(($limit->decaySeconds ?? $limit->decayMinutes * 60) * 1000);
    }

    /**
     * Charges every limit once, or none. Limits of the same key are rules of one policy.
     *
     * A limit with after() is charged like the others, so that requests at the same time do not exceed it, and counts
     * separately, since settle() may give its charge back.
     *
     * @param non-empty-list<object{key: string, maxAttempts: int}> $limits with `decaySeconds`, or `decayMinutes`
     * @throws \LogicException for a limit that cannot be
     */
    public function decide(string $name, array $limits): Decision|CombinedDecision
    {
        $charges = array_values($this->charges($name, $limits));
        return count($charges) === 1 ? $charges[0][0]->consume($charges[0][1]) : $this->client->consumeAll($charges);
    }

    /**
     * Gives the charges back of limits whose after() says that the response does not count.
     *
     * @param non-empty-list<object{key: string, maxAttempts: int}> $limits as they were given to decide()
     * @param Response|null $response null if there is none, which counts for no limit with after()
     * @return non-empty-list<Decision|CombinedDecision> the decision; if something was given back, that of each key
     */
    public function settle(
        string $name,
        array $limits,
        Decision|CombinedDecision $decision,
        ?Response $response,
    ): array {
        $counts = [];
        foreach ($limits as $limit) {
            if (isset($limit->afterCallback)) {
                $key = self::countedAs($limit);
                $counts[$key] = ($response !== null && ($limit->afterCallback)($response)) || ($counts[$key] ?? false);
            }
        }
        // While Redis is down, `open` charges nothing.
        if ($decision->source === 'open' || !in_array(false, $counts, true)) {
            return [$decision];
        }
        $decisions = $decision instanceof CombinedDecision ? $decision->decisions : [$decision];
        foreach (array_values($this->charges($name, $limits)) as $at => [$limiter, $key]) {
            if ($counts[$key] ?? true) {
                continue;
            }
            $decisions[$at] = $limiter->refund($key, 1);
        }
        return $decisions;
    }

    /**
     * Which of these limits the decision shows: the one that binds.
     *
     * @param non-empty-list<object> $limits
     */
    public static function binding(Decision|CombinedDecision $decision, array $limits): object
    {
        $at = $decision instanceof CombinedDecision ? $decision->binding : 0;
        $keys = array_values(array_unique(array_map(self::countedAs(...), $limits)));
        $shown = self::shown($decision);
        foreach ($limits as $limit) {
            if (self::countedAs($limit) === $keys[$at] && (int) $limit->maxAttempts === $shown->limit) {
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

    /** In how many seconds to try again, rounded up: after a denial, or what `closed` found. */
    public static function retryAfter(Decision|CombinedDecision|\stdClass $of): int
    {
        $ms = $of instanceof \stdClass ? self::milliseconds($of) : $of->retryAfterMs ?? 0;
        return (int) ceil($ms / 1000);
    }

    /** @return array<string, array{Limiter, string}> what is charged, by the key that it counts under */
    private function charges(string $name, array $limits): array
    {
        $policies = [];
        foreach ($limits as $limit) {
            $rule = self::rule($name, $limit);
            // A rule that is given twice counts once.
            $policies[self::countedAs($limit)]["$rule->limit/$rule->periodMs"] = $rule;
        }
        $charges = [];
        foreach ($policies as $key => $rules) {
            $charges[$key] = [$this->limiter($name, array_values($rules)), $key];
        }
        return $charges;
    }

    private static function countedAs(object $limit): string
    {
        // No key is a limit for everybody, which Laravel allows; it cannot be the key of anybody.
        return isset($limit->afterCallback)
            ? "a$limit->maxAttempts/" . self::milliseconds($limit) . ":$limit->key"
            : "k$limit->key";
    }

    /** @param list<Rule> $rules */
    private function limiter(string $name, array $rules): Limiter
    {
        $prefetch = $this->prefetch[$name] ?? null;
        try {
            $called = $name === self::UNNAMED ? $this->generated($rules) : $name;
            return $this->client->limiter($called, $rules, $this->spread ? null : $name, prefetch: $prefetch);
        } catch (\InvalidArgumentException $problem) {
            throw new \LogicException("The rate limiter \"$name\": {$problem->getMessage()}", 0, $problem);
        }
    }

    /** @param list<Rule> $rules */
    private function generated(array $rules): string
    {
        $policy = array_map(fn (Rule $rule): string => "$rule->limit/{$rule->periodMs}ms", $rules);
        return Names::generated($this->application, self::UNNAMED, 'user-or-address', $policy);
    }

    private static function rule(string $name, object $limit): Rule
    {
        try {
            return new Rule((int) $limit->maxAttempts, self::milliseconds($limit));
        } catch (\InvalidArgumentException $problem) {
            throw new \LogicException("The rate limiter \"$name\": {$problem->getMessage()}", 0, $problem);
        }
    }
}
