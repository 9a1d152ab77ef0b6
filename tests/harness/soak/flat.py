"""Whether what was looked at again and again stayed flat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

# A sample: seconds since the beginning, and a number.
Sample = tuple[float, float]


@dataclass(frozen=True)
class Limit:
    """By how much something may grow in the whole time after the warm-up: so much, and so much of its median."""

    most: float
    share: float
    unit: str = ""

    def __str__(self) -> str:
        share = f" and {self.share:.0%}" if self.share else ""
        return f"at most {self.most:g}{f' {self.unit}' if self.unit else ''}{share}"


LIMITS = {
    # With what an allocator keeps for later, and what lies between blocks: that takes its time to settle.
    "memory": Limit(4.0, 0.10, "MiB"),
    # The denials that are remembered.
    "shared memory": Limit(0.25, 0.0, "MiB"),
    # Bytes that were allocated and not freed: what leaks shows here, however little it is.
    "allocated": Limit(192.0, 0.0, "KiB"),
    "by Quotalock": Limit(64.0, 0.0, "KiB"),
    "heap": Limit(256.0, 0.0, "KiB"),
    # A connection to each of some servers comes and goes.
    "descriptors": Limit(4.0, 0.0),
    "threads": Limit(1.0, 0.0),
    "connections": Limit(4.0, 0.0),
}
# Of these the lowest number of each stretch counts: what is in use for a moment, or waits to be collected, comes on top
# of what stays.
LIVE, STRETCHES = ("allocated", "by Quotalock", "heap"), 30


# Sizes of blocks are told apart in such steps.
STEP = 16


@dataclass(frozen=True)
class Span:
    """What became of one number."""

    name: str
    what: str
    median: float
    growth: float
    most: float

    @property
    def is_flat(self) -> bool:
        """Whether it did not grow by more than it may."""
        return self.growth <= self.most


def slope(samples: Sequence[Sample]) -> float:
    """The growth in a second: the median of the slopes between all pairs (Theil and Sen), which no outlier moves."""
    slopes = [
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for at, earlier in enumerate(samples)
        for later in samples[at + 1 :]
        if later[0] > earlier[0]
    ]
    return median(slopes) if slopes else 0.0


def lowest(samples: Sequence[Sample], stretches: int) -> list[Sample]:
    """The lowest of each stretch."""
    size = max(1, len(samples) // stretches)
    return [min(samples[at : at + size], key=lambda sample: sample[1]) for at in range(0, len(samples), size)]


def growth(name: str, what: str, series: Sequence[Sample], warm_up: float) -> Span:
    """By how much a number grew after the warm-up."""
    samples = [sample for sample in series if sample[0] >= warm_up]
    if len(samples) < 10:
        raise SystemExit(f"soak: {what} of {name} was seen only {len(samples)} times: give it more MINUTES")
    if what in LIVE:
        samples = lowest(samples, STRETCHES)
    middle, limit = median(number for _, number in samples), LIMITS[what]
    grown = slope(samples) * (samples[-1][0] - samples[0][0])
    return Span(name, what, middle, grown, limit.most + limit.share * middle)


def more_blocks(seen: Sequence[Sequence[int]], warm_up: float) -> list[tuple[int, int]]:
    """Of which sizes there are more blocks in the last quarter than in that after the warm-up, and how many.

    The lowest number of a quarter counts; those with the most bytes come first.
    """
    begins, quarter = int(len(seen) * warm_up), max(1, len(seen) // 4)
    before, after = seen[begins : begins + quarter], seen[-quarter:]
    lowest_before, lowest_after = ([min(column) for column in zip(*part, strict=True)] for part in (before, after))
    grown = [(at * STEP, y - x) for at, (x, y) in enumerate(zip(lowest_before, lowest_after, strict=True)) if y > x]
    return sorted(grown, key=lambda each: -each[0] * each[1])[:8]
