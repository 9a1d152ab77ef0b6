<?php

/** The section of phpinfo(): the settings in force, who set them, and no password. */

declare(strict_types=1);

namespace Quotalock\Tests;

test('it shows the version and the defaults', function () {
    [$info, $code] = php(null, ['--ri', 'ratelimit']);
    same(0, $code, 'the exit code');
    contains('Quotalock => ' . phpversion('ratelimit'), $info);
    contains('ratelimit.url => redis://127.0.0.1:6379 => default', $info);
    contains('ratelimit.prefix => ql => default', $info);
    contains('ratelimit.timeout_ms => 500 => default', $info);
    contains('ratelimit.on_error => raise => default', $info);
});

test('it says who set a value', function () {
    $options = ['-d', 'ratelimit.prefix=shop', '-d', 'ratelimit.timeout_ms=50'];
    $code = 'ini_set("ratelimit.timeout_ms", "70"); phpinfo(INFO_MODULES);';
    [$info] = php($code, $options, ['QUOTALOCK_URL' => 'redis://host:7']);
    contains('ratelimit.url => redis://host:7 => environment variable QUOTALOCK_URL', $info);
    contains('ratelimit.prefix => shop => ini file or -d', $info);
    contains('ratelimit.timeout_ms => 70 => php_value or ini_set', $info);
});

test('it hides passwords, in good URLs and in bad ones', function () {
    foreach (['redis://app:s3cret@host:6379/1', 'redis://:s3cret@host', 'app:s3cret@host', 'http://s3cret@x'] as $url) {
        [$info] = php('phpinfo(INFO_GENERAL | INFO_CONFIGURATION | INFO_MODULES);', ['-d', "ratelimit.url=$url"]);
        contains('ratelimit.url => ', $info);
        contains('***', $info);
        lacks('s3cret', $info);
        [$info] = php(null, ['-d', "ratelimit.url=$url", '--ri', 'ratelimit']);
        lacks('s3cret', $info);
        [$info] = php('phpinfo(INFO_MODULES);', [], ['QUOTALOCK_URL' => $url]);
        lacks('s3cret', $info);
    }
});
