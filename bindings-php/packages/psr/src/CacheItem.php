<?php

declare(strict_types=1);

namespace Quotalock\Psr;

use Psr\Cache\CacheItemInterface;

/** An item of a CachePool. */
class CacheItem implements CacheItemInterface
{
    /** When it ends by this process' clock; null is the time of the pool. */
    private ?float $until = null;

    private readonly bool $isHit;

    /** @param array{mixed}|null $found what the pool has under this key */
    public function __construct(private readonly string $key, private ?array $found)
    {
        $this->isHit = $found !== null;
    }

    public function getKey(): string
    {
        return $this->key;
    }

    public function get(): mixed
    {
        return $this->found[0] ?? null;
    }

    public function isHit(): bool
    {
        return $this->isHit;
    }

    public function set($value): static
    {
        $this->found = [$value];
        return $this;
    }

    public function expiresAt($expiration): static
    {
        $this->until = match (true) {
            $expiration === null => null,
            $expiration instanceof \DateTimeInterface => (float) $expiration->format('U.u'),
            default => throw new InvalidArgument('An item ends at a DateTimeInterface, or null'),
        };
        return $this;
    }

    public function expiresAfter($time): static
    {
        $seconds = Values::seconds($time);
        $this->until = $seconds === null ? null : microtime(true) + $seconds;
        return $this;
    }

    /** The seconds that it is kept from now; null is the time of the pool. */
    public function seconds(): ?int
    {
        return $this->until === null ? null : (int) ceil($this->until - microtime(true));
    }

    /** As the pool has it from now on, so that a change of this object does not change it. */
    public function stored(): self
    {
        $item = new self($this->key, $this->found ?? [null]);
        $item->until = $this->until;
        return $item;
    }
}
