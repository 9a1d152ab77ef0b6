<?php

declare(strict_types=1);

namespace Quotalock\Support;

use Quotalock\Client;

/** Makes clients from the settings of a framework. */
final class Clients
{
    /** The oldest extension that these packages work with. */
    private const NEEDS = '0.1.0';

    private const SETTINGS = ['url', 'prefix', 'timeout_ms', 'on_error', 'request_memory_ms', 'report'];

    /**
     * Makes a client. What is not set, or null, is what the extension has without it.
     *
     * @param array{
     *     url?: string|null, prefix?: string|null, timeout_ms?: int|string|null, on_error?: string|null,
     *     request_memory_ms?: int|string|null, report?: bool|int|string|null
     * } $settings
     * @param string $place where the settings stand, for messages
     * @throws \LogicException if the extension is missing, or a setting cannot be
     */
    public static function make(array $settings = [], string $place = 'the settings'): Client
    {
        self::requireExtension();
        $unknown = array_diff(array_keys($settings), self::SETTINGS);
        if ($unknown !== []) {
            $known = implode(', ', self::SETTINGS);
            throw new \LogicException(sprintf('%s: "%s" is no setting: use %s', $place, reset($unknown), $known));
        }
        $settings = array_filter($settings, fn (mixed $value): bool => $value !== null && $value !== '');
        $memory = $settings['request_memory_ms'] ?? null;
        try {
            return new Client(
                $settings['url'] ?? null,
                $settings['prefix'] ?? null,
                isset($settings['timeout_ms']) ? self::whole($settings['timeout_ms'], 'timeout_ms') : null,
                $settings['on_error'] ?? null,
                ...($memory === null ? [] : [self::whole($memory, 'request_memory_ms')]),
                report: isset($settings['report']) ? self::flag($settings['report'], 'report') : null,
            );
        } catch (\InvalidArgumentException | \TypeError $problem) {
            throw new \LogicException("$place: {$problem->getMessage()}", 0, $problem);
        }
    }

    /** @throws \LogicException that says what to install */
    public static function requireExtension(): void
    {
        $version = phpversion('ratelimit');
        $found = $version === false ? 'is not loaded' : "is version $version";
        if ($version === false || version_compare($version, self::NEEDS, '<')) {
            throw new \LogicException(sprintf(
                'The PHP extension "ratelimit" %s: install version %s or later of it, as docs/versions.md of'
                    . " Quotalock's repository describes, and restart PHP",
                $found,
                self::NEEDS,
            ));
        }
    }

    private static function flag(mixed $value, string $name): bool
    {
        return filter_var($value, FILTER_VALIDATE_BOOLEAN, FILTER_NULL_ON_FAILURE)
            ?? throw new \InvalidArgumentException("$name " . json_encode($value) . ' is neither true nor false');
    }

    private static function whole(mixed $value, string $name): int
    {
        $whole = is_string($value) ? filter_var($value, FILTER_VALIDATE_INT) : $value;
        return is_int($whole)
            ? $whole
            : throw new \InvalidArgumentException(sprintf('%s %s is no whole number', $name, json_encode($value)));
    }
}
