<?php

/** Shows the settings, and whether a script may change them. */

declare(strict_types=1);

ob_start();
phpinfo(INFO_GENERAL | INFO_CONFIGURATION | INFO_MODULES);
$info = (string) ob_get_clean();
$client = new Quotalock\Client();
echo json_encode([
    'info' => strip_tags(str_replace('</td>', ' => ', $info)),
    'server' => $client->server,
    'prefix' => $client->prefix,
    'url set' => ini_set('ratelimit.url', 'redis://elsewhere'),
    'prefix set' => ini_set('ratelimit.prefix', 'elsewhere'),
]);
