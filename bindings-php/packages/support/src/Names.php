<?php

declare(strict_types=1);

namespace Quotalock\Support;

/** The names of limits that have none from their developer. */
final class Names
{
    /**
     * A name that a developer gave.
     *
     * @throws \LogicException for one that begins like the generated ones
     */
    public static function own(string $name): string
    {
        return str_starts_with($name, '~')
            ? throw new \LogicException("The limit \"$name\" begins with ~ like the generated names: choose another")
            : $name;
    }

    /**
     * The name of a limit: `~PLACE:METHODS:KEY:DIGEST`, at most 128 bytes of printable ASCII, as the packages of the
     * other languages have it.
     *
     * The digest is of all parts in full; those that can be read are cut to fit. No developer's name begins with `~`.
     *
     * @param string $application what tells applications on one Redis apart
     * @param string $place where the limit holds, such as `throttle`
     * @param string $key whom it counts, such as `address`
     * @param list<scalar|null> $more whatever else distinguishes it, such as its policy
     */
    public static function generated(string $application, string $place, string $key, array $more = []): string
    {
        $parts = [$application, $place, '*', $key, $more];
        // Not JSON: parts need not be UTF-8.
        $digest = substr(hash('sha256', serialize($parts)), 0, 16);
        return sprintf('~%s:*:%s:%s', self::readable($place, 60), self::readable($key, 24), $digest);
    }

    private static function readable(string $part, int $most): string
    {
        return substr(preg_replace('/[^!-~]|[{}:]/', '_', $part), 0, $most);
    }
}
