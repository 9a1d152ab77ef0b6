<?php

declare(strict_types=1);

namespace Quotalock\Tests;

/** What a test found is not what it expected. */
final class Failure extends \Exception
{
}
