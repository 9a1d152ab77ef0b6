<?php

declare(strict_types=1);

namespace App\Http;

/** Nothing of this application's own: `throttle` is an alias that the package gives. */
final class Kernel extends \Illuminate\Foundation\Http\Kernel
{
}
