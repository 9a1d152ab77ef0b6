<?php

/** Prints what reflection tells of the stub, in a PHP without the extension. */

declare(strict_types=1);

namespace Quotalock\Tests;

require __DIR__ . '/../lib/Shape.php';
require __DIR__ . '/../../../bindings-php/ratelimit.stub.php';

echo json_encode(Shape::ofAll(), JSON_THROW_ON_ERROR);
