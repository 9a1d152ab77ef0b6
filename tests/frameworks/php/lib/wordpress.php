<?php

/** As much of WordPress as the plugin asks for: its own hooks and errors, and what stands in for the rest. */

declare(strict_types=1);

use Quotalock\Tests\Frameworks\WordPressSite;

const ABSPATH = Quotalock\Tests\Frameworks\HOME . '/wordpress/';

require_once ABSPATH . 'wp-includes/plugin.php';
require_once ABSPATH . 'wp-includes/class-wp-error.php';
require_once ABSPATH . 'wp-includes/class-wp-http-response.php';
require_once Quotalock\Tests\Frameworks\ROOT . '/bindings-php/packages/wordpress/Plugin.php';

/** Who is logged in. */
function get_current_user_id(): int
{
    return WordPressSite::$user;
}

/** Escapes a text, as WordPress does it without its filters. */
function esc_html(string $text): string
{
    return htmlspecialchars($text, ENT_QUOTES);
}

/** A whole number that is not negative. */
function absint(mixed $value): int
{
    return abs((int) $value);
}
