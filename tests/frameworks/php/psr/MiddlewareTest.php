<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Psr;

use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\ServerRequest;
use PHPUnit\Framework\TestCase;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;
use Quotalock\Client;
use Quotalock\Psr\RateLimitMiddleware;

use function Quotalock\Tests\client;
use function Quotalock\Tests\server;

/** The middleware of PSR-15. */
final class MiddlewareTest extends TestCase implements RequestHandlerInterface
{
    private int $handled = 0;

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        $this->handled++;
        return (new Psr17Factory())->createResponse();
    }

    public function testItAnswersDenialsProperly(): void
    {
        $ask = $this->middleware(client(server()), '1/minute');
        $admitted = $ask('192.0.2.1');
        self::assertSame(200, $admitted->getStatusCode());
        self::assertStringStartsWith('"api";r=0;t=', $admitted->getHeaderLine('RateLimit'));
        self::assertSame('"api";q=1;w=60', $admitted->getHeaderLine('RateLimit-Policy'));
        self::assertFalse($admitted->hasHeader('Retry-After'));
        $denied = $ask('192.0.2.1');
        self::assertSame([429, 1], [$denied->getStatusCode(), $this->handled]);
        self::assertGreaterThan(0, (int) $denied->getHeaderLine('Retry-After'));
        self::assertSame('application/problem+json', $denied->getHeaderLine('Content-Type'));
        self::assertSame(429, json_decode((string) $denied->getBody(), true)['status']);
        self::assertSame(200, $ask('192.0.2.2')->getStatusCode());
    }

    public function testAnAddressIsBelievedFromNamedProxiesOnly(): void
    {
        $ask = $this->middleware(client(server()), '1/minute', null, ['10.0.0.0/8']);
        self::assertSame(200, $ask('10.0.0.1', '192.0.2.1')->getStatusCode());
        self::assertSame(200, $ask('10.0.0.1', '192.0.2.2')->getStatusCode());
        self::assertSame(429, $ask('10.0.0.1', '192.0.2.2')->getStatusCode());
        self::assertSame(200, $ask('192.0.2.9', '192.0.2.3')->getStatusCode());
        self::assertSame(429, $ask('192.0.2.9', '192.0.2.4')->getStatusCode());
    }

    public function testAKeyThatAClientSpoilsIsA400(): void
    {
        $log = ini_set('error_log', '/dev/null');
        $spoil = [null, '', false, true, [], 1.5, str_repeat('k', 1025)];
        foreach ([...array_map(fn ($key) => fn () => $key, $spoil), fn () => throw new \TypeError('no text')] as $key) {
            $answer = $this->middleware(client(), '1/minute', $key)('192.0.2.1');
            self::assertSame(400, $answer->getStatusCode());
            self::assertSame(400, json_decode((string) $answer->getBody(), true)['status']);
        }
        ini_set('error_log', (string) $log);
        self::assertSame(0, $this->handled);
    }

    public function testARequestThatPassesALimitTwiceIsChargedOnce(): void
    {
        $client = client(server());
        [$limiter, $other] = [$client->limiter('api', '5/hour'), $client->limiter('other', '9/hour')];
        $chain = function (int $at) use (&$chain, $limiter, $other): RequestHandlerInterface {
            $middleware = [$limiter, $limiter, $other][$at] ?? null;
            $given = [$middleware, $chain, $at];
            return $middleware === null ? $this : new class (...$given) implements RequestHandlerInterface {
                public function __construct(private $limiter, private $chain, private $at)
                {
                }

                public function handle(ServerRequestInterface $request): ResponseInterface
                {
                    $middleware = new RateLimitMiddleware($this->limiter, new Psr17Factory(), exposeHeaders: true);
                    return $middleware->process($request, ($this->chain)($this->at + 1));
                }
            };
        };
        $admitted = 0;
        for ($i = 0; $i < 10; $i++) {
            $answer = $chain(0)->handle(new ServerRequest('GET', '/', [], null, '1.1', ['REMOTE_ADDR' => '192.0.2.1']));
            $admitted += (int) ($answer->getStatusCode() === 200);
            self::assertStringContainsString('Retry-After', $answer->getHeaderLine('Access-Control-Expose-Headers'));
            $policy = $answer->getHeaderLine('RateLimit-Policy');
            $i === 0 && self::assertStringContainsString('"other";q=9;w=3600, "api"', $policy);
        }
        self::assertSame([5, 5], [$admitted, $this->handled]);
    }

    public function testWithoutRedisItDoesAsItsPolicySays(): void
    {
        $away = 'redis://127.0.0.1:1';
        $open = $this->middleware(client($away, onError: 'open'), '1/minute')('192.0.2.1');
        self::assertSame(200, $open->getStatusCode());
        $closed = $this->middleware(client($away, onError: 'closed'), '1/minute')('192.0.2.1');
        self::assertSame(503, $closed->getStatusCode());
        self::assertTrue($closed->hasHeader('Retry-After'));
    }

    /** @return \Closure(string, string=): ResponseInterface */
    private function middleware(Client $client, string $policy, ?callable $key = null, array $trusted = []): \Closure
    {
        $limiter = $client->limiter('api', $policy);
        $middleware = new RateLimitMiddleware($limiter, new Psr17Factory(), $key, $trusted);
        return function (string $peer, string ...$forwarded) use ($middleware): ResponseInterface {
            $headers = $forwarded === [] ? [] : ['X-Forwarded-For' => $forwarded[0]];
            $server = ['REMOTE_ADDR' => $peer];
            return $middleware->process(new ServerRequest('GET', '/', $headers, null, '1.1', $server), $this);
        };
    }
}
