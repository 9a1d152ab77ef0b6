<?php

declare(strict_types=1);

namespace Quotalock\Support;

/** A request whose key is missing or invalid. A client can send one, so the packages answer it with 400. */
final class InvalidKey extends \LogicException
{
}
