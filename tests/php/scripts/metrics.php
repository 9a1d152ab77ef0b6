<?php

/** Takes one of what all users share, and tells what was counted if it is asked. */

declare(strict_types=1);

if (isset($_GET['tell'])) {
    header('Content-Type: text/plain; version=0.0.4; charset=utf-8');
    echo Quotalock\prometheus();
    return;
}
(new Quotalock\Client())->limiter('page', '10/hour')->consume('secret:42');
header('Content-Type: application/json');
echo json_encode(['pid' => getmypid()]);
if (isset($_GET['kill'])) {
    posix_kill(getmypid(), SIGKILL);
}
