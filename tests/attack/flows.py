"""Two ways to count without windows, and their definitions."""

from __future__ import annotations

from fractions import Fraction

from counts import Count
from rules import Rule


class SlidingLog(Count):
    """Every admission with its time; those in `(now - period, now]` count. One of the future is of now.

    Question: does a log that is added to a policy with another log start at nothing? Answer: no, all logs of a policy
    have one history, and a new one begins with what the one with the longest memory counts. So `entries` are those of
    all, each with what was counted before it, and `gone` is how much of it is over for this rule.

    All policies of a name have one history. `last` is the time of its last entry, `asked` that of the last one when
    this rule's policy wrote last.
    """

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self.entries: list[tuple[int, int, int]] = []
        self.gone = 0
        self.times: dict[str, int] = {}
        self.last, self.asked = 0, 0

    def names(self) -> set[str]:
        return set(self.times)

    def beside(self, rule: Rule) -> SlidingLog:
        """A new rule's log, that begins with what this one counts."""
        made = self.copied()
        assert isinstance(made, SlidingLog)
        made.rule = rule
        return made

    def trim(self, kept: int) -> None:
        """Forgets what is over for every rule."""
        self.entries = [entry for entry in self.entries if entry[1] + entry[2] > kept]

    def stepped(self, now: int) -> bool:
        back = self.ahead(now)
        self.entries = [(min(time, now), amount, before) for time, amount, before in self.entries]
        self.times = {hold: min(time, now) for hold, time in self.times.items()}
        self.last = min(self.last, now)
        return self.late(now) or back

    def late(self, now: int) -> bool:
        """Whether the clock went back behind what its policy charged last: that is of now then."""
        back = self.asked > now and not self.empty()
        self.asked = min(self.asked, now)
        return back

    def kept(self, now: int) -> bool:
        return now < min(self.over(), self.asked + self.rule.period)

    def shorten(self) -> None:
        """Forgets what no call of its policy can need: what lies before as much as its limit."""
        total = sum(self.entries[-1][1:]) if self.entries else 0
        over = [before + amount for _, amount, before in self.entries if total - before - amount >= self.rule.limit]
        self.gone = max([self.gone, *over])

    def ahead(self, now: int) -> bool:
        return any(time > now for time, _, _ in self.entries)

    def settle(self, now: int) -> None:
        early = now - self.rule.period
        over = [before + amount for time, amount, before in self.entries if time <= early]
        self.gone = max([self.gone, *over])
        self.times = {hold: time for hold, time in self.times.items() if time > early}

    def _counted(self) -> list[tuple[int, int]]:
        found = [(time, min(amount, before + amount - self.gone)) for time, amount, before in self.entries]
        return [(time, left) for time, left in found if left > 0]

    def _total(self, at: int) -> int:
        return sum(amount for time, amount in self._counted() if time > at - self.rule.period)

    def fits(self, at: int, cost: int) -> bool:
        return self._total(at) + cost <= self.rule.limit

    def empty(self) -> bool:
        return not self._counted()

    def over(self) -> int:
        return max((time + self.rule.period for time, _ in self._counted()), default=0)

    def remaining(self, now: int) -> int:
        return max(0, self.rule.limit - self._total(now))

    def charge(self, now: int, amount: int, hold: str | None = None) -> None:
        self.entries.append((now, amount, sum(self.entries[-1][1:]) if self.entries else self.gone))
        self.last = now
        if hold:
            self.times[hold] = now

    def refund(self, now: int, amount: int) -> None:
        self.gone += min(amount, sum(left for _, left in self._counted()))
        if self.empty():
            self.times = {}

    def forget(self, hold: str) -> None:
        self.times.pop(hold, None)


class TokenBucket(Count):
    """A bucket that is full again at `full`, a fraction of a microsecond.

    By another rate the tokens that were taken stay taken, and fill as fast as they now do; no bucket was emptier than
    empty at its last charge. A reservation gets back what the bucket has not filled again since it was charged.

    Question: what is a fraction of a microsecond by another rate? Answer: it is rounded up, to one that whole tokens of
    that rate have, maybe to the next one, or, of a long time, to a microsecond, up or down: stories allow each at each
    change.

    Question: whose tokens are filled first? Answer: those taken first. So each reservation has a moment at which its
    tokens are there again, which is when the bucket would have been full right after it.
    """

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self.full = Fraction(0)
        self.there: dict[str, Fraction] = {}

    def names(self) -> set[str]:
        return set(self.there)

    @staticmethod
    def interval(rule: Rule) -> Fraction:
        """The time for one token."""
        return Fraction(rule.period, rule.limit)

    def _most(self) -> Fraction:
        return self.charged + self.rule.capacity * self.interval(self.rule)

    def back(self, now: int) -> None:
        self.full = min(self.full, self._most())

    def carry(self, rule: Rule, more: int) -> None:
        last, times = self.charged, self.interval(rule) / self.interval(self.rule)
        if times == 1:
            return
        parts = self.interval(rule).denominator
        # That the time is rounded up to a microsecond stands for -1, down for -2.
        parts, more = (parts, more) if more >= 0 else (1, more + 1)
        self.full = last + Fraction(-(-(self.full - last) * times * parts // 1) + more, parts)
        self.there = {hold: last + max(Fraction(0), then - last) * times for hold, then in self.there.items()}

    def settle(self, now: int) -> None:
        self.full = min(self.full, self._most())
        if self.full <= now:
            self._fill()

    def fits(self, at: int, cost: int) -> bool:
        interval = self.interval(self.rule)
        return max(Fraction(0), self.full - at) + cost * interval <= self.rule.capacity * interval

    def empty(self) -> bool:
        return not self.full

    def over(self) -> int:
        return -(-self.full // 1)

    def remaining(self, now: int) -> int:
        return (self.rule.capacity - max(Fraction(0), self.full - now) / self.interval(self.rule)) // 1

    def charge(self, now: int, amount: int, hold: str | None = None) -> None:
        interval = self.interval(self.rule)
        self.full = min(max(self.full, Fraction(now)) + amount * interval, now + self.rule.capacity * interval)
        self.charged = now
        if hold:
            self.there[hold] = self.full

    def refund(self, now: int, amount: int | Fraction) -> None:
        self.full -= amount * self.interval(self.rule)
        if self.full <= now:
            self._fill()
        self.tell_emptied(now)

    def give_back(self, now: int, hold: str, estimate: int, amount: int) -> None:
        if hold in self.there and self.full > now:
            missing = max(Fraction(0), self.there[hold] - now) / self.interval(self.rule)
            self.refund(now, min(Fraction(amount), missing))

    def forget(self, hold: str) -> None:
        self.there.pop(hold, None)

    def _fill(self) -> None:
        self.full, self.there = Fraction(0), {}
