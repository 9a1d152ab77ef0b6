"""Three ways to count in windows, and their definitions."""

from __future__ import annotations

from fractions import Fraction

from counts import LARGEST, Count
from rules import Rule


class FixedWindow(Count):
    """The first charge opens a window that ends a period later.

    What a rule of another period begins with ends when its window does, and one new period after the last charge at
    most. The first charge opens a whole window of its own.

    Question: how far over its limit can a settlement bring a window? Answer: no count is above 2^52.
    """

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self.total, self.end = 0, 0
        self.holds: set[str] = set()

    def names(self) -> set[str]:
        return self.holds

    def back(self, now: int) -> None:
        self.end = min(self.end, now + self.rule.period)

    def carry(self, rule: Rule, more: int) -> None:
        self.end, self.charged = min(self.end, self.charged + rule.period), 0

    def begun(self) -> bool:
        return self.charged > 0

    def stepped(self, now: int) -> bool:
        if self.begun():
            return super().stepped(now)
        back = self.ahead(now)
        self.back(now)
        return back

    def ahead(self, now: int) -> bool:
        return super().ahead(now) or (not self.begun() and self.total > 0 and self.end > now + self.rule.period)

    def settle(self, now: int) -> None:
        if now >= self.end:
            self._close()

    def fits(self, at: int, cost: int) -> bool:
        return (self.total if at < self.end else 0) + cost <= self.rule.limit

    def empty(self) -> bool:
        return self.total == 0

    def over(self) -> int:
        return self.end if self.total else 0

    def remaining(self, now: int) -> int:
        return max(0, self.rule.limit - self.total)

    def charge(self, now: int, amount: int, hold: str | None = None) -> None:
        if not self.total or not self.begun():
            self.end = now + self.rule.period
        self.total = min(self.total + amount, LARGEST)
        self.charged = now
        self.holds |= {hold} if hold else set()

    def refund(self, now: int, amount: int) -> None:
        self.total -= min(amount, self.total)
        if not self.total:
            self._close()
        self.tell_emptied(now)

    def forget(self, hold: str) -> None:
        self.holds.discard(hold)

    def _close(self) -> None:
        self.total, self.end, self.charged, self.holds = 0, 0, 0, set()


class CalendarWindow(Count):
    """Windows begin at multiples of the period, and the count is of the one that the last charge lies in."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self.total = 0
        self.holds: set[str] = set()

    def names(self) -> set[str]:
        return self.holds

    def carry(self, rule: Rule, more: int) -> None:
        return

    def settle(self, now: int) -> None:
        if now >= self.over():
            self._close()

    def fits(self, at: int, cost: int) -> bool:
        return (self.total if at < self.over() else 0) + cost <= self.rule.limit

    def empty(self) -> bool:
        return self.total == 0

    def over(self) -> int:
        return self.charged - self.charged % self.rule.period + self.rule.period if self.total else 0

    def remaining(self, now: int) -> int:
        return max(0, self.rule.limit - self.total)

    def charge(self, now: int, amount: int, hold: str | None = None) -> None:
        self.total = min(self.total + amount, LARGEST)
        self.charged = now
        self.holds |= {hold} if hold else set()

    def refund(self, now: int, amount: int) -> None:
        self.total -= min(amount, self.total)
        if not self.total:
            self._close()
        self.tell_emptied(now)

    def forget(self, hold: str) -> None:
        self.holds.discard(hold)

    def _close(self) -> None:
        self.total, self.holds = 0, set()


class SlidingWindow(Count):
    """The calendar's window of the last charge, and the share of the one before that lies in the last period.

    Old windows of another period count in full in the new one that they reach into. Neither window is judged as more
    than the limit, so nobody waits for longer than full ones make wait.

    Question: what if a reservation of this window gives back more than the window still counts, since there was a
    refund? Answer: the rest comes from the window before, as of a refund.
    """

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self.current, self.previous = 0, 0
        self.holds: set[str] = set()
        self.before: set[str] = set()

    def names(self) -> set[str]:
        return self.holds | self.before

    @property
    def start(self) -> int:
        """When the window of the last charge begins."""
        return self.charged - self.charged % self.rule.period

    def carry(self, rule: Rule, more: int) -> None:
        old, period = self.rule.period, rule.period
        start = self.charged - self.charged % period
        current, previous, holds, before = 0, 0, set[str](), set[str]()
        windows = ((self.start, self.current, self.holds), (self.start - old, self.previous, self.before))
        for begin, count, of in windows:
            if begin + old > start:
                current, holds = current + count, holds | of
            elif begin + old > start - period:
                previous, before = previous + count, before | of
        self.current, self.previous, self.holds, self.before = current, previous, holds, before

    def settle(self, now: int) -> None:
        start = now - now % self.rule.period
        if start > self.start:
            gone = start > self.start + self.rule.period
            self.current, self.previous = 0, 0 if gone else self.current
            self.holds, self.before = set(), set() if gone else self.holds
            self.charged = start
        self._tidy()

    def _at(self, at: int) -> Fraction:
        period = self.rule.period
        start = at - at % period
        gone = min((start - self.start) // period, 2)
        one, other = min(self.current, self.rule.limit), min(self.previous, self.rule.limit)
        current, previous = ((one, other), (0, one), (0, 0))[gone]
        return current + previous * Fraction(period - (at - start), period)

    def fits(self, at: int, cost: int) -> bool:
        return self._at(at) + cost <= self.rule.limit

    def empty(self) -> bool:
        return not self.current and not self.previous

    def over(self) -> int:
        return 0 if self.empty() else self.start + self.rule.period * (2 if self.current else 1)

    def remaining(self, now: int) -> int:
        return max(0, (self.rule.limit - self._at(now)) // 1)

    def charge(self, now: int, amount: int, hold: str | None = None) -> None:
        self.current = min(self.current + amount, LARGEST)
        self.charged = now
        self.holds |= {hold} if hold else set()

    def refund(self, now: int, amount: int) -> None:
        latest = min(amount, self.current)
        self.current -= latest
        self.previous -= min(amount - latest, self.previous)
        self._tidy()
        self.tell_emptied(now)

    def give_back(self, now: int, hold: str, estimate: int, amount: int) -> None:
        if hold in self.holds:
            self.refund(now, amount)
        elif hold in self.before:
            self.previous -= min(amount, self.previous)
            self._tidy()
            self.tell_emptied(now)

    def forget(self, hold: str) -> None:
        self.holds.discard(hold)
        self.before.discard(hold)

    def _tidy(self) -> None:
        if self.empty():
            self.charged, self.holds, self.before = 0, set(), set()
