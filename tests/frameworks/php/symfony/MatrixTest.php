<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Symfony;

use PHPUnit\Framework\TestCase;
use Quotalock\Client;
use Quotalock\Symfony\EventListener\RequestLimits;
use Quotalock\Symfony\RateLimiter\LimiterFactory;
use Quotalock\Tests\Frameworks\PlaysMatrix;
use Symfony\Component\EventDispatcher\EventDispatcher;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\Controller\ControllerResolver;
use Symfony\Component\HttpKernel\Event\ExceptionEvent;
use Symfony\Component\HttpKernel\Event\RequestEvent;
use Symfony\Component\HttpKernel\Exception\HttpExceptionInterface;
use Symfony\Component\HttpKernel\Exception\NotFoundHttpException;
use Symfony\Component\HttpKernel\Exception\TooManyRequestsHttpException;
use Symfony\Component\HttpKernel\HttpKernel;
use Symfony\Component\HttpKernel\KernelEvents;

/**
 * The matrix for the bundle: rules of `quotalock.requests` where a path is limited, and limiters of
 * `framework.rate_limiter` in controllers where only one method of it is, or two paths share one.
 */
final class MatrixTest extends TestCase
{
    use PlaysMatrix;

    private HttpKernel $kernel;

    /** @var array<string, list<LimiterFactory>> what controllers ask, by method and path */
    private array $routes;

    protected function build(array $limits, Client $client): void
    {
        [$rules, $this->routes] = [[], []];
        $methods = count(array_unique(array_column($limits, 'method')));
        foreach ($limits as $id => $limit) {
            $route = ($limit['method'] ?? 'GET') . ' ' . self::path($limit);
            ($limit['not_found'] ?? false) || $this->routes[$route] ??= [];
            if ($methods > 1 || isset($limit['name']) || (isset($limit['method']) && count($limits) > 1)) {
                [$most, $seconds] = self::numbers($limit['policy']);
                $how = ['id' => $limit['name'] ?? $id, 'policy' => 'fixed_window', 'limit' => $most];
                $this->routes[$route][] = new LimiterFactory($client, $how + ['interval' => "$seconds seconds"]);
                continue;
            }
            $everywhere = ($limit['default'] ?? false) || ($limit['not_found'] ?? false);
            $key = $limit['key'] ?? 'address';
            $rules[$id] = [
                'path' => $everywhere ? '^/' : '^' . preg_quote(self::path($limit)) . '$',
                'policy' => $limit['policy'],
                'key' => $key === 'address' ? null : fn ($request) => $request->attributes->get('fields')[$key] ?? null,
                'prefetch' => null, 'legacy' => false, 'expose_headers' => $limit['expose_headers'] ?? false,
            ];
            ($limit['default'] ?? false) && $this->routes += ['GET /x' => [], 'GET /elsewhere' => []];
        }
        $dispatcher = new EventDispatcher();
        $limit = new RequestLimits($client, $rules);
        $dispatcher->addSubscriber($limit);
        // A subscriber that is there twice, as by two of an application's own bundles, charges once.
        in_array(true, array_column($limits, 'twice'), true) && $dispatcher->addSubscriber(clone $limit);
        // As bundles for CORS answer a preflight.
        $dispatcher->addListener(KernelEvents::REQUEST, function (RequestEvent $event): void {
            $event->getRequest()->isMethod('OPTIONS') && $event->setResponse(new Response('', 204));
        }, 250);
        $dispatcher->addListener(KernelEvents::REQUEST, $this->route(...), 32);
        $dispatcher->addListener(KernelEvents::EXCEPTION, function (ExceptionEvent $event): void {
            $problem = $event->getThrowable();
            if ($problem instanceof HttpExceptionInterface) {
                $event->setResponse(new Response('', $problem->getStatusCode(), $problem->getHeaders()));
            }
        });
        $this->kernel = new HttpKernel($dispatcher, new ControllerResolver());
    }

    protected function ask(array $asked): array
    {
        $server = ['REMOTE_ADDR' => $asked['address']];
        $request = Request::create($asked['path'], $asked['method'], [], [], [], $server);
        $request->attributes->set('fields', $asked['fields']);
        $request->headers->set('Access-Control-Request-Method', 'GET');
        $response = $this->kernel->handle($request);
        return [$response->getStatusCode(), $response->headers->all()];
    }

    protected static function none(): array
    {
        return [
            'websocket' => 'Symfony has none',
            'own_body' => 'a listener of the response changes the answer',
        ];
    }

    protected static function documented(): array
    {
        // A rule counts all paths that it matches together.
        return ['defaults' => [['get' => 3, 'post' => 2, 'elsewhere' => 2]]];
    }

    /** Finds the controller, as Symfony's router does. */
    private function route(RequestEvent $event): void
    {
        $request = $event->getRequest();
        $method = $request->isMethod('HEAD') ? 'GET' : $request->getMethod();
        $factories = $this->routes["$method {$request->getPathInfo()}"] ?? null;
        $factories ?? throw new NotFoundHttpException();
        $request->attributes->set('_controller', function () use ($factories, $request): Response {
            foreach ($factories as $factory) {
                $limit = $factory->create($request->getClientIp())->consume();
                if (!$limit->isAccepted()) {
                    throw new TooManyRequestsHttpException(null, '', null, 0, $limit->decision->headers());
                }
            }
            return new Response('yes');
        });
    }
}
