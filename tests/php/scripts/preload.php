<?php

/** Run once in the parent of all workers: uses a client there, so that they inherit an open connection. */

declare(strict_types=1);

(new Quotalock\Client())->limiter('preload', '10/hour')->consume('k');
