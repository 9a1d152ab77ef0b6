<?php

declare(strict_types=1);

namespace Quotalock\Symfony\DependencyInjection;

use Symfony\Component\Config\Definition\Builder\TreeBuilder;
use Symfony\Component\Config\Definition\ConfigurationInterface;

/** What stands under `quotalock:` in an application's configuration. */
final class Configuration implements ConfigurationInterface
{
    public function getConfigTreeBuilder(): TreeBuilder
    {
        $tree = new TreeBuilder('quotalock');
        $tree->getRootNode()
            ->children()
                ->scalarNode('url')->defaultNull()->info('redis://..., rediss://..., redis+cluster://...')->end()
                ->scalarNode('prefix')->defaultNull()->end()
                ->scalarNode('timeout_ms')->defaultNull()->end()
                ->scalarNode('on_error')->defaultNull()->info('raise, open, closed or local')->end()
                ->scalarNode('report')->defaultNull()->info('Whether `quotalock top` sees who is denied')->end()
                ->booleanNode('rate_limiter')
                    ->defaultTrue()->info('Whether the limiters of framework.rate_limiter are Quotalock\'s')
                ->end()
                ->floatNode('lock_ttl')->defaultValue(300.0)->info('Seconds of locks that have no ttl')->end()
                ->arrayNode('login')->addDefaultsIfNotSet()->children()
                    ->integerNode('attempts')->defaultValue(5)->end()
                    ->scalarNode('interval')->defaultValue('1 minute')->end()
                ->end()->end()
                ->arrayNode('requests')->useAttributeAsKey('name')->arrayPrototype()->children()
                    ->scalarNode('path')->isRequired()->cannotBeEmpty()->info('A regular expression: ^/api')->end()
                    ->scalarNode('policy')->isRequired()->cannotBeEmpty()->info('10/minute;100/hour')->end()
                    ->scalarNode('key')
                        ->defaultNull()->info('A service, called with the request; null is the client\'s address')
                    ->end()
                    ->integerNode('prefetch')
                        ->defaultNull()->info('How many permits are taken from Redis at once at most')
                    ->end()
                    ->booleanNode('legacy')->defaultFalse()->info('Whether to send X-RateLimit-* too')->end()
                    ->booleanNode('expose_headers')
                        ->defaultFalse()->info('Whether pages of other origins can read the headers')
                    ->end()
                ->end()->end()->end()
            ->end();
        return $tree;
    }
}
