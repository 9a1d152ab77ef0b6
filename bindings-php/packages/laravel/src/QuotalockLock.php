<?php

declare(strict_types=1);

namespace Quotalock\Laravel;

use Illuminate\Cache\Lock as BaseLock;
use Illuminate\Contracts\Cache\LockTimeoutException;
use Quotalock\Client;
use Quotalock\Exception\InvalidArgumentException;
use Quotalock\Exception\LostException;
use Quotalock\Lock;

/**
 * A lock of Laravel's. It outlives this object and the request, until it is released or its seconds are over.
 *
 * owner() is a text by which one other process takes the lock over, with restoreLock(). Who uses it first has the lock,
 * and releases it; it is a secret.
 */
class QuotalockLock extends BaseLock
{
    private readonly Lock $handle;

    /** What is held by this object: the handle, or one that was taken over. */
    private ?Lock $held = null;

    /** @param string|null $owner the text of another object's owner() */
    public function __construct(private readonly Client $client, string $name, int $seconds, ?string $owner = null)
    {
        parent::__construct($name, $seconds, $owner ?? '');
        $this->handle = $client->lock($name, $seconds * 1000);
    }

    public function __destruct()
    {
        $this->leave();
    }

    public function acquire()
    {
        return $this->wait(0);
    }

    public function block($seconds, $callback = null)
    {
        if (!$this->wait((int) ceil($seconds * 1000))) {
            throw new LockTimeoutException();
        }
        if (!is_callable($callback)) {
            return true;
        }
        try {
            return $callback();
        } finally {
            $this->release();
        }
    }

    public function release()
    {
        $held = $this->held();
        $this->held = null;
        $this->owner = '';
        return $held?->release() ?? false;
    }

    /** Has the lock last for so many seconds from now; null: as many as it was made with. False if it was lost. */
    public function refresh($seconds = null)
    {
        $this->leave();
        return $this->adopt((int) ceil(($seconds ?? $this->seconds) * 1000)) !== null;
    }

    public function forceRelease()
    {
        $this->handle->forceRelease();
    }

    public function owner()
    {
        $this->leave();
        return $this->owner;
    }

    /** Whether anybody has the lock. */
    public function isLocked(): bool
    {
        return $this->handle->inspect()->holders !== [];
    }

    /** Whether this object has the lock. One that was restored takes it over for that. */
    public function isOwnedByCurrentProcess()
    {
        return $this->held() !== null;
    }

    /** Whether this object has the lock and gave this owner(); of null, whether nobody has it. */
    public function isOwnedBy($owner)
    {
        return $owner === null
            ? !$this->isLocked()
            : $owner !== '' && $owner === $this->owner && $this->isOwnedByCurrentProcess();
    }

    protected function getCurrentOwner()
    {
        return $this->held() === null ? null : $this->owner();
    }

    private function wait(int $waitMs): bool
    {
        if ($this->held() !== null) {
            // Whoever holds it is kept out like everybody else, as in Laravel.
            $another = $this->client->lock($this->name, $this->seconds * 1000);
            $this->leave();
            return $another->acquire($waitMs) && $this->keep($another);
        }
        return $this->handle->acquire($waitMs) && $this->keep($this->handle);
    }

    private function keep(Lock $lock): bool
    {
        $this->held = $lock;
        $this->owner = '';
        return true;
    }

    private function held(): ?Lock
    {
        if ($this->held !== null && !$this->held->held) {
            $this->held = null;
        }
        return $this->held ?? $this->adopt(null);
    }

    private function adopt(?int $ttlMs): ?Lock
    {
        if ($this->owner === '') {
            return null;
        }
        try {
            $this->held = $this->client->adopt($this->owner, $this->name, $ttlMs);
        } catch (LostException | InvalidArgumentException) {
            $this->held = null;
        }
        return $this->held;
    }

    /** Gives up what is held without releasing it: `owner` is from then on how to get it again. */
    private function leave(): void
    {
        try {
            $this->owner = $this->held?->handover() ?? $this->owner;
        } catch (LostException) {
            $this->owner = '';
        }
        $this->held = null;
    }
}
