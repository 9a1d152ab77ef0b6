"""What one rule has counted, for each of the five ways to count, by the definitions of the guide alone.

A count says whether it would admit a cost at a moment, and nothing about waiting: how long a caller has to wait is
looked for, by asking it about later moments. So nothing here repeats a formula of the engine.

`seen` is the count as a call finds it: with the clock where it is now, by the rule as it is now. It is a copy, which
the caller keeps or not. `holds` are the reservations whose estimate the count still has in it.
"""

from __future__ import annotations

from fractions import Fraction

from rules import Rule

LARGEST = 2**52


class Count:
    """What the ways to count have in common. `rule` is the one that it was last seen by, `moved` whether the last look
    found what it must write down: a clock that stepped back, or another rule than before."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.moved = False

    def seen(self, now: int, rule: Rule) -> Count:
        """As it is for a call now, by `rule`."""
        found = self.copied()
        found.moved = False
        found.settle(now, rule)
        found.rule = rule
        return found

    def copied(self) -> Count:
        """A copy."""
        made = self.__class__.__new__(self.__class__)
        made.__dict__ |= {
            name: value.copy() if isinstance(value, (set, dict, list)) else value for name, value in vars(self).items()
        }
        return made

    def retry_after(self, now: int, cost: int) -> int | None:
        """The first moment at which `cost` is admitted if nobody else calls, found by asking."""
        if self.used(now, cost):
            return 0
        if cost > self.rule.capacity:
            return None
        late = 1
        while not self.used(now + late, cost):
            late *= 2
        early = late // 2
        while late - early > 1:
            middle = (early + late) // 2
            early, late = (early, middle) if self.used(now + middle, cost) else (middle, late)
        return late

    def used(self, at: int, cost: int) -> bool:
        """Whether it would admit `cost` at a moment that is not before the last look."""
        raise NotImplementedError

    def settle(self, now: int, rule: Rule) -> None:
        """Brings it to a moment and a rule."""
        raise NotImplementedError

    def empty(self) -> bool:
        """Whether it is as new."""
        raise NotImplementedError

    def remaining(self, now: int) -> int:
        """What could be consumed now."""
        raise NotImplementedError

    def reset_after(self, now: int) -> int:
        """How long until it is as new."""
        raise NotImplementedError

    def charge(self, now: int, amount: int, hold: str | None = None) -> None:
        """Counts `amount`, whatever the limit; `hold` is whose estimate it is."""
        raise NotImplementedError

    def refund(self, now: int, amount: int) -> None:
        """Gives back `amount` of what is counted, or all of it."""
        raise NotImplementedError

    def give_back(self, now: int, hold: str, estimate: int, amount: int) -> None:
        """Gives back `amount` of the `estimate` of a reservation, where that still counts."""
        raise NotImplementedError

    def ahead(self, now: int) -> bool:
        """Whether it was written at a time that is still to come."""
        return False

    def lasts(self, now: int) -> bool:
        """Whether it is carried on for a policy that is not the one that calls."""
        return not self.seen(now, self.rule).empty()

    def forget(self, hold: str) -> None:
        """A reservation is over: what it left is a cost like any other."""
        raise NotImplementedError


class FixedWindow(Count):
    """The first charge opens a window that ends a period later.

    A window of another period ends as it would have, or one new period from the call that finds it.

    Question: how far over its limit can a settlement bring a window? Answer: no count is above 2^52.
    """

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self.total, self.end = 0, 0
        self.holds: set[str] = set()

    def settle(self, now: int, rule: Rule) -> None:
        if now >= self.end:
            self._close()
        elif self.end > now + rule.period:
            self.end, self.moved = now + rule.period, True

    def used(self, at: int, cost: int) -> bool:
        return (self.total if at < self.end else 0) + cost <= self.rule.limit

    def empty(self) -> bool:
        return self.total == 0

    def remaining(self, now: int) -> int:
        return max(0, self.rule.limit - self.total)

    def reset_after(self, now: int) -> int:
        return self.end - now if self.total else 0

    def charge(self, now: int, amount: int, hold: str | None = None) -> None:
        if not self.total:
            self.end = now + self.rule.period
        self.total = min(self.total + amount, LARGEST)
        self.holds |= {hold} if hold else set()

    def refund(self, now: int, amount: int) -> None:
        self.total -= min(amount, self.total)
        if not self.total:
            self._close()

    def give_back(self, now: int, hold: str, estimate: int, amount: int) -> None:
        if hold in self.holds:
            self.refund(now, amount)

    def forget(self, hold: str) -> None:
        self.holds.discard(hold)

    def _close(self) -> None:
        self.total, self.end, self.holds = 0, 0, set()


class CalendarWindow(Count):
    """Windows begin at multiples of the period.

    What was counted in an old window that reaches into the one of now counts there; a window of the future stands for
    the one of now.
    """

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self.total, self.start = 0, 0
        self.holds: set[str] = set()

    def settle(self, now: int, rule: Rule) -> None:
        start = now - now % rule.period
        if self.total:
            if self.start <= now and self.start + self.rule.period <= start:
                self._close()
            else:
                self.moved = self.start > now or rule.period != self.rule.period
        self.start = start

    def used(self, at: int, cost: int) -> bool:
        total = self.total if at - at % self.rule.period <= self.start else 0
        return total + cost <= self.rule.limit

    def empty(self) -> bool:
        return self.total == 0

    def remaining(self, now: int) -> int:
        return max(0, self.rule.limit - self.total)

    def reset_after(self, now: int) -> int:
        return self.start + self.rule.period - now if self.total else 0

    def charge(self, now: int, amount: int, hold: str | None = None) -> None:
        self.total = min(self.total + amount, LARGEST)
        self.holds |= {hold} if hold else set()

    def refund(self, now: int, amount: int) -> None:
        self.total -= min(amount, self.total)
        if not self.total:
            self._close()

    def give_back(self, now: int, hold: str, estimate: int, amount: int) -> None:
        if hold in self.holds:
            self.refund(now, amount)

    def forget(self, hold: str) -> None:
        self.holds.discard(hold)

    def _close(self) -> None:
        self.total, self.holds = 0, set()


class SlidingWindow(Count):
    """The calendar's window of now, and the share of the one before that lies in the last period.

    Old windows of another period count in full in the new one that they reach into. Neither window counts more than
    the limit, so nobody waits for longer than full ones make wait.

    Question: what if a reservation of this window gives back more than the window still counts, since there was a
    refund or the limit was lowered? Answer: the rest comes from the window before, as of a refund.
    """

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self.start, self.current, self.previous = 0, 0, 0
        self.holds: set[str] = set()
        self.before: set[str] = set()

    def settle(self, now: int, rule: Rule) -> None:
        old, period = self.rule.period, rule.period
        start = now - now % period
        if not self.empty():
            if self.start > now:
                self.start, self.moved = now - now % old, True
            if old != period:
                self.moved = True
            current, previous, holds, before = 0, 0, set[str](), set[str]()
            for begin, count, of in (
                (self.start, self.current, self.holds),
                (self.start - old, self.previous, self.before),
            ):
                if begin + old > start:
                    current, holds = current + count, holds | of
                elif begin + old > start - period:
                    previous, before = previous + count, before | of
            self.current, self.previous = min(current, rule.limit), min(previous, rule.limit)
            self.holds, self.before = holds, before
        self.start = start

    def _at(self, at: int) -> tuple[int, int, int]:
        period = self.rule.period
        start = at - at % period
        gone = (start - self.start) // period
        current, previous = ((self.current, self.previous), (0, self.current), (0, 0))[min(gone, 2)]
        return current, previous, at - start

    def used(self, at: int, cost: int) -> bool:
        current, previous, into = self._at(at)
        period = self.rule.period
        return previous * Fraction(period - into, period) + current + cost <= self.rule.limit

    def empty(self) -> bool:
        return not self.current and not self.previous

    def remaining(self, now: int) -> int:
        current, previous, into = self._at(now)
        period = self.rule.period
        left = self.rule.limit - current - previous * Fraction(period - into, period)
        return max(0, left // 1)

    def reset_after(self, now: int) -> int:
        if self.empty():
            return 0
        return self.start + self.rule.period * (2 if self.current else 1) - now

    def charge(self, now: int, amount: int, hold: str | None = None) -> None:
        self.current = min(self.current + amount, self.rule.limit)
        self.holds |= {hold} if hold else set()

    def refund(self, now: int, amount: int) -> None:
        latest = min(amount, self.current)
        self.current -= latest
        self.previous -= min(amount - latest, self.previous)
        self._tidy()

    def give_back(self, now: int, hold: str, estimate: int, amount: int) -> None:
        if hold in self.holds:
            self.refund(now, amount)
        elif hold in self.before:
            self.previous -= min(amount, self.previous)
        self._tidy()

    def forget(self, hold: str) -> None:
        self.holds.discard(hold)
        self.before.discard(hold)

    def ahead(self, now: int) -> bool:
        return self.start > now

    def lasts(self, now: int) -> bool:
        """Question: when is a sliding window over that only another policy has? Answer: a period after its window."""
        return not self.empty() and now < self.start + 2 * self.rule.period

    def _tidy(self) -> None:
        if self.empty():
            self.holds, self.before = set(), set()


class SlidingLog(Count):
    """Every admission with its time; those in `(now - period, now]` count. One of the future is of now.

    Question: does a log that is added to a policy with another log start at nothing? Answer: no, all logs of a policy
    have one history, and a new one counts what of that is kept: what the longest of them still counted at the last
    write. So `entries` are those of all, each with what was counted before it, and `gone` is how much of it is over for
    this rule.
    """

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self.entries: list[tuple[int, int, int]] = []
        self.gone = 0
        self.holds: dict[str, int] = {}

    def beside(self, rule: Rule, kept: int) -> SlidingLog:
        """A new rule's log, that shares the history of this one."""
        made = SlidingLog(rule)
        made.entries, made.gone, made.holds = list(self.entries), kept, dict(self.holds)
        return made

    def trim(self, kept: int) -> None:
        """Forgets what is over for every rule."""
        self.entries = [entry for entry in self.entries if entry[1] + entry[2] > kept]

    def settle(self, now: int, rule: Rule) -> None:
        self.moved = any(time > now for time, _, _ in self.entries)
        self.entries = [(min(time, now), amount, before) for time, amount, before in self.entries]
        self.gone = max(
            [self.gone, *(before + amount for time, amount, before in self.entries if time <= now - rule.period)]
        )
        self.holds = {hold: min(time, now) for hold, time in self.holds.items() if time > now - rule.period}

    def _counted(self) -> list[tuple[int, int]]:
        found = []
        for time, amount, before in self.entries:
            left = min(amount, before + amount - self.gone)
            if left > 0:
                found.append((time, left))
        return found

    def _total(self, at: int) -> int:
        return sum(amount for time, amount in self._counted() if time > at - self.rule.period)

    def used(self, at: int, cost: int) -> bool:
        return self._total(at) + cost <= self.rule.limit

    def empty(self) -> bool:
        return not self._counted()

    def remaining(self, now: int) -> int:
        return max(0, self.rule.limit - self._total(now))

    def reset_after(self, now: int) -> int:
        return max((time for time, _ in self._counted()), default=now - self.rule.period) + self.rule.period - now

    def charge(self, now: int, amount: int, hold: str | None = None) -> None:
        self.entries.append((now, amount, sum(self.entries[-1][1:]) if self.entries else self.gone))
        if hold:
            self.holds[hold] = now

    def refund(self, now: int, amount: int) -> None:
        self.gone += min(amount, sum(left for _, left in self._counted()))
        if self.empty():
            self.holds = {}

    def give_back(self, now: int, hold: str, estimate: int, amount: int) -> None:
        if hold in self.holds:
            self.refund(now, amount)

    def ahead(self, now: int) -> bool:
        return any(time > now for time, _, _ in self.entries)

    def forget(self, hold: str) -> None:
        self.holds.pop(hold, None)


