<?php

declare(strict_types=1);

namespace Quotalock\Symfony;

use Quotalock\Support\Clients;
use Quotalock\Symfony\DependencyInjection\ReplacePass;
use Symfony\Component\DependencyInjection\Compiler\PassConfig;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\HttpKernel\Bundle\Bundle;

/** Gives Symfony's rate limiters, locks and semaphores to Quotalock, and limits requests by their paths. */
final class QuotalockBundle extends Bundle
{
    public function build(ContainerBuilder $container): void
    {
        Clients::requireExtension();
        // Before the templates of definitions are filled in, by which Symfony knows them.
        $container->addCompilerPass(new ReplacePass(), PassConfig::TYPE_BEFORE_OPTIMIZATION, 100);
    }
}
