<?php

/** One call of the rival that the environment names, in a request of php-fpm: nothing else of an application. */

declare(strict_types=1);

namespace Quotalock\Bench;

require __DIR__ . '/rivals.php';

(__NAMESPACE__ . '\\' . getenv('RIVAL'))((string) getenv('URL'), getenv('OURS') === '1')();
echo 'yes';