class TokenBucket(Count):
    """A bucket that is full again at `full`, a fraction of a microsecond.

    By another rate the tokens that were taken stay taken, and fill as fast as they now do; no bucket is emptier than
    empty. A reservation gets back what the bucket has not filled again since it was charged.

    Question: what is a fraction of a microsecond by another rate? Answer: it is rounded up, to a whole one.

    Question: whose tokens are filled first? Answer: those taken first. So each reservation has a moment at which its
    tokens are there again, which is when the bucket would have been full right after it.
    """

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self.full = Fraction(0)
        self.holds: dict[str, Fraction] = {}

    @staticmethod
    def interval(rule: Rule) -> Fraction:
        """The time for one token."""
        return Fraction(rule.period, rule.limit)

    def settle(self, now: int, rule: Rule) -> None:
        old, new = self.interval(self.rule), self.interval(rule)
        if self.full <= now:
            self._fill()
            return
        full = now + min((self.full - now) / old, Fraction(rule.capacity)) * new
        if old != new:
            full = min(Fraction(-(-full // 1)), now + rule.capacity * new)
            self.holds = {hold: now + max(Fraction(0), then - now) / old * new for hold, then in self.holds.items()}
        self.moved = old != new or full != self.full
        self.full = full

    def used(self, at: int, cost: int) -> bool:
        interval = self.interval(self.rule)
        return max(Fraction(0), self.full - at) + cost * interval <= self.rule.capacity * interval

    def empty(self) -> bool:
        return not self.full

    def remaining(self, now: int) -> int:
        return (self.rule.capacity - max(Fraction(0), self.full - now) / self.interval(self.rule)) // 1

    def reset_after(self, now: int) -> int:
        return max(0, -((now - self.full) // 1)) if self.full else 0

    def charge(self, now: int, amount: int, hold: str | None = None) -> None:
        interval = self.interval(self.rule)
        self.full = min(max(self.full, Fraction(now)) + amount * interval, now + self.rule.capacity * interval)
        if hold:
            self.holds[hold] = self.full

    def refund(self, now: int, amount: int | Fraction) -> None:
        self.full -= amount * self.interval(self.rule)
        if self.full <= now:
            self._fill()

    def give_back(self, now: int, hold: str, estimate: int, amount: int) -> None:
        if hold in self.holds and self.full > now:
            missing = max(Fraction(0), self.holds[hold] - now) / self.interval(self.rule)
            self.refund(now, min(Fraction(amount), missing))

    def forget(self, hold: str) -> None:
        self.holds.pop(hold, None)

    def _fill(self) -> None:
        self.full, self.holds = Fraction(0), {}


COUNTS: dict[str, type[Count]] = {
    "fixed-window": FixedWindow,
    "calendar-window": CalendarWindow,
    "sliding-window": SlidingWindow,
    "sliding-log": SlidingLog,
    "token-bucket": TokenBucket,
}
