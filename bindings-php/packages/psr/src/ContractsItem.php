<?php

declare(strict_types=1);

namespace Quotalock\Psr;

use Symfony\Contracts\Cache\ItemInterface;

/** What a function that loads a value for a ContractsCache gets, to say how long the value is kept. */
final class ContractsItem extends CacheItem implements ItemInterface
{
    /** @throws NotPromised always */
    public function tag($tags): static
    {
        throw NotPromised::tags();
    }

    public function getMetadata(): array
    {
        return [];
    }
}
