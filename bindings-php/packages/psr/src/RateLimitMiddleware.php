<?php

declare(strict_types=1);

namespace Quotalock\Psr;

use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\MiddlewareInterface;
use Psr\Http\Server\RequestHandlerInterface;
use Quotalock\Decision;
use Quotalock\Exception\InvalidArgumentException;
use Quotalock\Limiter;
use Quotalock\Support\InvalidKey;
use Quotalock\Support\Keys;
use Quotalock\Support\Names;

use function Quotalock\client_address;

/**
 * A middleware of PSR-15 that charges a limiter for each request and answers those that it denies: 429 with a problem
 * (RFC 9457), `Retry-After` and the headers `RateLimit` and `RateLimit-Policy`, or 503 if nobody could be asked.
 *
 * A request whose key is missing or invalid gets 400. One that passes the same limit again is charged once for a key.
 */
final class RateLimitMiddleware implements MiddlewareInterface
{
    /** Headers whose values are lists. */
    private const LISTS = ['RateLimit-Policy', 'RateLimit', 'Access-Control-Expose-Headers'];

    /** @var \Closure(ServerRequestInterface): (\Stringable|string|int|null) */
    private readonly \Closure $key;

    /**
     * @param (callable(ServerRequestInterface): (\Stringable|string|int|null))|null $key whom a request counts for;
     *     null is the client's address, behind the proxies named in `$trusted`
     * @param list<string> $trusted addresses and networks of proxies, or `loopback`, `private`, `unix`
     * @param bool $legacy whether to send `X-RateLimit-*` too
     * @param bool $exposeHeaders whether `Access-Control-Expose-Headers` lists the headers, for pages of other origins
     */
    public function __construct(
        private readonly Limiter $limiter,
        private readonly ResponseFactoryInterface $responses,
        ?callable $key = null,
        private readonly array $trusted = [],
        private readonly bool $legacy = false,
        private readonly bool $exposeHeaders = false,
    ) {
        Names::own($limiter->name);
        $this->key = $key === null ? $this->address(...) : $key(...);
    }

    public function process(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface
    {
        try {
            $place = "The key function of the limiter \"{$this->limiter->name}\"";
            $key = Keys::checked(($this->key)($request), $place);
            $charge = serialize([$this->limiter->redisKey($key), $this->limiter->policy]);
            $charged = (array) $request->getAttribute(self::class, []);
            $decision = in_array($charge, $charged, true) ? null : $this->limiter->consume($key);
        } catch (InvalidKey | InvalidArgumentException | \TypeError $problem) {
            return $this->unfit($problem);
        }
        if ($decision === null) {
            return $handler->handle($request);
        }
        $response = $decision->allowed
            ? $handler->handle($request->withAttribute(self::class, [...$charged, $charge]))
            : $this->problem($decision->problem());
        return $this->withHeaders($response, $decision);
    }

    private function withHeaders(ResponseInterface $response, Decision $decision): ResponseInterface
    {
        $headers = $decision->headers(legacy: $this->legacy);
        if ($this->exposeHeaders) {
            $headers['Access-Control-Expose-Headers'] = implode(', ', array_keys($headers + ['Retry-After' => '']));
        }
        foreach ($headers as $name => $value) {
            // What other limits of the same request told stays.
            $response = in_array($name, self::LISTS, true)
                ? $response->withAddedHeader($name, $value)
                : $response->withHeader($name, $value);
        }
        return $response;
    }

    /** The answer to a request whose key cannot be; why is logged, since the cause may be the key function. */
    private function unfit(\Throwable $problem): ResponseInterface
    {
        error_log("quotalock/psr answers 400: {$problem->getMessage()}");
        return $this->problem([
            'type' => 'about:blank',
            'title' => 'Bad Request',
            'status' => 400,
            'detail' => 'What requests of this kind are counted by is missing in this one, or invalid.',
        ]);
    }

    /** @param array<string, mixed> $problem */
    private function problem(array $problem): ResponseInterface
    {
        $response = $this->responses->createResponse($problem['status'])
            ->withHeader('Content-Type', 'application/problem+json');
        $response->getBody()->write(json_encode($problem, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES));
        return $response;
    }

    private function address(ServerRequestInterface $request): string
    {
        $peer = $request->getServerParams()['REMOTE_ADDR'] ?? '';
        return client_address($peer, $request->getHeader('X-Forwarded-For'), $this->trusted);
    }
}
