"""Policies as the guides write them, and the answers that the model gives. All times are whole microseconds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

UNITS = {
    "ms": 1_000,
    "s": 1_000_000,
    "sec": 1_000_000,
    "second": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "minute": 60_000_000,
    "h": 3_600_000_000,
    "hour": 3_600_000_000,
    "d": 86_400_000_000,
    "day": 86_400_000_000,
    "w": 604_800_000_000,
    "week": 604_800_000_000,
}
ALGORITHMS = ("fixed-window", "calendar-window", "sliding-window", "sliding-log", "token-bucket")
RULE = re.compile(
    rf"(?:(?P<algorithm>{'|'.join(ALGORITHMS)})\s+)?(?P<limit>\d+)\s*(?:/|per)\s*(?P<n>\d+)?\s*(?P<unit>[a-z]+)"
    r"(?:\s+capacity\s+(?P<capacity>\d+))?"
)


@dataclass(frozen=True)
class Rule:
    """One rule: at most `limit` per `period`; `capacity` is the limit but for a bucket that says another."""

    algorithm: str
    limit: int
    period: int
    capacity: int

    def __str__(self) -> str:
        capacity = f" capacity {self.capacity}" if self.capacity != self.limit else ""
        return f"{self.algorithm} {self.limit}/{self.period // 1_000}ms{capacity}"


Policy = tuple[Rule, ...]


def parse(text: str) -> Policy:
    """Reads a policy."""
    rules = []
    for part in text.split(";"):
        found = RULE.fullmatch(part.strip())
        if found is None:
            raise ValueError(f"no rule: {part}")
        unit = found["unit"]
        period = int(found["n"] or 1) * UNITS[unit if unit in UNITS else unit.removesuffix("s")]
        limit = int(found["limit"])
        rules.append(
            Rule(found["algorithm"] or "fixed-window", limit, period, int(found["capacity"] or limit)),
        )
    return tuple(rules)


def written(policy: Policy) -> str:
    """Writes a policy."""
    return ";".join(str(rule) for rule in policy)


@dataclass(frozen=True)
class RuleSays:
    """What one rule says; `retry_after` is None for never."""

    allowed: bool
    limit: int
    remaining: int
    retry_after: int | None
    reset_after: int


@dataclass(frozen=True)
class Says:
    """What a call answers."""

    allowed: bool
    would_deny: bool
    limit: int
    remaining: int
    retry_after: int | None
    reset_after: int
    cost: int
    rules: tuple[RuleSays, ...]
    healed: bool = False


@dataclass(frozen=True)
class AllSays:
    """What a call about several keys answers."""

    allowed: bool
    would_deny: bool
    binding: int
    retry_after: int | None
    decisions: tuple[Says, ...] = field(default=())


def longest(waits: list[int | None]) -> int:
    """The place of the longest wait, the first of equals; None is for ever."""
    return max(range(len(waits)), key=lambda place: (waits[place] is None, waits[place] or 0, -place))
