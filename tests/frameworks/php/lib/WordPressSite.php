<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks;

use Quotalock\WordPress\Plugin;

use function Quotalock\Tests\prefix;

/** A site with the plugin, without a database: what happens is told to WordPress' own hooks. */
final class WordPressSite
{
    /** Who is logged in; 0 is nobody. */
    public static int $user = 0;

    /** @param array<string, mixed> $settings of the plugin */
    public function __construct(array $settings, string $address = '192.0.2.1')
    {
        foreach (['authenticate', 'init', 'rest_pre_dispatch', 'rest_post_dispatch', 'admin_notices'] as $hook) {
            remove_all_filters($hook);
        }
        self::$user = 0;
        $_SERVER = ['REMOTE_ADDR' => $address] + $_SERVER;
        unset($_SERVER['HTTP_X_FORWARDED_FOR']);
        (new Plugin($settings + ['prefix' => prefix()]))->register();
    }

    /** What a login ends with, and whether anybody looked at the password. */
    public function login(string $name): array
    {
        $looked = false;
        $look = function (mixed $user) use (&$looked): mixed {
            $looked = true;
            return $user;
        };
        $before = $GLOBALS['wp_filter']['authenticate'] ?? null;
        $saved = $before === null ? null : clone $before;
        // Where WordPress looks at it.
        add_filter('authenticate', $look, 20, 3);
        $answer = apply_filters('authenticate', null, $name, 'secret');
        $GLOBALS['wp_filter']['authenticate'] = $saved;
        return [$answer, $looked];
    }

    /** What a request to the REST interface is answered with before it is dispatched, and the headers of the answer. */
    public function rest(): array
    {
        $answer = apply_filters('rest_pre_dispatch', null, null, null);
        $response = apply_filters('rest_post_dispatch', new \WP_HTTP_Response(), null, null);
        return [$answer, $response->get_headers()];
    }

    /** What administrators are told. */
    public function notices(): string
    {
        ob_start();
        do_action('admin_notices');
        return (string) ob_get_clean();
    }
}
