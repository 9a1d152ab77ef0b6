<?php

declare(strict_types=1);

namespace Quotalock\Symfony\RateLimiter;

use Symfony\Component\RateLimiter\RateLimiterFactoryInterface;

// What a service or a controller asks for since Symfony 7.3.
if (interface_exists(RateLimiterFactoryInterface::class)) {
    /** Makes limiters, as Symfony's own factories do. */
    interface FactoryInterface extends RateLimiterFactoryInterface
    {
    }
} else {
    /** Makes limiters. */
    interface FactoryInterface
    {
    }
}
