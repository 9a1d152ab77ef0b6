<?php

declare(strict_types=1);

namespace Quotalock\Laravel;

use Closure;
use Illuminate\Cache\RateLimiter as BaseRateLimiter;
use Illuminate\Http\Exceptions\HttpResponseException;
use Illuminate\Http\Exceptions\ThrottleRequestsException;
use Illuminate\Http\JsonResponse;
use Illuminate\Routing\Middleware\ThrottleRequests as BaseThrottleRequests;
use Quotalock\CombinedDecision;
use Quotalock\Decision;
use Quotalock\Support\InvalidKey;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\Exception\BadRequestHttpException;
use Symfony\Component\HttpKernel\Exception\HttpException;

use function Quotalock\client_address;

/**
 * Laravel's middleware `throttle`, with the same parameters and named limiters. All limits of a request are decided in
 * one atomic call: a request that one of them denies costs the others nothing.
 */
class ThrottleRequests extends BaseThrottleRequests
{
    /** Laravel's own headers, and those of a denial. */
    private const OTHERS = [
        'Retry-After' => '', 'X-RateLimit-Limit' => '', 'X-RateLimit-Remaining' => '', 'X-RateLimit-Reset' => '',
    ];

    public function __construct(BaseRateLimiter $limiter, private readonly Decider $decider)
    {
        parent::__construct($limiter);
    }

    protected function handleRequestUsingNamedLimiter($request, Closure $next, $limiterName, Closure $limiter)
    {
        try {
            $answer = $limiter($request);
            $limits = $answer instanceof Response ? [] : Decider::limits($limiterName, $answer);
        } catch (InvalidKey | \TypeError $problem) {
            // A client can send such a request: a list for an e-mail address, or none.
            throw new BadRequestHttpException($problem->getMessage(), $problem);
        }
        return $answer instanceof Response ? $answer : $this->decide($request, $next, $limiterName, $limits);
    }

    protected function handleRequest($request, Closure $next, array $limits)
    {
        return $this->decide($request, $next, Decider::UNNAMED, $limits);
    }

    /** As Laravel's, but an IPv6 address counts as its /64 network: a client usually has as many addresses. */
    protected function resolveRequestSignature($request)
    {
        $route = $request->user() ? null : $request->route();
        return $route
            ? sha1($route->getDomain() . '|' . client_address($request->ip() ?? '', null, []))
            : parent::resolveRequestSignature($request);
    }

    /** @param list<object> $limits */
    private function decide($request, Closure $next, string $name, array $limits): mixed
    {
        $closed = Decider::closed($limits);
        if ($closed !== null) {
            throw $this->denial($request, $closed, $this->getHeaders(0, 0, Decider::retryAfter($closed)));
        }
        if ($limits === []) {
            return $next($request);
        }
        $decision = $this->decider->decide($name, $limits);
        $binding = Decider::binding($decision, $limits);
        $shown = Decider::shown($decision);
        if (!$decision->allowed) {
            $headers = $this->getHeaders($shown->limit, 0, Decider::retryAfter($decision));
            throw $this->denial($request, $binding, self::headers([$decision]) + $headers, $decision);
        }
        try {
            $response = $next($request);
        } catch (\Throwable $problem) {
            $this->decider->settle($name, $limits, $decision, null);
            throw $problem;
        }
        $settled = $this->decider->settle($name, $limits, $decision, $response);
        $response->headers->add(self::headers($settled));
        $shown = array_map(Decider::shown(...), $settled);
        usort($shown, fn (Decision $one, Decision $other): int => $one->remaining <=> $other->remaining);
        return $this->addHeaders($response, $shown[0]->limit, $shown[0]->remaining);
    }

    /**
     * @param non-empty-list<Decision|CombinedDecision> $decisions
     * @return array<string, string>
     */
    private static function headers(array $decisions): array
    {
        $headers = [];
        foreach ($decisions as $decision) {
            foreach ($decision->headers() as $name => $value) {
                $headers[$name] = isset($headers[$name]) ? "$headers[$name], $value" : $value;
            }
        }
        return config('quotalock.expose_headers')
            ? $headers + ['Access-Control-Expose-Headers' => implode(', ', array_keys($headers + self::OTHERS))]
            : $headers;
    }

    private function denial(
        $request,
        object $limit,
        array $headers,
        Decision|CombinedDecision|null $decision = null,
    ): \Exception {
        $callback = $limit->responseCallback ?? null;
        if (is_callable($callback)) {
            $answer = $callback($request, $headers);
            // An answer that says 200 has set no status: that is what a response says by itself.
            if ($answer instanceof Response && $answer->getStatusCode() === 200) {
                $answer->setStatusCode($decision?->source === 'closed' ? 503 : 429);
                $answer->headers->add($headers);
            }
            return new HttpResponseException($answer);
        }
        $away = $decision?->source === 'closed';
        if ($decision !== null && config('quotalock.problem')) {
            $problem = $decision->problem();
            $headers['Content-Type'] = 'application/problem+json';
            return new HttpResponseException(new JsonResponse($problem, $problem['status'], $headers));
        }
        return $away
            ? new HttpException(503, 'Service Unavailable', null, $headers)
            : new ThrottleRequestsException('Too Many Attempts.', null, $headers);
    }
}
