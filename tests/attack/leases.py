"""Locks against what their guide says, in a time of its own: who holds, with which token, for how long.

Nobody waits, nothing is renewed, and times go forward. A table here is a list of grants for ever; those that are
neither over nor released hold.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import quotalock
from quotalock import testing
from stories import START

ALL = 2**31


@dataclass
class Grant:
    """A lease: of which handle, until when by the server, and of how many permits."""

    handle: int
    token: int
    until: int
    weight: int
    over: bool = False


class Table:
    """What is known of one name."""

    def __init__(self) -> None:
        self.grants: list[Grant] = []
        self.last = 0

    def holding(self, now: int) -> list[Grant]:
        """The grants that hold now."""
        return [grant for grant in self.grants if not grant.over and now < grant.until]


@dataclass
class Handle:
    """A handle of ours: what it is about, and until when it is certain."""

    real: Any
    about: str
    names: tuple[str, ...]
    ttl: int
    permits: int
    weight: int
    token: int | None = None
    certain: int = 0
    lost: bool = False

    def state(self, now: int) -> str:
        """What it must say of itself."""
        if self.token is None:
            return "released"
        return "held" if not self.lost and now < self.certain else "lost"


def certain(ttl: int) -> int:
    """For how long a grant is certain: its ttl less 1 % and 2 ms."""
    return ttl - ttl // 100 - 2_000


class Keeper:
    """Tells locks to one server."""

    def __init__(self, url: str, prefix: str) -> None:
        self.url, self.prefix = url, prefix
        self.client = quotalock.Client(url, prefix=prefix, timeout=30.0)
        self.seen: Counter[str] = Counter()

    def attack(self, seed: int) -> list[str]:
        """Some handles of some names; what went wrong."""
        return Locking(self, seed).told()


class Locking:
    """One story of locks."""

    def __init__(self, keeper: Keeper, seed: int) -> None:
        self.keeper, self.chance = keeper, random.Random(seed)
        self.now = START
        self.tables: dict[str, Table] = {}
        self.done: list[str] = []
        testing.set_time(keeper.client, self.now)
        self.handles = [self.handle(f"l{seed}") for _ in range(self.chance.randint(2, 6))]

    def handle(self, name: str) -> Handle:
        """A handle of any kind."""
        chance, client = self.chance, self.keeper.client
        ttl = chance.choice((10_000, 100_000, 1_000_000, 12_300_000, 60_000_000))
        options: dict[str, Any] = {"ttl": ttl / 1e6, "renew": False}
        if self.tables.get("kind") is None:
            self.kind = chance.choice(("lock", "semaphore", "rw"))
            self.permits = chance.choice((2, 3, 5))
            self.tables["kind"] = Table()
        if self.kind == "lock":
            names = tuple(f"{name}-{n}" for n in sorted(chance.sample(range(3), chance.choice((1, 1, 2, 3)))))
            real = client.lock(names[0], **options) if len(names) == 1 else client.lock_all(names, **options)
            return Handle(real, "lock", names, ttl, 1, 1)
        if self.kind == "semaphore":
            weight = chance.randint(1, self.permits)
            real = client.semaphore(name, self.permits, weight, **options)
            return Handle(real, "semaphore", (name,), ttl, self.permits, weight)
        if chance.random() < 0.6:
            return Handle(client.read_lock(name, **options), "read", (name,), ttl, ALL, 1)
        return Handle(client.write_lock(name, **options), "write", (name,), ttl, ALL, ALL)

    def told(self) -> list[str]:
        """Acquires, releases and extends by chance until something is wrong."""
        for _ in range(self.chance.randint(10, 60)):
            wait = self.chance.choice((0, 0, 0, 1_000, 5_000, 100_000, 999_000, 1_000_000, 12_000_000, 60_000_000))
            self.now += wait
            testing.set_time(self.keeper.client, self.now)
            self.keeper.seen["steps"] += 1
            place = self.chance.randrange(len(self.handles))
            handle = self.handles[place]
            ops = (self.acquire, self.release, self.extend, self.force, self.inspect)
            op = self.chance.choices(ops, (50, 25, 12, 6, 10))[0]
            self.done.append(
                f"at {self.now} {op.__name__} {place}: {handle.about} {handle.names} {handle.ttl} {handle.weight}"
            )
            wrong = op(place, handle) or self.look()
            if wrong:
                return [f"{wrong}\n  " + "\n  ".join(self.done)]
        return []

    def table(self, name: str) -> Table:
        """What is known of a name."""
        return self.tables.setdefault(name, Table())

    def acquire(self, place: int, handle: Handle) -> str:
        """All names or none, with one token that is larger than all before."""
        state = handle.state(self.now)
        if state == "held":
            try:
                handle.real.acquire()
            except quotalock.InvalidArgument:
                return ""
            return "a handle that holds acquired again"
        if state == "lost":
            self.release(place, handle)
        tables = [self.table(name) for name in handle.names]
        free = all(
            sum(grant.weight for grant in table.holding(self.now)) + handle.weight <= handle.permits for table in tables
        )
        real = handle.real.acquire()
        if real is not free:
            return f"acquire: the server says {real}, the model {free}"
        if free:
            token = max(self.now, *(table.last + 1 for table in tables))
            for table in tables:
                table.last = token
                table.grants.append(Grant(place, token, self.now + handle.ttl, handle.weight))
            handle.token, handle.certain, handle.lost = token, self.now + certain(handle.ttl), False
        return ""

    def mine(self, place: int, handle: Handle) -> list[Grant]:
        """The grants that a handle has at the server, of each name that it has one of."""
        return [
            grant for name in handle.names for grant in self.table(name).holding(self.now)
            if grant.handle == place and grant.token == handle.token
        ]  # fmt: skip

    def release(self, place: int, handle: Handle) -> str:
        """True if it was held until now, for all names; what the server still has is free in any case."""
        mine = self.mine(place, handle)
        model = handle.state(self.now) == "held" and len(mine) == len(handle.names)
        real = handle.real.release()
        for grant in mine:
            grant.over = True
        handle.token = None
        return "" if real is model else f"release: the server says {real}, the model {model}"

    def extend(self, place: int, handle: Handle) -> str:
        """Never shortens; false once it was lost."""
        ttl = self.chance.choice((handle.ttl, 10_000, 1_000_000, 60_000_000))
        self.done[-1] += f" by {ttl}"
        mine = self.mine(place, handle)
        model = handle.state(self.now) == "held" and len(mine) == len(handle.names)
        real = handle.real.extend(ttl / 1e6)
        if model:
            for grant in mine:
                grant.until = max(grant.until, self.now + ttl)
            handle.certain = max(handle.certain, self.now + certain(ttl))
        elif handle.state(self.now) == "held":
            handle.lost = True
        return "" if real is model else f"extend: the server says {real}, the model {model}"

    def force(self, place: int, handle: Handle) -> str:
        """Ends all leases of its names; who held one, also this handle, learns of it at its next call."""
        ended = [grant for name in handle.names for grant in self.table(name).holding(self.now)]
        real = handle.real.force_release()
        for grant in ended:
            grant.over = True
        return "" if real == len(ended) else f"force_release: the server says {real}, the model {len(ended)}"

    def inspect(self, place: int, handle: Handle) -> str:
        """Who holds the first of its names."""
        seen, table = handle.real.inspect(), self.table(handle.names[0])
        real = [(one.token, one.until, one.permits) for one in seen.holders]
        model = [(grant.token, grant.until / 1e6, grant.weight) for grant in table.holding(self.now)]
        if (real, seen.token) != (model, table.last):
            return f"inspect: the server says {real} and {seen.token}, the model {model} and {table.last}"
        return ""

    def look(self) -> str:
        """What every handle says of itself."""
        for place, handle in enumerate(self.handles):
            state = handle.state(self.now)
            left = (handle.certain - self.now) / 1e6 if state == "held" else 0.0
            real = (handle.real.state, handle.real.held, handle.real.token, handle.real.remaining)
            if real != (state, state == "held", handle.token, left):
                return f"handle {place}: says {real}, the model {(state, state == 'held', handle.token, left)}"
        return ""
