<?php

declare(strict_types=1);

namespace Quotalock\Symfony\DependencyInjection;

use Quotalock\Client;
use Quotalock\Symfony\RateLimiter\LimiterFactory;
use Symfony\Component\DependencyInjection\ChildDefinition;
use Symfony\Component\DependencyInjection\Compiler\CompilerPassInterface;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\Definition;
use Symfony\Component\DependencyInjection\Exception\InvalidArgumentException;
use Symfony\Component\DependencyInjection\Reference;
use Symfony\Component\Lock\Store\StoreFactory as LockStoreFactory;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\Semaphore\Store\StoreFactory as SemaphoreStoreFactory;

/**
 * Puts Quotalock in the place of Symfony's own: of the limiters of `framework.rate_limiter`, and of locks and
 * semaphores whose store is `quotalock`, as in `framework.lock: quotalock`.
 */
final class ReplacePass implements CompilerPassInterface
{
    private const STORES = [
        LockStoreFactory::class => 'quotalock.lock_store',
        SemaphoreStoreFactory::class => 'quotalock.semaphore_store',
    ];

    public function process(ContainerBuilder $container): void
    {
        foreach ($container->getDefinitions() as $id => $definition) {
            if ($definition instanceof ChildDefinition && $definition->getParent() === 'limiter') {
                if ($container->getParameter('quotalock.rate_limiter')) {
                    $this->replaceLimiter($container, $id, $definition);
                }
                continue;
            }
            $factory = $definition->getFactory();
            $store = is_array($factory) && is_string($factory[0]) ? self::STORES[$factory[0]] ?? null : null;
            // Since Symfony 7.2 a store that is no DSN is a reference to a service.
            if ($store !== null && (string) ($definition->getArguments()[0] ?? '') === 'quotalock') {
                $container->setDefinition($id, clone $container->getDefinition($store));
            }
        }
    }

    private function replaceLimiter(ContainerBuilder $container, string $id, ChildDefinition $limiter): void
    {
        $config = $limiter->getArguments()['index_0'] ?? [];
        if (isset($config['anchor_at'])) {
            throw new InvalidArgumentException(
                "framework.rate_limiter: Rate limiter \"{$config['id']}\": \"anchor_at\" is not supported.",
            );
        }
        $config = array_intersect_key($config, array_flip(['id', 'policy', 'limit', 'interval', 'rate']));
        // What Symfony's configuration leaves empty for this policy.
        $config = array_filter($config, fn (mixed $value): bool => $value !== null && $value !== []);
        try {
            new LimiterFactory(new Client('memory://'), $config);
        } catch (\LogicException $problem) {
            throw new InvalidArgumentException("framework.rate_limiter: {$problem->getMessage()}", 0, $problem);
        }
        $ours = new Definition(LimiterFactory::class, [new Reference('quotalock.client'), $config]);
        $container->setDefinition($id, $ours->setPublic($limiter->isPublic()));
        // Symfony's class is final, so arguments of its type cannot get this: those of LimiterFactory do, and since
        // Symfony 7.3 those of RateLimiterFactoryInterface.
        foreach ($container->getAliases() as $name => $alias) {
            if ((string) $alias === $id && str_starts_with(ltrim($name, '.'), RateLimiterFactory::class . ' ')) {
                $container->removeAlias($name);
            }
        }
        $container->registerAliasForArgument($id, LimiterFactory::class, substr($id, strlen('limiter.')) . '.limiter');
    }
}
