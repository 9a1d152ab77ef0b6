<?php

declare(strict_types=1);

namespace Quotalock\Tests;

/**
 * A plain connection to a server, to look at what Quotalock left there. A method is a command: `$connection->get('k')`.
 *
 * The extension phpredis, which could do the same, lags behind new versions of PHP.
 */
final class Connection
{
    /** @var resource */
    private $stream;

    public function __construct(string $url)
    {
        ['host' => $host, 'port' => $port] = parse_url($url);
        $this->stream = stream_socket_client("tcp://$host:$port", timeout: 5.0)
            ?: throw new \RuntimeException("no connection to $url");
        stream_set_timeout($this->stream, 5);
    }

    /**
     * Sends a command with its arguments, and returns the reply.
     *
     * @param list<string|int> $arguments
     */
    public function __call(string $command, array $arguments): mixed
    {
        $parts = array_map(strval(...), [$command, ...$arguments]);
        $request = '*' . count($parts) . "\r\n";
        foreach ($parts as $part) {
            $request .= '$' . strlen($part) . "\r\n$part\r\n";
        }
        fwrite($this->stream, $request);
        return $this->reply();
    }

    /**
     * The fields of a section of INFO.
     *
     * @return array<string, string>
     */
    public function info(string $section): array
    {
        preg_match_all('/^(\w+):(.*?)\r?$/m', $this->__call('INFO', [$section]), $found);
        return array_combine($found[1], $found[2]);
    }

    /**
     * The fields of each connection that CLIENT LIST names.
     *
     * @return list<array<string, string>>
     */
    public function clients(): array
    {
        $each = function (string $line): array {
            preg_match_all('/(\S+?)=(\S*)/', $line, $found);
            return array_combine($found[1], $found[2]);
        };
        return array_map($each, explode("\n", trim($this->__call('CLIENT', ['LIST']))));
    }

    private function reply(): mixed
    {
        $line = rtrim((string) fgets($this->stream), "\r\n");
        $rest = substr($line, 1);
        return match ($line[0] ?? '') {
            '+' => $rest,
            '-' => throw new \RuntimeException($rest),
            ':' => (int) $rest,
            '$' => $rest === '-1' ? null : substr((string) stream_get_contents($this->stream, (int) $rest + 2), 0, -2),
            '*' => $rest === '-1' ? null : array_map(fn () => $this->reply(), array_fill(0, (int) $rest, 0)),
            default => throw new \RuntimeException('the server closed the connection, or sent nothing for 5 s'),
        };
    }
}
