<?php

declare(strict_types=1);

namespace Quotalock\Symfony\EventListener;

use Quotalock\Client;
use Quotalock\CombinedDecision;
use Quotalock\Decision;
use Quotalock\Limiter;
use Quotalock\Support\Keys;
use Symfony\Component\EventDispatcher\EventSubscriberInterface;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpKernel\Event\RequestEvent;
use Symfony\Component\HttpKernel\Event\ResponseEvent;
use Symfony\Component\HttpKernel\KernelEvents;

use function Quotalock\client_address;

/**
 * Limits requests by their paths. All rules that a path matches are decided in one atomic call. A denied request is
 * answered by a problem (RFC 9457), 429 or, if nobody could be asked, 503; every answer has the headers of the draft.
 */
final class RequestLimits implements EventSubscriberInterface
{
    private const ATTRIBUTE = '_quotalock_decision';

    /** @var array<string, Limiter> */
    private array $limiters = [];

    /**
     * @param array<string, array{
     *     path: string, policy: string, key: callable|null, lease: int|null, legacy: bool
     * }> $rules by the names of the limiters; a key is called with the request
     */
    public function __construct(private readonly Client $client, private readonly array $rules)
    {
        // What one call decides lies in one slot of a cluster.
        $scope = count($rules) > 1 ? 'requests' : null;
        foreach ($rules as $name => $rule) {
            $this->limiters[$name] = $client->limiter($name, $rule['policy'], $scope, lease: $rule['lease']);
        }
    }

    public static function getSubscribedEvents(): array
    {
        // After the router and the firewall, so that a key can be the user.
        return [KernelEvents::REQUEST => ['onRequest', 4], KernelEvents::RESPONSE => ['onResponse', -4]];
    }

    /** Decides, and answers what is denied. */
    public function onRequest(RequestEvent $event): void
    {
        $request = $event->getRequest();
        $charges = [];
        foreach ($event->isMainRequest() ? $this->rules : [] as $name => $rule) {
            // A path that cannot be compared counts too.
            if (preg_match("{{$rule['path']}}", $request->getPathInfo()) !== 0) {
                $charges[] = [$this->limiters[$name], self::key($name, $rule['key'], $request)];
            }
        }
        if ($charges === []) {
            return;
        }
        [$limiter, $key] = $charges[0];
        $decision = count($charges) === 1 ? $limiter->consume($key) : $this->client->consumeAll($charges);
        $request->attributes->set(self::ATTRIBUTE, $decision);
        if (!$decision->allowed) {
            $problem = $decision->problem();
            $headers = ['Content-Type' => 'application/problem+json'];
            $event->setResponse(new JsonResponse($problem, $problem['status'], $headers));
        }
    }

    /** Adds the headers. */
    public function onResponse(ResponseEvent $event): void
    {
        /** @var Decision|CombinedDecision|null $decision */
        $decision = $event->isMainRequest() ? $event->getRequest()->attributes->get(self::ATTRIBUTE) : null;
        if ($decision !== null) {
            $legacy = in_array(true, array_column($this->rules, 'legacy'), true);
            $event->getResponse()->headers->add($decision->headers(legacy: $legacy));
        }
    }

    private static function key(string $name, ?callable $key, Request $request): string
    {
        return $key === null
            ? client_address($request->getClientIp() ?? '', null, [])
            : Keys::checked($key($request), "quotalock.requests.$name.key: the service");
    }
}
