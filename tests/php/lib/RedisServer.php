<?php

declare(strict_types=1);

namespace Quotalock\Tests;

use PHPUnit\Framework\Assert;

/** A Redis of a test's own, to lock, fill, freeze and kill. It ends with this object, and with this process. */
final class RedisServer
{
    public int $port;

    /** How often it has started. */
    private int $starts = 0;

    /** @var resource|null */
    private $process = null;

    private readonly string $folder;

    private readonly int $owner;

    /** @param string ...$options as on the command line: `'--maxmemory', '2mb'` */
    public function __construct(string ...$options)
    {
        $this->owner = getmypid();
        $this->folder = sys_get_temp_dir() . '/quotalock-php-' . bin2hex(random_bytes(6));
        mkdir($this->folder);
        for ($try = 0; $try < 5; $try++) {
            $this->port = freePort();
            if ($this->launch($options)) {
                return;
            }
        }
        Assert::fail($this->log());
    }

    public function __destruct()
    {
        // A forked child has a copy of this object, but the server is its parent's.
        if (getmypid() !== $this->owner) {
            return;
        }
        $this->kill();
        // An append-only file has a folder of its own.
        array_map(unlink(...), array_filter(glob("$this->folder/{*,*/*}", GLOB_BRACE), is_file(...)));
        array_map(rmdir(...), glob("$this->folder/*"));
        rmdir($this->folder);
    }

    public function url(string $login = ''): string
    {
        return "redis://{$login}127.0.0.1:$this->port";
    }

    /** Starts it, also again after kill(), on the same port; returns when it accepts connections. */
    public function start(string ...$options): void
    {
        Assert::assertTrue($this->launch($options), $this->log());
    }

    /**
     * Whether it has started on its port: by its own word, since another process may have taken the port, and would
     * answer.
     *
     * @param list<string> $options
     */
    private function launch(array $options): bool
    {
        $command = ['setpriv', '--pdeathsig', 'KILL', '--', 'redis-server', '--port', (string) $this->port];
        $command = [...$command, '--bind', '127.0.0.1', '--save', '', ...$options];
        $log = ['file', "$this->folder/log", 'a'];
        $pipes = [];
        $this->process = proc_open($command, [1 => $log, 2 => $log], $pipes, $this->folder);
        $ready = fn (): bool => substr_count($this->log(), 'Ready to accept connections') > $this->starts;
        eventually(fn () => $ready() || !proc_get_status($this->process)['running'], $this->log(...));
        if (!$ready()) {
            $this->kill();
            return false;
        }
        $this->starts++;
        return true;
    }

    private function log(): string
    {
        return (string) file_get_contents("$this->folder/log");
    }

    public function kill(): void
    {
        if ($this->process !== null) {
            $this->signal(SIGKILL);
            proc_close($this->process);
            $this->process = null;
        }
    }

    public function pid(): int
    {
        return proc_get_status($this->process)['pid'];
    }

    public function signal(int $signal): void
    {
        posix_kill($this->pid(), $signal);
    }
}
