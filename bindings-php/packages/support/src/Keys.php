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
     * @throws InvalidKey for nobody, which must be neither unlimited nor one key for all, and for what no name is:
     *     control characters, or bytes that are not UTF-8
     */
    public static function checked(mixed $key, string $place): string
    {
        $text = is_int($key) || $key instanceof \Stringable ? (string) $key : $key;
        $wrong = match (true) {
            !is_string($text) => get_debug_type($key),
            $text === '' => 'an empty text',
            preg_match('//u', $text) !== 1 => 'a text that is not UTF-8',
            preg_match('/[\x00-\x1f\x7f]/', $text) === 1 => 'a text with control characters',
            default => null,
        };
        $wrong === null || throw new InvalidKey(sprintf(
            '%s gave %s as the key: it must be a whole number or a text, of UTF-8 and without control characters',
            $place,
            $wrong,
        ));
        return $text;
    }

    /** A key of any length, as frameworks take them: the end of a long one becomes a digest, so that it fits into 1 KiB. */
    public static function fitted(string $key): string
    {
        return strlen($key) <= self::MOST ? $key : substr($key, 0, self::MOST) . '~' . hash('sha256', $key);
    }
}
