<?php

declare(strict_types=1);

namespace Quotalock\Psr;

use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\MiddlewareInterface;
use Psr\Http\Server\RequestHandlerInterface;
use Quotalock\Limiter;
use Quotalock\Support\Keys;

use function Quotalock\client_address;

/**
 * A middleware of PSR-15 that charges a limiter for each request and answers those that it denies: 429 with a problem
 * (RFC 9457), `Retry-After` and the headers `RateLimit` and `RateLimit-Policy`, or 503 if nobody could be asked.
 */
final class RateLimitMiddleware implements MiddlewareInterface
{
    /** @var \Closure(ServerRequestInterface): (\Stringable|string|int|null) */
    private readonly \Closure $key;

    /**
     * @param (callable(ServerRequestInterface): (\Stringable|string|int|null))|null $key whom a request counts for;
     *     null is the client's address, behind the proxies named in `$trusted`
     * @param list<string> $trusted addresses and networks of proxies, or `loopback`, `private`, `unix`
     * @param bool $legacy whether to send `X-RateLimit-*` too
     */
    public function __construct(
        private readonly Limiter $limiter,
        private readonly ResponseFactoryInterface $responses,
        ?callable $key = null,
        private readonly array $trusted = [],
        private readonly bool $legacy = false,
    ) {
        $this->key = $key === null ? $this->address(...) : $key(...);
    }

    public function process(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface
    {
        $place = "The key function of the limiter \"{$this->limiter->name}\"";
        $decision = $this->limiter->consume(Keys::checked(($this->key)($request), $place));
        if ($decision->allowed) {
            $response = $handler->handle($request);
        } else {
            $problem = $decision->problem();
            $response = $this->responses->createResponse($problem['status'])
                ->withHeader('Content-Type', 'application/problem+json');
            $response->getBody()->write(json_encode($problem, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES));
        }
        foreach ($decision->headers(legacy: $this->legacy) as $name => $value) {
            $response = $response->withHeader($name, $value);
        }
        return $response;
    }

    private function address(ServerRequestInterface $request): string
    {
        $peer = $request->getServerParams()['REMOTE_ADDR'] ?? '';
        return client_address($peer, $request->getHeader('X-Forwarded-For'), $this->trusted);
    }
}
