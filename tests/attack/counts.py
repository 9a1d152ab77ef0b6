"""What one rule has counted: what the five ways to count have in common.

A count says whether it would admit a cost at a moment, by the definitions of the guide alone, and nothing about
waiting: how long a caller has to wait is looked for, by asking it about later moments. So nothing here repeats a
formula of the engine.

`seen` is the count as a call finds it, with the clock where it is and by the rule as it is now. It is a copy, which the
caller keeps or not. `holds` are the reservations whose estimate a count still has in it.
"""

from __future__ import annotations

from rules import Rule

LARGEST = 2**52


def alike(one: Rule, other: Rule) -> bool:
    """Whether two rules share a count: windows of one period, or buckets of one rate and capacity.

    Logs share their entries instead, whatever their rules say.
    """
    if one.algorithm != other.algorithm or one.algorithm == "sliding-log":
        return one == other
    if one.algorithm == "token-bucket":
        return one.period * other.limit == other.period * one.limit and one.capacity == other.capacity
    return one.period == other.period


class Count:
    """What one rule has counted.

    `rule` is the one that it was last kept by, `charged` the time of its last charge, `moved` whether the last look
    found what a denial must write down, `owed` what reservations give back that ended while another policy was asked.
    `given` is whether a rule of another policy began with it, which happens once, `emptied` when all of it was given
    back.

    Question: as of when does another rule take over what was counted? Answer: as of the last charge. Until a call
    writes that down, it may all be over when it would have been; that is `expires`.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.charged = 0
        self.moved = False
        self.given = False
        self.emptied = 0
        self.expires: int | None = None
        self.owed: list[tuple[str, int, int]] = []

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def seen(self, now: int, rule: Rule, writes: bool, more: int) -> Count:
        """As it is for a call now, by `rule`; `more` is how a bucket's new time is rounded."""
        found = self.copied()
        found.moved = found.stepped(now)
        found.expires = None
        if not alike(self.rule, rule):
            found.expires = None if writes else found.over()
            found.carry(rule, more)
            found.moved, found.given = True, False
        found.rule = rule
        had = found.holding()
        found.settle(now)
        if found.empty():
            found.emptied = 0
        found.moved = found.moved or (had and found.empty())
        for hold, estimate, amount in found.owed:
            found.give_back(now, hold, estimate, amount)
            found.forget(hold)
            found.moved = True
        found.owed = []
        return found

    def copied(self) -> Count:
        """A copy."""
        made = self.__class__.__new__(self.__class__)
        made.__dict__ |= {
            name: value.copy() if isinstance(value, (set, dict, list)) else value for name, value in vars(self).items()
        }
        return made

    def stepped(self, now: int) -> bool:
        """Whether the clock went back behind what is counted: that is of now then."""
        if not self.ahead(now):
            return False
        self.charged = now
        self.back(now)
        return True

    def ahead(self, now: int) -> bool:
        """Whether it was charged at a time that is still to come."""
        return self.charged > now and not self.empty()

    def admits(self, at: int, cost: int) -> bool:
        """Whether it would admit `cost` at a moment that is not before the last look."""
        if self.expires is not None and at >= self.expires:
            return cost <= self.rule.capacity
        return self.fits(at, cost)

    def retry_after(self, now: int, cost: int) -> int | None:
        """The first moment at which `cost` is admitted if nobody else calls, found by asking."""
        if self.admits(now, cost):
            return 0
        if cost > self.rule.capacity:
            return None
        late = 1
        while not self.admits(now + late, cost):
            late *= 2
        early = late // 2
        while late - early > 1:
            middle = (early + late) // 2
            early, late = (early, middle) if self.admits(now + middle, cost) else (middle, late)
        return late

    def reset_after(self, now: int) -> int:
        """How long until it is as new."""
        ends = self.over() if self.expires is None else min(self.over(), self.expires)
        return max(0, ends - now)

    def kept(self, now: int) -> bool:
        """Whether a call of another policy keeps it: until a period after it is over, or all of it was given back."""
        return self.ended() > 0 and now < self.ended() + self.rule.period

    def ended(self) -> int:
        """When it is or was as new; 0 if it counted nothing since long ago."""
        return self.over() or self.emptied

    def tell_emptied(self, now: int) -> None:
        """Something was given back."""
        if self.empty():
            self.emptied = now

    def begun(self) -> bool:
        """Whether it charged anything itself, so that another rule may begin with what it counts."""
        return True

    def owe(self, hold: str, estimate: int, amount: int) -> None:
        """A reservation ended, or was settled, while another policy was asked."""
        if hold in self.names():
            self.owed.append((hold, estimate, amount))

    def holding(self) -> bool:
        """Whether a reservation's estimate counts."""
        return bool(self.names())

    def names(self) -> set[str]:
        """The reservations whose estimate counts."""
        raise NotImplementedError

    def back(self, now: int) -> None:
        """The clock went back; most counts need not know more than the time of the last charge."""

    def carry(self, rule: Rule, more: int) -> None:
        """Takes over for a rule of another rate, as of the last charge."""
        raise NotImplementedError

    def settle(self, now: int) -> None:
        """Brings it to a moment."""
        raise NotImplementedError

    def fits(self, at: int, cost: int) -> bool:
        """What the definition says."""
        raise NotImplementedError

    def empty(self) -> bool:
        """Whether it is as new."""
        raise NotImplementedError

    def over(self) -> int:
        """When it is as new."""
        raise NotImplementedError

    def remaining(self, now: int) -> int:
        """What could be consumed now."""
        raise NotImplementedError

    def charge(self, now: int, amount: int, hold: str | None = None) -> None:
        """Counts `amount`, whatever the limit; `hold` is whose estimate it is."""
        raise NotImplementedError

    def refund(self, now: int, amount: int) -> None:
        """Gives back `amount` of what is counted, or all of it."""
        raise NotImplementedError

    def give_back(self, now: int, hold: str, estimate: int, amount: int) -> None:
        """Gives back `amount` of the `estimate` of a reservation, where that still counts."""
        if hold in self.names():
            self.refund(now, amount)

    def forget(self, hold: str) -> None:
        """A reservation is over: what it left is a cost like any other."""
        raise NotImplementedError
