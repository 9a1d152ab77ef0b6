<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use PHPUnit\Framework\AssertionFailedError;

/** A php-fpm with one pool and the extension. It ends with this object, and with this process. */
final class Fpm
{
    private readonly string $folder;

    private readonly int $owner;

    /** @var resource */
    private $process;

    /**
     * @param list<string> $pool lines of the pool's configuration
     * @param list<string> $options of the command line
     */
    public function __construct(array $pool, array $options = [])
    {
        $this->owner = getmypid();
        $this->folder = sys_get_temp_dir() . '/quotalock-fpm-' . bin2hex(random_bytes(6));
        mkdir($this->folder);
        $user = posix_getuid() === 0 ? ['user = root', 'group = root'] : [];
        $lines = ['[global]', "error_log = $this->folder/log", '[www]', "listen = $this->folder/socket"];
        // As patient as the tests themselves.
        $lines[] = 'php_value[ratelimit.timeout_ms] = ' . ini_get('ratelimit.timeout_ms');
        file_put_contents("$this->folder/conf", implode("\n", [...$lines, ...$user, ...$pool]) . "\n");
        $fpm = glob(dirname(PHP_BINARY, 2) . '/sbin/php-fpm' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION)[0]
            ?? throw new AssertionFailedError('php-fpm is missing: run `make setup`');
        $command = ['setpriv', '--pdeathsig', 'TERM', '--', $fpm, '-F', '-R', '-y', "$this->folder/conf"];
        $log = ['file', "$this->folder/output", 'a'];
        $pipes = [];
        $command = [...$command, '-d', 'extension=' . extension(), ...$options];
        $this->process = proc_open($command, [1 => $log, 2 => $log], $pipes, $this->folder);
        // The socket is there a little before anybody listens on it.
        eventually(fn () => str_contains($this->log(), 'ready to handle connections'), $this->log(...));
    }

    public function __destruct()
    {
        if (getmypid() !== $this->owner) {
            return;
        }
        proc_terminate($this->process);
        proc_close($this->process);
        array_map(unlink(...), glob("$this->folder/*"));
        rmdir($this->folder);
    }

    /** What it logged so far. */
    public function log(): string
    {
        return implode('', array_map(file_get_contents(...), glob("$this->folder/{log,output}", GLOB_BRACE)));
    }

    /** Runs a script of tests/php/scripts with this query and returns the body of its answer. */
    public function get(string $script, array $query = []): string
    {
        $connection = stream_socket_client("unix://$this->folder/socket", $code, $message, 10.0);
        stream_set_timeout($connection, 20);
        fwrite($connection, self::request([
            'GATEWAY_INTERFACE' => 'CGI/1.1',
            'REQUEST_METHOD' => 'GET',
            'SCRIPT_FILENAME' => realpath(ROOT . "/tests/php/scripts/$script"),
            'SCRIPT_NAME' => "/$script",
            'QUERY_STRING' => http_build_query($query),
        ]));
        $output = '';
        while (strlen($header = (string) stream_get_contents($connection, 8)) === 8) {
            ['type' => $type, 'length' => $length, 'padding' => $padding] =
                unpack('Cversion/Ctype/nid/nlength/Cpadding/Creserved', $header);
            $content = $length + $padding > 0 ? (string) stream_get_contents($connection, $length + $padding) : '';
            // FCGI_END_REQUEST, FCGI_STDOUT
            if ($type === 3) {
                break;
            }
            $output .= $type === 6 ? substr($content, 0, $length) : '';
        }
        return explode("\r\n\r\n", $output, 2)[1]
            ?? throw new AssertionFailedError("php-fpm answered \"$output\": {$this->log()}");
    }

    /**
     * Makes the same request `$times` times by each of `$clients` processes at once, `n` counting through all of them,
     * and returns the bodies, decoded from JSON.
     *
     * @return list<mixed>
     */
    public function load(string $script, int $clients, int $times, array $query = []): array
    {
        $children = [];
        for ($client = 0; $client < $clients; $client++) {
            $children[] = forked(function () use ($script, $client, $times, $query) {
                $bodies = [];
                for ($i = 1; $i <= $times; $i++) {
                    $body = $this->get($script, $query + ['n' => $client * $times + $i]);
                    $bodies[] = json_decode($body, true)
                        ?? throw new AssertionFailedError("the script answered \"$body\"");
                }
                return $bodies;
            });
        }
        return array_merge(...array_map(fn (\Closure $child) => $child(), $children));
    }

    /** A FastCGI request: begin as a responder, the parameters, no input. */
    private static function request(array $parameters): string
    {
        $encoded = '';
        foreach ($parameters as $name => $value) {
            $encoded .= pack('NN', strlen($name) | 1 << 31, strlen($value) | 1 << 31) . $name . $value;
        }
        $record = fn (int $type, string $content) => pack('CCnnCx', 1, $type, 1, strlen($content), 0) . $content;
        return $record(1, pack('nCx5', 1, 0)) . $record(4, $encoded) . $record(4, '') . $record(5, '');
    }
}
