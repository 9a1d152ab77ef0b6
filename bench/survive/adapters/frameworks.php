<?php

/** Loads Symfony and Laravel as tests/frameworks/php/fetch.sh unpacked them. */

declare(strict_types=1);

putenv('QUOTALOCK_FRAMEWORKS=laravel-10 symfony-6.4 psr-cache-3 psr-log-3 psr-simple-cache-3');
require __DIR__ . '/../../../tests/frameworks/php/autoload.php';
require __DIR__ . '/kit.php';

// A class whose name is a byte, which Composer would find by its map.
require_once \Quotalock\Tests\Frameworks\HOME . '/symfony-6.4/src/Symfony/Component/Cache/Traits/ValueWrapper.php';
