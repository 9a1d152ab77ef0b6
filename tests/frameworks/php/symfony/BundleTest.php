<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Symfony;

use PHPUnit\Framework\TestCase;
use Quotalock\Symfony\DependencyInjection\QuotalockExtension;
use Quotalock\Symfony\DependencyInjection\ReplacePass;
use Quotalock\Symfony\Lock\LockStore;
use Quotalock\Symfony\RateLimiter\LimiterFactory;
use Quotalock\Symfony\Semaphore\SemaphoreStore;
use Symfony\Component\DependencyInjection\ChildDefinition;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\Exception\InvalidArgumentException;
use Symfony\Component\DependencyInjection\Reference;
use Symfony\Component\Lock\Store\StoreFactory as LockStoreFactory;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\RateLimiterFactoryInterface;
use Symfony\Component\Semaphore\Store\StoreFactory as SemaphoreStoreFactory;

use function Quotalock\Tests\thrown;

/** What the bundle replaces in the container. */
final class BundleTest extends TestCase
{
    public function testAStoreOfThatNameIsOursWhetherItIsATextOrAReference(): void
    {
        $container = $this->container();
        // Symfony has made a reference of it since version 7.2.
        foreach (['text' => 'quotalock', 'reference' => new Reference('quotalock')] as $how => $store) {
            $container->register("lock.$how")->setFactory([LockStoreFactory::class, 'createStore'])
                ->setArguments([$store]);
            $container->register("semaphore.$how")->setFactory([SemaphoreStoreFactory::class, 'createStore'])
                ->setArguments([$store]);
        }
        $container->register('lock.other')->setFactory([LockStoreFactory::class, 'createStore'])
            ->setArguments([new Reference('other')]);
        (new ReplacePass())->process($container);
        $class = fn (string $id): ?string => $container->getDefinition($id)->getClass();
        self::assertSame([LockStore::class, LockStore::class], [$class('lock.text'), $class('lock.reference')]);
        self::assertSame(
            [SemaphoreStore::class, SemaphoreStore::class],
            [$class('semaphore.text'), $class('semaphore.reference')],
        );
        self::assertNull($class('lock.other'));
    }

    public function testAnArgumentOfSymfonysInterfaceGetsOurFactory(): void
    {
        $container = $this->container(['policy' => 'fixed_window', 'limit' => 2, 'interval' => '1 minute']);
        $types = [RateLimiterFactory::class, RateLimiterFactoryInterface::class];
        foreach ($types as $type) {
            $container->registerAliasForArgument('limiter.api', $type, 'api.limiter');
        }
        (new ReplacePass())->process($container);
        $of = fn (string $type): bool => $container->hasAlias("$type \$apiLimiter");
        self::assertSame([false, true, true], array_map($of, [...$types, LimiterFactory::class]));
        // Symfony has the interface since version 7.3.
        $interfaces = array_intersect(class_implements(LimiterFactory::class), [RateLimiterFactoryInterface::class]);
        self::assertSame(interface_exists(RateLimiterFactoryInterface::class) ? 1 : 0, count($interfaces));
    }

    public function testAnAnchorIsRefused(): void
    {
        $config = ['policy' => 'fixed_window', 'limit' => 2, 'interval' => '1 month', 'anchor_at' => '2026-01-01'];
        $container = $this->container($config);
        $problem = thrown(InvalidArgumentException::class, fn () => (new ReplacePass())->process($container));
        $told = 'framework.rate_limiter: Rate limiter "api": "anchor_at" is not supported.';
        self::assertSame($told, $problem->getMessage());
    }

    /** @param array<string, mixed>|null $limiter as Symfony's own extension leaves the limiter `api` */
    private function container(?array $limiter = null): ContainerBuilder
    {
        $container = new ContainerBuilder();
        (new QuotalockExtension())->load([], $container);
        if ($limiter !== null) {
            $definition = new ChildDefinition('limiter');
            $container->setDefinition('limiter.api', $definition->replaceArgument(0, ['id' => 'api'] + $limiter));
        }
        return $container;
    }
}
