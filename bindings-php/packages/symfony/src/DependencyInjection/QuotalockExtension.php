<?php

declare(strict_types=1);

namespace Quotalock\Symfony\DependencyInjection;

use Quotalock\Client;
use Quotalock\Exception\QuotalockException;
use Quotalock\Support\Clients;
use Quotalock\Symfony\EventListener\RequestLimits;
use Quotalock\Symfony\Lock\LockStore;
use Quotalock\Symfony\Security\LoginLimiter;
use Quotalock\Symfony\Semaphore\SemaphoreStore;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\Exception\InvalidArgumentException;
use Symfony\Component\DependencyInjection\Extension\Extension;
use Symfony\Component\DependencyInjection\Reference;

/** Registers the services of the bundle. */
final class QuotalockExtension extends Extension
{
    public function load(array $configs, ContainerBuilder $container): void
    {
        $config = $this->processConfiguration(new Configuration(), $configs);
        $settings = array_intersect_key($config, array_flip(['url', 'prefix', 'timeout_ms', 'on_error', 'report']));
        $container->register('quotalock.client', Client::class)
            ->setFactory([Clients::class, 'make'])
            ->setArguments([$settings, 'quotalock in the configuration']);
        $container->setAlias(Client::class, 'quotalock.client');
        $client = new Reference('quotalock.client');
        $container->register('quotalock.lock_store', LockStore::class)->setArguments([$client, $config['lock_ttl']]);
        $container->register('quotalock.semaphore_store', SemaphoreStore::class)->setArguments([$client]);
        $container->register('quotalock.login_limiter', LoginLimiter::class)
            ->setArguments([$client, '%kernel.secret%', $config['login']['attempts'], $config['login']['interval']]);
        $container->setParameter('quotalock.rate_limiter', $config['rate_limiter']);
        if ($config['requests'] !== []) {
            $this->registerRequests($config['requests'], $container);
        }
    }

    /** @param array<string, array{path: string, policy: string, key: string|null, prefetch: int|null, legacy: bool}> $requests */
    private function registerRequests(array $requests, ContainerBuilder $container): void
    {
        $rules = [];
        foreach ($requests as $name => $rule) {
            $place = "quotalock.requests.$name";
            if (@preg_match("{{$rule['path']}}", '') === false) {
                throw new InvalidArgumentException("$place.path: \"{$rule['path']}\" is no regular expression.");
            }
            try {
                (new Client('memory://'))->limiter((string) $name, $rule['policy'], prefetch: $rule['prefetch']);
            } catch (QuotalockException $problem) {
                throw new InvalidArgumentException("$place.policy: {$problem->getMessage()}", 0, $problem);
            }
            $rule['key'] = $rule['key'] === null ? null : new Reference(ltrim($rule['key'], '@'));
            $rules[(string) $name] = $rule;
        }
        $container->register('quotalock.requests', RequestLimits::class)
            ->setArguments([new Reference('quotalock.client'), $rules])
            ->addTag('kernel.event_subscriber');
    }
}
