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
use Quotalock\Tests\Frameworks\PlaysMatrix;

/** The matrix for the middleware of PSR-15, in a dispatcher that answers OPTIONS itself. */
final class MatrixTest extends TestCase implements RequestHandlerInterface
{
    use PlaysMatrix;

    /** @var array<string, list<RateLimitMiddleware>> by method and path; those around all routes under the empty text */
    private array $routes = [];

    private string $log;

    protected function setUp(): void
    {
        $this->log = (string) ini_set('error_log', '/dev/null');
    }

    protected function tearDown(): void
    {
        ini_set('error_log', $this->log);
    }

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        return (new Psr17Factory())->createResponse($request->getAttribute('status'));
    }

    protected function build(array $limits, Client $client): void
    {
        $this->routes = ['' => []];
        foreach ($limits as $id => $limit) {
            $around = ($limit['default'] ?? false) || ($limit['not_found'] ?? false);
            $key = $limit['key'] ?? 'address';
            $made = new RateLimitMiddleware(
                // A limit of PSR-15 has the name that its developer gives.
                $client->limiter($limit['name'] ?? $id, $limit['policy']),
                new Psr17Factory(),
                $key === 'address' ? null : fn ($request) => $request->getParsedBody()[$key] ?? null,
                exposeHeaders: $limit['expose_headers'] ?? false,
            );
            $route = $around ? '' : ($limit['method'] ?? 'GET') . ' ' . self::path($limit);
            $all = ($limit['twice'] ?? false) ? [$made, $made] : [$made];
            $this->routes[$route] = [...$this->routes[$route] ?? [], ...$all];
            ($limit['default'] ?? false) && $this->routes += ['GET /x' => [], 'GET /elsewhere' => []];
        }
    }

    protected function ask(array $asked): array
    {
        $method = $asked['method'] === 'HEAD' ? 'GET' : $asked['method'];
        $route = $this->routes["$method {$asked['path']}"] ?? null;
        $server = ['REMOTE_ADDR' => $asked['address']];
        $request = (new ServerRequest($asked['method'], $asked['path'], [], null, '1.1', $server))
            ->withParsedBody($asked['fields'])
            ->withAttribute('status', $route === null && $method !== 'OPTIONS' ? 404 : 200);
        $response = $this->next([...$this->routes[''], ...$route ?? []])->handle($request);
        return [$response->getStatusCode(), array_change_key_case($response->getHeaders())];
    }

    protected static function none(): array
    {
        return ['websocket' => 'PSR-15 has none', 'own_body' => 'a middleware around it changes the answer'];
    }

    protected static function documented(): array
    {
        // A middleware around all routes counts them together.
        return ['defaults' => [['get' => 3, 'post' => 2, 'elsewhere' => 2]]];
    }

    /** What asks these, and then the application. */
    private function next(array $all): RequestHandlerInterface
    {
        $first = array_shift($all);
        return $first === null ? $this : new class ($first, $this->next($all)) implements RequestHandlerInterface {
            public function __construct(
                private readonly RateLimitMiddleware $first,
                private readonly RequestHandlerInterface $rest,
            ) {
            }

            public function handle(ServerRequestInterface $request): ResponseInterface
            {
                return $this->first->process($request, $this->rest);
            }
        };
    }
}
