<?php

declare(strict_types=1);

namespace Quotalock\Symfony;

use Quotalock\Client;
use Quotalock\Exception\LostException;
use Quotalock\Lock;

/**
 * What a key of Symfony's keeps of the lock that it holds: a handle or, once the key was serialised, the text by which
 * one process takes the lock over.
 *
 * Symfony decides when a lock is released, so it outlives this object, until its ttl.
 */
final class Lease
{
    private ?Lock $lock;

    private string $text = '';

    private int $token;

    /** @param int|null $began the hrtime() before the call by which it was granted; null if that waited */
    public function __construct(Lock $lock, public readonly bool $isWrite = true, private ?int $began = null)
    {
        $this->lock = $lock;
        $this->token = (int) $lock->token;
    }

    public function __destruct()
    {
        $this->leave();
    }

    /** @return array{text: string, token: int, isWrite: bool} */
    public function __serialize(): array
    {
        $this->leave();
        return ['text' => $this->text, 'token' => $this->token, 'isWrite' => $this->isWrite];
    }

    /** @param array{text: string, token: int, isWrite: bool} $data */
    public function __unserialize(array $data): void
    {
        $this->lock = $this->began = null;
        ['text' => $this->text, 'token' => $this->token, 'isWrite' => $this->isWrite] = $data;
    }

    /** Whether a holder of this lock has the token of this lease. Changes nothing. */
    public function isHeld(Lock $lock): bool
    {
        foreach ($lock->inspect()->holders as $holder) {
            if ($holder->token === $this->token) {
                return true;
            }
        }
        return false;
    }

    /**
     * Has it end so long from now; false if it was lost.
     *
     * @param string $name the lock that it must be of
     */
    public function renew(Client $client, string $name, int $ttlMs): bool
    {
        $this->leave();
        $this->began = hrtime(true);
        return $this->adopt($client, $name, $ttlMs) !== null;
    }

    /**
     * How many seconds are left of this ttl if the lease was granted it just now, so that less than a thousandth of it
     * is gone: then there is nothing to renew. Else null.
     */
    public function left(int $ttlMs): ?float
    {
        if ($this->began === null || $this->lock?->ttlMs !== $ttlMs || !$this->lock->held) {
            return null;
        }
        $goneMs = (hrtime(true) - $this->began) / 1e6;
        return $goneMs * 1000 < $ttlMs ? ($ttlMs - $goneMs) / 1000 : null;
    }

    /**
     * Releases it, if it is still this one's.
     *
     * @param string $name the lock that it must be of
     */
    public function release(Client $client, string $name): void
    {
        $lock = $this->lock ?? $this->adopt($client, $name, null);
        $this->lock = null;
        $this->text = '';
        $lock?->release();
    }

    private function adopt(Client $client, string $name, ?int $ttlMs): ?Lock
    {
        if ($this->text === '') {
            return null;
        }
        try {
            return $this->lock = $client->adopt($this->text, $name, $ttlMs);
        } catch (LostException) {
            return null;
        }
    }

    /** Gives up the handle without releasing the lock. */
    private function leave(): void
    {
        try {
            $this->text = $this->lock?->handover() ?? $this->text;
        } catch (LostException) {
            $this->text = '';
        }
        $this->lock = null;
    }
}
