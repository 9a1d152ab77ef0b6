<?php

declare(strict_types=1);

namespace Quotalock\Symfony\EventListener;

use Quotalock\Client;
use Quotalock\CombinedDecision;
use Quotalock\Decision;
use Quotalock\Exception\InvalidArgumentException;
use Quotalock\Limiter;
use Quotalock\Support\InvalidKey;
use Quotalock\Support\Keys;
use Quotalock\Support\Names;
use Symfony\Component\EventDispatcher\EventSubscriberInterface;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\ResponseHeaderBag;
use Symfony\Component\HttpKernel\Event\RequestEvent;
use Symfony\Component\HttpKernel\Event\ResponseEvent;
use Symfony\Component\HttpKernel\Exception\BadRequestHttpException;
use Symfony\Component\HttpKernel\KernelEvents;

use function Quotalock\client_address;

/**
 * Limits requests by their paths. All rules that a path matches are decided in one atomic call. A denied request is
 * answered by a problem (RFC 9457), 429 or, if nobody could be asked, 503; every answer has the headers of the draft.
 */
final class RequestLimits implements EventSubscriberInterface
{
    private const ATTRIBUTE = '_quotalock_decision';

    /** Of a request that no listener before ours has answered. */
    private const REACHED = '_quotalock_reached';

    /** Before the router and the firewall, which may answer by themselves. */
    private const EARLY = 40;

    /** After them, so that a key can be the user. */
    private const LATE = 4;

    /** Headers whose values are lists. */
    private const LISTS = ['RateLimit-Policy', 'RateLimit', 'Access-Control-Expose-Headers'];

    /** @var array<string, Limiter> */
    private array $limiters = [];

    /**
     * @param array<string, array{
     *     path: string, policy: string, key: callable|null, prefetch: int|null, legacy: bool, expose_headers?: bool
     * }> $rules by the names of the limiters; a key is called with the request
     */
    public function __construct(private readonly Client $client, private readonly array $rules)
    {
        // What one call decides lies in one slot of a cluster.
        $scope = count($rules) > 1 ? 'requests' : null;
        foreach ($rules as $name => $rule) {
            Names::own($name);
            $this->limiters[$name] = $client->limiter($name, $rule['policy'], $scope, prefetch: $rule['prefetch']);
        }
    }

    public static function getSubscribedEvents(): array
    {
        return [
            KernelEvents::REQUEST => [['onEarlyRequest', self::EARLY], ['onRequest', self::LATE]],
            KernelEvents::RESPONSE => ['onResponse', -4],
        ];
    }

    /** Decides where no rule needs to know the user, so that paths without a route and failed logins count too. */
    public function onEarlyRequest(RequestEvent $event): void
    {
        $event->getRequest()->attributes->set(self::REACHED, true);
        $keys = array_filter(array_column($this->matching($event->getRequest()), 'key'));
        if ($keys === []) {
            $this->onRequest($event);
        }
    }

    /** Decides, and answers what is denied. */
    public function onRequest(RequestEvent $event): void
    {
        if (!$event->isMainRequest()) {
            return;
        }
        try {
            $answer = $this->decide($event->getRequest());
        } catch (InvalidKey | InvalidArgumentException | \TypeError $problem) {
            // A client can send such a request.
            throw new BadRequestHttpException($problem->getMessage(), $problem);
        }
        if ($answer !== null) {
            $event->setResponse($answer);
        }
    }

    /**
     * Adds the headers. What was answered before a key could be asked for, such as a path without a route, is counted
     * now; a preflight of CORS that another listener answered first takes nothing from those who send it.
     */
    public function onResponse(ResponseEvent $event): void
    {
        if (!$event->isMainRequest()) {
            return;
        }
        $request = $event->getRequest();
        $isPreflight = $request->isMethod('OPTIONS') && $request->headers->has('Access-Control-Request-Method');
        if ($isPreflight && !$request->attributes->has(self::REACHED)) {
            return;
        }
        try {
            $answer = $this->decide($request);
        } catch (InvalidKey | InvalidArgumentException | \TypeError) {
            // It is the answer to such a request, or to one that got none of the application's.
            return;
        }
        if ($answer !== null) {
            $event->setResponse($answer);
        }
        /** @var Decision|CombinedDecision|null $decision */
        $decision = $request->attributes->get(self::ATTRIBUTE);
        if ($decision !== null) {
            $this->addHeaders($event->getResponse()->headers, $decision);
        }
    }

    /** Decides once for each request; the answer if it is denied. */
    private function decide(Request $request): ?JsonResponse
    {
        if ($request->attributes->has(self::ATTRIBUTE)) {
            return null;
        }
        $charges = [];
        foreach ($this->matching($request) as $name => $rule) {
            $charges[] = [$this->limiters[$name], self::key($name, $rule['key'], $request)];
        }
        if ($charges === []) {
            return null;
        }
        [$limiter, $key] = $charges[0];
        $decision = count($charges) === 1 ? $limiter->consume($key) : $this->client->consumeAll($charges);
        $request->attributes->set(self::ATTRIBUTE, $decision);
        if ($decision->allowed) {
            return null;
        }
        $problem = $decision->problem();
        return new JsonResponse($problem, $problem['status'], ['Content-Type' => 'application/problem+json']);
    }

    /** The rules of a path, by name. */
    private function matching(Request $request): array
    {
        // A path that is not valid text counts too.
        $matches = fn (array $rule): bool => preg_match("{{$rule['path']}}", $request->getPathInfo()) !== 0;
        return array_filter($this->rules, $matches);
    }

    private function addHeaders(ResponseHeaderBag $headers, Decision|CombinedDecision $decision): void
    {
        $told = $decision->headers(legacy: in_array(true, array_column($this->rules, 'legacy'), true));
        if (in_array(true, array_column($this->rules, 'expose_headers'), true)) {
            $told['Access-Control-Expose-Headers'] = implode(', ', array_keys($told + ['Retry-After' => '']));
        }
        foreach ($told as $name => $value) {
            $before = in_array($name, self::LISTS, true) ? $headers->get($name) : null;
            $headers->set($name, $before === null ? $value : "$before, $value");
        }
    }

    private static function key(string $name, ?callable $key, Request $request): string
    {
        return $key === null
            ? client_address($request->getClientIp() ?? '', null, [])
            // It begins with what neither an address nor a key of framework.rate_limiter begins with.
            : '=' . Keys::checked($key($request), "quotalock.requests.$name.key: the service");
    }
}
