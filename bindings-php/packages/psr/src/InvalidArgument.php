<?php

declare(strict_types=1);

namespace Quotalock\Psr;

/** A key or a time to live that PSR-6 and PSR-16 do not allow. */
final class InvalidArgument extends \InvalidArgumentException implements
    \Psr\Cache\InvalidArgumentException,
    \Psr\SimpleCache\InvalidArgumentException
{
}
