<?php

declare(strict_types=1);

namespace Quotalock\Tests;

/** A test of the extension. */
abstract class TestCase extends \PHPUnit\Framework\TestCase
{
    private int $process;

    /** @return array<string, array{string}> the URLs of all stores, by their names */
    public static function stores(): array
    {
        return ['memory' => ['memory://']] + self::servers();
    }

    /** @return array<string, array{string}> the URLs of all servers, by their names */
    public static function servers(): array
    {
        return array_map(fn (string $url) => [$url], servers());
    }

    protected function setUp(): void
    {
        $this->process = getmypid();
    }

    protected function tearDown(): void
    {
        // A forked child that came back here would run all other tests once more.
        if (getmypid() !== $this->process) {
            exit(1);
        }
    }
}
