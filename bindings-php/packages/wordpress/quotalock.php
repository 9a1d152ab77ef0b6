<?php

/**
 * Plugin Name: Quotalock
 * Description: Throttles logins, XML-RPC and the REST interface, with limits that all web servers share.
 * Version: 0.1.0
 * Requires PHP: 8.2
 * License: Apache-2.0
 *
 * Settings are constants of wp-config.php; without them each has the value that stands here:
 *
 *     define('QUOTALOCK_URL', 'redis://127.0.0.1:6379');
 *     define('QUOTALOCK_LOGIN', '5/minute;20/hour');     // failed and successful logins, of a name and of an address
 *     define('QUOTALOCK_XMLRPC', '10/minute');           // requests of an address to xmlrpc.php; '' does not limit
 *     define('QUOTALOCK_REST', '100/minute');            // requests of a user, or of an address, to /wp-json
 *     define('QUOTALOCK_ON_ERROR', 'open');              // without Redis: open, closed, local or raise
 *     define('QUOTALOCK_TRUSTED', []);                   // addresses and networks of your proxies
 *     define('QUOTALOCK_EXPOSE_HEADERS', false);         // whether other origins read the headers of /wp-json
 */

declare(strict_types=1);

namespace Quotalock\WordPress;

defined('ABSPATH') || exit;

require_once __DIR__ . '/Plugin.php';

$settings = [];
foreach (['url', 'prefix', 'login', 'xmlrpc', 'rest', 'on_error', 'trusted', 'expose_headers'] as $name) {
    $constant = 'QUOTALOCK_' . strtoupper($name);
    if (defined($constant)) {
        $settings[$name] = constant($constant);
    }
}
(new Plugin($settings))->register();
