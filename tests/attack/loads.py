"""Caches and `once` against what their guides say, in a time of its own and with one caller at a time."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import quotalock
from quotalock import testing
from stories import START


class Broken(Exception):
    """What a loader raises."""


@dataclass
class Entry:
    """What a cache has for a key: a value and since when, and when a load failed, beside a stale value or not."""

    value: bytes | None = None
    since: int | None = None
    failed: int | None = None
    beside: bool = False


class Loader:
    """Tells caches and onces to one server."""

    def __init__(self, url: str, prefix: str) -> None:
        self.client = quotalock.Client(url, prefix=prefix, timeout=30.0)
        self.seen: Counter[str] = Counter()

    def attack(self, seed: int) -> list[str]:
        """One cache or one once; what went wrong."""
        return Caching(self, seed).told() if seed % 3 else Claiming(self, seed).told()


class Telling:
    """What both have: a time, and what was done."""

    def __init__(self, loader: Loader, seed: int) -> None:
        self.loader, self.chance = loader, random.Random(seed)
        self.now = START
        self.done: list[str] = []

    def steps(self, ops: tuple[Callable[[str], str], ...], waits: tuple[int, ...]) -> list[str]:
        """Does something by chance until it is wrong."""
        for _ in range(self.chance.randint(10, 50)):
            self.now += self.chance.choice(waits)
            testing.set_time(self.loader.client, self.now)
            self.loader.seen["steps"] += 1
            op, key = self.chance.choice(ops), self.chance.choice("kkkl")
            self.done.append(f"at {self.now} {op.__name__} {key}")
            if wrong := op(key):
                return [f"{wrong}\n  " + "\n  ".join(self.done)]
        return []


class Caching(Telling):
    """One cache."""

    def __init__(self, loader: Loader, seed: int) -> None:
        super().__init__(loader, seed)
        choice = self.chance.choice
        self.fresh, self.stale = choice((1_000, 1_000_000, 60_000_000)), choice((0, 1_000, 10_000_000))
        self.error_ttl = choice((0, 1_000_000))
        self.cache = loader.client.cache(f"c{seed}", self.fresh / 1e6, self.stale / 1e6, error_ttl=self.error_ttl / 1e6)
        self.entries = {key: Entry() for key in "kl"}
        self.done.append(f"fresh={self.fresh} stale={self.stale} error_ttl={self.error_ttl}")

    def told(self) -> list[str]:
        """Gets, puts, invalidates."""
        waits = (0, 0, 1, self.fresh - 1, self.fresh, self.stale, self.stale + 1, self.fresh // 2, 999_999, 1_000_000)
        return self.steps((self.get, self.get, self.get, self.put, self.invalidate, self.peek), waits)

    def age(self, entry: Entry) -> str:
        """Whether there is a value, and how it is."""
        if entry.since is None or self.now >= entry.since + self.fresh + self.stale:
            return "none"
        return "fresh" if self.now < entry.since + self.fresh else "stale"

    def get(self, key: str) -> str:
        """Loads what is not fresh, unless a load failed a short time ago: then what is stale, or an error."""
        entry, age = self.entries[key], self.age(self.entries[key])
        fails = self.chance.random() < 0.3
        value = None if self.chance.random() < 0.2 else f"v{self.chance.randrange(1_000)}".encode()
        called = False

        def load() -> bytes | None:
            nonlocal called
            called = True
            if fails:
                raise Broken
            return value

        real: bytes | str | None
        try:
            real = self.cache.get(key, load, 0.0)
        except Broken:
            real = "broken"
        except quotalock.LoadFailed:
            real = "failed"
        kept = entry.failed is not None and self.now < entry.failed + self.error_ttl
        kept = kept and (age != "none" or not entry.beside)
        loads = age != "fresh" and not kept
        model: bytes | str | None
        if loads:
            model = "broken" if fails else value
            if fails:
                entry.failed, entry.beside = self.now, age == "stale"
            else:
                self.entries[key] = Entry(value, self.now)
        else:
            model = "failed" if age == "none" else entry.value
        self.done[-1] += f" {age} fails={fails} value={value!r}"
        same = called is loads and real == model
        return "" if same else f"get: loaded {called} and {real!r}, the model {loads} and {model!r}"

    def put(self, key: str) -> str:
        """Is newer than all that was."""
        value = None if self.chance.random() < 0.2 else b"put"
        self.cache.put(key, value)
        self.entries[key] = Entry(value, self.now)
        return ""

    def invalidate(self, key: str) -> str:
        """Forgets."""
        model, real = self.age(self.entries[key]) != "none", self.cache.invalidate(key)
        self.entries[key] = Entry()
        return "" if real or not model else "invalidate: there was a value"

    def peek(self, key: str) -> str:
        """Shows what is there."""
        seen, entry, age = self.cache.peek(key), self.entries[key], self.age(self.entries[key])
        real = seen and (seen.value, seen.stale, seen.age)
        since = entry.since or 0
        model = None if age == "none" else (entry.value, age == "stale", (self.now - since) / 1e6)
        return "" if real == model else f"peek: the server says {real}, the model {model}"


class Claiming(Telling):
    """One once."""

    def __init__(self, loader: Loader, seed: int) -> None:
        super().__init__(loader, seed)
        self.ttl = self.chance.choice((1_000, 1_000_000, 86_400_000_000))
        self.once = loader.client.once(f"o{seed}", self.ttl / 1e6)
        self.known: dict[str, tuple[bytes | None, int]] = {}
        self.done.append(f"ttl={self.ttl}")

    def told(self) -> list[str]:
        """Claims, runs, releases."""
        return self.steps(
            (self.claim, self.claim, self.run, self.run, self.release), (0, 0, 1, self.ttl // 2, self.ttl - 1, self.ttl)
        )

    def first(self, key: str) -> tuple[bytes | None, int] | None:
        """What the first gave and when, while that is remembered."""
        found = self.known.get(key)
        return found if found and self.now < found[1] + self.ttl else None

    def claim(self, key: str) -> str:
        """True for the first, whose value the others get."""
        value = self.chance.choice((None, b"one", b"two"))
        real, before = self.once.claim(key, value), self.first(key)
        if before is None:
            self.known[key] = before = (value, self.now)
            first = True
        else:
            first = False
        model = (first, before[0], False, (self.now - before[1]) / 1e6, (before[1] + self.ttl - self.now) / 1e6)
        shown = (real.first, real.value, real.running, real.age, real.remaining)
        return "" if shown == model else f"claim: the server says {shown}, the model {model}"

    def run(self, key: str) -> str:
        """Runs for the first, unless that fails."""
        fails, value, ran = self.chance.random() < 0.3, self.chance.choice((None, b"ran")), False

        def function() -> bytes | None:
            nonlocal ran
            ran = True
            if fails:
                raise Broken
            return value

        real: bytes | str | None
        try:
            real = self.once.run(key, function, 0.0)
        except Broken:
            real = "broken"
        before = self.first(key)
        runs = before is None
        if before is None and not fails:
            self.known[key] = before = (value, self.now)
        model = before[0] if before else "broken"
        return "" if (ran, real) == (runs, model) else f"run: ran {ran} and {real!r}, the model {runs} and {model!r}"

    def release(self, key: str) -> str:
        """Forgets."""
        model, real = self.first(key) is not None, self.once.release(key)
        self.known.pop(key, None)
        return "" if real or not model else "release: there was something"
