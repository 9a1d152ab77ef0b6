<?php

declare(strict_types=1);

namespace App;

use Quotalock\Symfony\QuotalockBundle;
use Quotalock\Symfony\RateLimiter\LimiterFactory;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\Exception\BadRequestHttpException;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

/** An application with limits by path, a limiter in a controller, and a lock. */
final class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable
    {
        return [new FrameworkBundle(), new QuotalockBundle()];
    }

    public function getCacheDir(): string
    {
        return sys_get_temp_dir() . '/quotalock-symfony-' . BaseKernel::VERSION . '-' . getenv('QUOTALOCK_ON_ERROR');
    }

    public function getLogDir(): string
    {
        return $this->getCacheDir();
    }

    /** Nothing else is needed for a proper 429 under /api. */
    private function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', [
            'secret' => 'only an example',
            'http_method_override' => false,
            'lock' => 'quotalock',
            'rate_limiter' => ['login' => ['policy' => 'fixed_window', 'limit' => 2, 'interval' => '1 minute']],
        ]);
        $container->extension('quotalock', [
            'url' => '%env(QUOTALOCK_URL)%',
            'prefix' => '%env(QUOTALOCK_PREFIX)%',
            'timeout_ms' => 2000,
            'on_error' => getenv('QUOTALOCK_ON_ERROR') ?: null,
            'requests' => ['api' => ['path' => '^/api', 'policy' => '3/10s;100/hour']],
        ]);
        $container->services()->alias('app.login', 'limiter.login')->public();
        $container->services()->alias('app.locks', 'lock.factory')->public();
    }

    private function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->add('api', '/api/hello')->controller([$this, 'hello']);
        $routes->add('login', '/login')->controller([$this, 'login']);
        $routes->add('report', '/report')->controller([$this, 'report']);
    }

    public function hello(): Response
    {
        return new JsonResponse(['hello' => 'world']);
    }

    /** A limiter of framework.rate_limiter, in a controller. */
    public function login(Request $request): Response
    {
        /** @var LimiterFactory $limiters */
        $limiters = $this->getContainer()->get('app.login');
        // A client may send a list, or nothing: that must be neither an error of the server nor one limit for all.
        $user = $request->query->all()['user'] ?? null;
        if (!is_string($user) || $user === '') {
            throw new BadRequestHttpException('Who logs in is missing.');
        }
        $limit = $limiters->create($user)->consume();
        $headers = ['Retry-After' => (string) max(1, $limit->getRetryAfter()->getTimestamp() - time())];
        return $limit->isAccepted() ? new JsonResponse('welcome') : new JsonResponse('too many', 429, $headers);
    }

    /** A lock of framework.lock. */
    public function report(): Response
    {
        /** @var LockFactory $locks */
        $locks = $this->getContainer()->get('app.locks');
        $lock = $locks->createLock('report', 10);
        return new JsonResponse(['locked' => $lock->acquire(), 'again' => $locks->createLock('report', 10)->acquire()]);
    }
}
