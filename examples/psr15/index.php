<?php

declare(strict_types=1);

use Nyholm\Psr7\Factory\Psr17Factory;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;
use Quotalock\Client;
use Quotalock\Psr\RateLimitMiddleware;

require getenv('QUOTALOCK_AUTOLOAD') ?: __DIR__ . '/vendor/autoload.php';

// A framework of yours makes the request, runs its middleware and sends the response.
$factory = new Psr17Factory();
$request = $factory->createServerRequest($_SERVER['REQUEST_METHOD'], $_SERVER['REQUEST_URI'], $_SERVER);
$handler = new class ($factory) implements RequestHandlerInterface {
    public function __construct(private readonly Psr17Factory $factory)
    {
    }

    /** The application. */
    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        $body = $this->factory->createStream('{"hello":"world"}');
        return $this->factory->createResponse()->withHeader('Content-Type', 'application/json')->withBody($body);
    }
};

try {
    $client = new Client(prefix: getenv('QUOTALOCK_PREFIX'), timeoutMs: 2000, onError: getenv('QUOTALOCK_ON_ERROR'));
    $limits = new RateLimitMiddleware($client->limiter('api', '3/10s;100/hour'), $factory);
    $response = $limits->process($request, $handler);
} catch (\Quotalock\Exception\QuotalockException $away) {
    error_log((string) $away);
    $response = $factory->createResponse(500);
}
http_response_code($response->getStatusCode());
foreach ($response->getHeaders() as $name => $values) {
    header("$name: " . implode(', ', $values));
}
echo $response->getBody();
