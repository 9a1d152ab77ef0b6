<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks\Psr;

use PHPUnit\Framework\TestCase;
use Quotalock\Tests\Frameworks\ProperAnswers;

/** The example application, asked over HTTP. */
final class AppTest extends TestCase
{
    use ProperAnswers;

    protected function example(): array
    {
        return ['psr15/index.php', '/api/hello'];
    }
}
