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

    public function __construct(Lock $lock, public readonly bool $isWrite = true)
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
        $this->lock = null;
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

    /** Has it end so long from now; false if it was lost. */
    public function renew(Client $client, int $ttlMs): bool
    {
        $this->leave();
        return $this->adopt($client, $ttlMs) !== null;
    }

    /** Releases it, if it is still this one's. */
    public function release(Client $client): void
    {
        $lock = $this->lock ?? $this->adopt($client, null);
        $this->lock = null;
        $this->text = '';
        $lock?->release();
    }

    private function adopt(Client $client, ?int $ttlMs): ?Lock
    {
        if ($this->text === '') {
            return null;
        }
        try {
            return $this->lock = $client->adopt($this->text, $ttlMs);
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
