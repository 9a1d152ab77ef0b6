"""Damages what is stored for a limiter, byte by byte, and asks that no value denies for longer than its policy says.

Whatever stands at a key: a call answers; a denial names a wait that is no longer than the longest one of the policy;
who asks again each time it says so is admitted within that; and the key is as new once everything that it may count is
over.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import quotalock
from quotalock import testing
from rules import Policy, Rule, parse
from stories import START

ASKED = 20
POLICIES = (
    "fixed-window 5/10s",
    "calendar-window 5/10s",
    "sliding-window 5/10s",
    "sliding-log 5/10s",
    "sliding-log 40/10s",
    "token-bucket 5/10s",
    "token-bucket 7/3s capacity 20",
    "fixed-window 5/10s;fixed-window 9/100s",
    "sliding-log 3/10s;sliding-log 9/100s",
    "fixed-window 9/10s;calendar-window 9/10s;sliding-window 9/10s;sliding-log 9/10s;token-bucket 9/10s",
    "token-bucket 5/10s;sliding-log 5/10s",
)


@dataclass(frozen=True)
class Damage:
    """One damaged value."""

    policy: str
    what: str
    value: bytes

    def __str__(self) -> str:
        return f"{self.policy}: {self.what}: {self.value.hex()}"


def longest(rule: Rule, cost: int = 1) -> int:
    """The longest wait for a cost that the guide names for a rule, in microseconds."""
    if rule.algorithm == "sliding-window":
        return rule.period + -(-rule.period * cost // rule.limit)
    if rule.algorithm == "token-bucket":
        return -(-rule.period * cost // rule.limit)
    return rule.period


def over(policy: Policy) -> int:
    """After how long nothing that was counted counts any more."""
    waits = [
        -(-rule.period * rule.capacity // rule.limit) if rule.algorithm == "token-bucket" else rule.period * 2
        for rule in policy
    ]
    return max(waits)


def damages(value: bytes, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """The value with each byte changed in some way, cut, lengthened, and whole but without its TTL."""
    yield "without its TTL", value
    for place in range(len(value)):
        bit = chance.randrange(8)
        yield f"bit {bit} of byte {place}", _with(value, place, value[place] ^ 1 << bit)
        yield f"bit 7 of byte {place}", _with(value, place, value[place] ^ 128)
        yield f"byte {place} is 255", _with(value, place, 255)
        yield f"byte {place} is 0", _with(value, place, 0)
        if chance.random() < 0.3:
            yield f"cut to {place}", value[:place]
        if chance.random() < 0.2:
            yield f"another byte at {place}", value[:place] + bytes([chance.randrange(256)]) + value[place:]
    for more in (1, 8, 24, 100):
        yield f"{more} bytes more", value + chance.randbytes(more)
    two = bytearray(value)
    for _ in range(3):
        two[chance.randrange(len(two))] = chance.randrange(256)
    yield "three bytes", bytes(two)


def _with(value: bytes, place: int, byte: int) -> bytes:
    return value[:place] + bytes([byte]) + value[place + 1 :]


class Damager:
    """Damages values on one server."""

    def __init__(self, url: str, prefix: str) -> None:
        self.client = quotalock.Client(url, prefix=prefix, timeout=30.0)
        self.seen: Counter[str] = Counter()

    def attack(self, seed: int) -> list[str]:
        """Makes a state by chance, damages it in every way, and says what went wrong."""
        chance = random.Random(seed)
        text = chance.choice(POLICIES)
        policy = parse(text)
        limiter = self.client.limiter(f"d{seed}", text)
        value = self._state(limiter, policy, chance)
        if value is None:
            return []
        found = []
        for what, damaged in damages(value, chance):
            self.seen["damaged values"] += 1
            if wrong := self.check(limiter, policy, damaged):
                found.append(f"{Damage(text, what, damaged)}: {wrong}")
        return found

    def _at(self, now: int) -> None:
        self.seen["steps"] += 1
        testing.set_time(self.client, now)

    def _state(self, limiter: Any, policy: Policy, chance: random.Random) -> bytes | None:
        """A state that is full or nearly so, maybe with a reservation."""
        limiter.reset("k")
        most = min(rule.capacity for rule in policy)
        now = START - chance.randrange(9_000_000)
        for _ in range(chance.randint(1, most)):
            now = min(now + chance.choice((0, 1, 1_000, 100_000)), START)
            self._at(now)
            limiter.consume("k")
        if chance.random() < 0.3:
            limiter.reserve("k", 1, chance.choice((1.0, 60.0)), chance.choice(("spent", "returned")))
        self._at(START)
        stored = testing.get(self.client, limiter.redis_key("k"))
        return None if stored is None else stored[0]

    def check(self, limiter: Any, policy: Policy, value: bytes) -> str:
        """What a damaged value does that none may."""
        key = limiter.redis_key("k")
        try:
            return self._waits(limiter, policy, key, value) or self._ends(limiter, policy, key, value)
        except quotalock.QuotalockError as error:
            return f"{error.code}: {error}"

    def _waits(self, limiter: Any, policy: Policy, key: bytes, value: bytes) -> str:
        """Nobody is denied for longer than the policy says, however often they ask."""
        testing.put(self.client, key, "string", value)
        self._at(START)
        first = limiter.consume("k")
        for place, (rule, says) in enumerate(zip(policy, first.rules, strict=True)):
            if not 0 <= says.remaining <= rule.capacity:
                return f"rules[{place}]: remaining {says.remaining}"
            if says.retry_after is None or not 0 <= says.retry_after * 1e6 <= most_wait(rule):
                return f"rules[{place}]: retry_after {says.retry_after}"
        if first.allowed or blocked(first):
            return ""
        now, again = START, first
        ends = START + max(most_wait(rule) for rule in policy)
        for _ in range(ASKED):
            now = min(ends, now + round(again.retry_after * 1e6))
            self._at(now)
            again = limiter.consume("k")
            if again.allowed:
                return ""
            if now == ends or again.retry_after is None:
                break
        self._at(ends)
        return "" if limiter.consume("k").allowed else f"denied for longer than {(ends - START) / 1e6} s"

    def _ends(self, limiter: Any, policy: Policy, key: bytes, value: bytes) -> str:
        """Once a call has seen it, it is over after the policy's time."""
        testing.put(self.client, key, "string", value)
        self._at(START)
        first = limiter.consume("k", 2**52)
        self._at(START + over(policy))
        after = limiter.peek("k")
        if blocked(first):
            return ""
        for place, (rule, says) in enumerate(zip(policy, after.rules, strict=True)):
            if (says.remaining, says.reset_after) != (rule.capacity, 0.0):
                return (
                    f"rules[{place}]: not as new in the end: {says.remaining} of {rule.capacity}, {says.reset_after} s"
                )
        return ""


def most_wait(rule: Rule) -> int:
    """The longest wait for one: with a count above the limit, up to when everything is over."""
    return longest(rule, rule.limit if rule.algorithm == "sliding-window" else 1)


def blocked(decision: Any) -> bool:
    """Whether the value has become that of a blocked key: a block lasts as long as somebody said."""
    waits = [rule.retry_after for rule in decision.rules]
    return decision.retry_after is not None and None not in waits and decision.retry_after > max(waits)
