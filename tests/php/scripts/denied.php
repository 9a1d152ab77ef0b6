<?php

declare(strict_types=1);

$limiter = (new Quotalock\Client())->limiter('denied', $_GET['policy'] ?? '5/hour');
if (isset($_GET['reset'])) {
    echo json_encode(['reset' => $limiter->reset('attacker')]);
    return;
}
$told = ['pid' => getmypid(), 'admitted' => 0, 'cached' => 0];
for ($call = 0; $call < (int) ($_GET['calls'] ?? 1); $call++) {
    $decision = $limiter->consume('attacker');
    $told['admitted'] += (int) $decision->allowed;
    $told['cached'] += (int) ($decision->source === 'deny-cache');
}
echo json_encode($told);
