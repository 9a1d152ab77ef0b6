<?php

declare(strict_types=1);

namespace Quotalock\Tests\Frameworks;

use PHPUnit\Framework\AssertionFailedError;

use function Quotalock\Tests\eventually;
use function Quotalock\Tests\extension;
use function Quotalock\Tests\freePort;

/** An application of examples/, served by PHP's own server. It ends with this object, and with this process. */
final class App
{
    private readonly int $port;

    private readonly string $log;

    /** @var resource */
    private $process;

    /**
     * @param string $index its first file, below examples/
     * @param array<string, string> $environment
     */
    public function __construct(string $index, array $environment)
    {
        $this->log = (string) tempnam(sys_get_temp_dir(), 'quotalock-app-');
        // What frameworks compile and keep there may be of another state of the code.
        $environment += ['QUOTALOCK_AUTOLOAD' => __DIR__ . '/../autoload.php', 'TMPDIR' => self::folder()] + getenv();
        $options = ['-d', 'extension=' . extension(), '-d', 'display_errors=stderr', '-d', 'html_errors=0'];
        $command = ['setpriv', '--pdeathsig', 'KILL', '--', PHP_BINARY, ...$options];
        $output = ['file', $this->log, 'w'];
        $pipes = [];
        for ($try = 0; $try < 5; $try++) {
            $port = freePort();
            $served = [...$command, '-S', "127.0.0.1:$port", ROOT . "/examples/$index"];
            $this->process = proc_open($served, [1 => $output, 2 => $output], $pipes, ROOT, $environment);
            // By its own word: another process may have taken the port meanwhile, and would answer.
            eventually(fn () => $this->hasStarted() || !proc_get_status($this->process)['running'], $this->log(...));
            if ($this->hasStarted()) {
                $this->port = $port;
                return;
            }
            proc_close($this->process);
        }
        throw new AssertionFailedError($this->log());
    }

    public function __destruct()
    {
        proc_terminate($this->process, SIGKILL);
        proc_close($this->process);
        unlink($this->log);
    }

    /** A folder for all applications of this process, removed when it ends. */
    private static function folder(): string
    {
        static $folder = null;
        if ($folder === null) {
            $folder = sys_get_temp_dir() . '/quotalock-apps-' . getmypid();
            mkdir($folder);
            register_shutdown_function(static fn () => exec('rm -rf ' . escapeshellarg($folder)));
        }
        return $folder;
    }

    private function hasStarted(): bool
    {
        return str_contains($this->log(), 'Development Server') && str_contains($this->log(), 'started');
    }

    /** What it wrote to its log. */
    public function log(): string
    {
        return (string) file_get_contents($this->log);
    }

    /**
     * Asks it.
     *
     * @param list<string> $headers
     * @return array{int, array<string, string>, mixed} the status, the headers by their small names, the decoded body
     */
    public function ask(string $path, array $headers = [], string $method = 'GET', string $body = ''): array
    {
        [$status, $found, $text] = $this->request($path, $headers, $method, $body);
        return [$status, $found, json_decode($text, true) ?? throw new AssertionFailedError(
            "$path answered $status: \"" . substr($text, 0, 2000) . "\"\n" . $this->log(),
        )];
    }

    /** Asks it, whatever the body. */
    public function status(string $path): int
    {
        return $this->request($path, [], 'GET', '')[0];
    }

    /** @return array{int, array<string, string>, string} */
    private function request(string $path, array $headers, string $method, string $body): array
    {
        $settings = ['method' => $method, 'ignore_errors' => true, 'timeout' => 60, 'content' => $body];
        $context = stream_context_create(['http' => $settings + ['header' => $headers]]);
        $stream = fopen("http://127.0.0.1:$this->port$path", 'r', false, $context);
        $text = (string) stream_get_contents($stream);
        $lines = stream_get_meta_data($stream)['wrapper_data'];
        $found = [];
        foreach (array_slice($lines, 1) as $line) {
            [$name, $value] = explode(':', $line, 2) + [1 => ''];
            $found[strtolower($name)] = trim($value);
        }
        $status = (int) explode(' ', $lines[0])[1];
        return [$status, $found, $text];
    }
}
