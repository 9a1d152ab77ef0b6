<?php

declare(strict_types=1);

namespace Quotalock\Tests;

/** A key that is an object. */
final class Stringable42
{
    public function __toString(): string
    {
        return '42';
    }
}
