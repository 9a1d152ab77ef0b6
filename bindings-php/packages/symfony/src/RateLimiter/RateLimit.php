<?php

declare(strict_types=1);

namespace Quotalock\Symfony\RateLimiter;

use Quotalock\CombinedDecision;
use Quotalock\Decision;

/** An answer as Symfony has it, with the decision that it is made of. */
final class RateLimit extends \Symfony\Component\RateLimiter\RateLimit
{
    /**
     * @param Decision|CombinedDecision $decision which also has the headers and the body of an answer
     * @param int $waitMs after how long to try again
     */
    public function __construct(public readonly Decision|CombinedDecision $decision, int $waitMs)
    {
        $binding = $decision instanceof Decision ? $decision : $decision->decisions[$decision->binding];
        $at = \DateTimeImmutable::createFromFormat('U.u', sprintf('%.6F', microtime(true) + $waitMs / 1000));
        parent::__construct($binding->remaining, $at, $decision->allowed, $binding->limit);
    }
}
