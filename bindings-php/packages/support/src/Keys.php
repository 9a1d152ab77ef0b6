<?php

declare(strict_types=1);

namespace Quotalock\Support;

/** Whom a request counts for, as a function of the application named it. */
final class Keys
{
    /** Bytes of a key that is kept as it is. */
    private const MOST = 512;

    /**
     * The key as text.
     *
     * @param string $place what messages call the function
     * @throws InvalidKey for nobody, which must be neither unlimited nor one key for all
     */
    public static function checked(mixed $key, string $place): string
    {
        $text = is_int($key) || $key instanceof \Stringable ? (string) $key : $key;
        if (is_string($text) && $text !== '') {
            return $text;
        }
        throw new InvalidKey(sprintf(
            '%s gave %s as the key: it must be a text or a whole number, and not empty',
            $place,
            $text === '' ? 'an empty text' : get_debug_type($key),
        ));
    }

    /** A key of any length, as frameworks take them: the end of a long one becomes a digest, so that it fits into 1 KiB. */
    public static function fitted(string $key): string
    {
        return strlen($key) <= self::MOST ? $key : substr($key, 0, self::MOST) . '~' . hash('sha256', $key);
    }
}
