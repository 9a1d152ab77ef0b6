<?php

/** Every vector of tests/spec on every store; see tests/spec/README.md. */

declare(strict_types=1);

namespace Quotalock\Tests;

foreach (['memory' => 'memory://', ...servers()] as $store => $url) {
    $vectors = new Vectors($store, $url);
    foreach ($vectors->cases() as $id => $case) {
        test("$id on $store", fn () => $vectors->execute($id, $case));
    }
    test("every vector was executed on $store", fn () => $vectors->prove());
}
