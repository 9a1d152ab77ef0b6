<?php

// Consumes with a password that a function of this request tells, or ends in it. See PasswordsTest.

declare(strict_types=1);

use Quotalock\Client;

[$told, $how, $asked] = [$_GET['told'], $_GET['how'], 0];
$holder = new class ($told, $how) {
    public int $asked = 0;

    public ?object $itself = null;

    public function __construct(private string $told, private string $how)
    {
    }

    public function tell(): string
    {
        $this->asked++;
        return match ($this->how) {
            'throw' => throw new LogicException('no token'),
            'exit' => exit(json_encode(['left' => 'exit'])),
            'memory' => str_repeat($this->told, 1 << 40),
            default => $this->told,
        };
    }
};
// Nobody collects this before the request ends.
$holder->itself = $holder;
ini_set('display_errors', '0');
register_shutdown_function(fn () => error_get_last() && print(json_encode(['left' => 'error'])));
$client = new Client($_GET['url'], 'pool', password: $holder->tell(...));
try {
    $left = $client->limiter('shop', '100/hour')->consume('k')->remaining;
} catch (LogicException $thrown) {
    $left = $thrown->getMessage();
}
echo json_encode(['left' => $left, 'asked' => $holder->asked, 'pid' => getmypid()]);
