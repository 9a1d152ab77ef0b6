<?php

/** As much of Symfony's polyfills as the frameworks need on the PHP that runs. */

declare(strict_types=1);

if (!function_exists('get_error_handler')) {
    /** The function that gets errors, in PHP 8.5. */
    function get_error_handler(): ?callable
    {
        $handler = set_error_handler(null);
        restore_error_handler();
        return $handler;
    }
}
