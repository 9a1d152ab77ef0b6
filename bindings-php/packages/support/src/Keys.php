<?php

declare(strict_types=1);

namespace Quotalock\Support;

/** Whom a request counts for, as a function of the application named it. */
final class Keys
{
    /**
     * The key as text.
     *
     * @param string $place what messages call the function
     * @throws \LogicException for nobody, which must be neither unlimited nor one key for all
     */
    public static function checked(mixed $key, string $place): string
    {
        $text = is_int($key) || $key instanceof \Stringable ? (string) $key : $key;
        if (is_string($text) && $text !== '') {
            return $text;
        }
        throw new \LogicException(sprintf(
            '%s gave %s as the key: it must be a text or a whole number, and not empty',
            $place,
            $text === '' ? 'an empty text' : get_debug_type($key),
        ));
    }
}
