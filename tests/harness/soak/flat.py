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
    "memory": Limit(1.0, 0.05, "MiB"),
    "descriptors": Limit(2.0, 0.0),
    "threads": Limit(1.0, 0.0),
    "connections": Limit(4.0, 0.0),
}


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


def growth(name: str, what: str, series: Sequence[Sample], warm_up: float) -> Span:
    """By how much a number grew after the warm-up."""
    samples = [sample for sample in series if sample[0] >= warm_up]
    if len(samples) < 10:
        raise SystemExit(f"soak: {what} of {name} was seen only {len(samples)} times: give it more MINUTES")
    middle, limit = median(number for _, number in samples), LIMITS[what]
    grown = slope(samples) * (samples[-1][0] - samples[0][0])
    return Span(name, what, middle, grown, limit.most + limit.share * middle)
