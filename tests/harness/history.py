"""Checks the history of a load against what its policies promise, without knowing who was asked in which order.

Every call is known with the monotonic times before and after it, and the server decided at some moment between. From
that the checker derives only what is certain, so what it reports did happen:

* too many: the calls admitted in one window cost more than its limit.
* too few: a call was denied at a time when, whatever the order, its window had room; or a window that denied a call of
  cost 1 was not full to the limit.
* disorder: what the answers say was used cannot be put into one order, or a window lies where no window can be.

Windows are in the server's time. Each answer tells the end of its window (`reset_after`, rounded up to milliseconds),
and so an interval of monotonic time that holds it; answers about the same window share one end.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

MS = 1_000_000
Interval = tuple[int, int]


@dataclass(frozen=True)
class Rule:
    """At most `limit` in windows of `period` nanoseconds, aligned to the epoch or opened by their first call."""

    aligned: bool
    limit: int
    period: int


@dataclass(frozen=True)
class Call:
    """One call as one rule of its policy saw it."""

    cost: int
    invoke: int
    ok: int
    # Whether the whole policy admitted it; none if nobody knows.
    admitted: bool | None
    denied_here: bool = False
    remaining: int = 0
    # The interval in which the end of the window lies; none if there was no window.
    end: Interval | None = None


@dataclass
class Window:
    """The calls of one window; its end lies in `end`."""

    end: Interval
    calls: list[Call] = field(default_factory=list)


@dataclass
class Report:
    """What a history shows; `problems` is empty if the promise was kept."""

    problems: list[str] = field(default_factory=list)
    calls: int = 0
    windows: int = 0
    # Windows that denied a call of cost 1, and so must be full to the limit.
    full: int = 0


class WallClock:
    """The nanoseconds that the wall clock is ahead of the monotonic one, as an interval over the time of a test."""

    def __init__(self) -> None:
        self.low, self.high = 1 << 100, 0
        self.look()

    def look(self) -> None:
        """Takes one more measurement."""
        before = time.monotonic_ns()
        wall = time.time_ns()
        self.low = min(self.low, wall - time.monotonic_ns() - MS)
        self.high = max(self.high, wall - before + MS)


def parse(policy: str) -> list[Rule]:
    """Reads rules in the form `[algorithm] LIMIT/PERIODms`, which is all that the tests of histories use."""
    rules = []
    for rule in policy.split(";"):
        match = re.fullmatch(r"(?:(fixed-window|calendar-window) )?(\d+)/(\d+)ms", rule.strip())
        if match is None:
            raise ValueError(f"a history with {rule} cannot be checked: write it as 10/500ms")
        rules.append(Rule(match[1] == "calendar-window", int(match[2]), int(match[3]) * MS))
    return rules


def check(history: Iterable[dict[str, Any]], wall: WallClock) -> Report:
    """Checks all keys of a history."""
    report = Report()
    keys: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for record in history:
        keys[record["limiter"], record["policy"], record["key"]].append(record)
    for (limiter, policy, key), records in sorted(keys.items()):
        report.calls += len(records)
        for number, rule in enumerate(parse(policy)):
            where = f"{limiter} {policy} rule {number} key {bytes.fromhex(key)!r}"
            calls = sorted((_call(record, number) for record in records), key=lambda call: call.invoke)
            _Checker(rule, calls, wall, where, report).check()
    return report


def _call(record: dict[str, Any], number: int) -> Call:
    invoke, ok, cost = record["invoke_ns"], record["ok_ns"], record["cost"]
    if "error" in record:
        return Call(cost, invoke, ok, admitted=None)
    result = record["result"]
    rule = result["rules"][number]
    # What is denied from memory tells numbers that are a moment old: only that it had to be denied is certain.
    told = result.get("source") != "deny-cache"
    reset = rule["reset_after_ms"] if told else None
    # Rounded up: it was more than a millisecond less.
    end = (invoke + (reset - 1) * MS, ok + reset * MS) if reset else None
    # And only of the rule that binds: others may admit again by now.
    binds = told or rule["retry_after_ms"] == result["retry_after_ms"]
    return Call(cost, invoke, ok, result["allowed"], binds and not rule["allowed"], rule["remaining"], end)


class _Checker:
    """One rule of one key."""

    def __init__(self, rule: Rule, calls: Sequence[Call], wall: WallClock, where: str, report: Report) -> None:
        self.rule, self.calls, self.wall, self.where, self.report = rule, calls, wall, where, report
        # Of these nobody can say in which window they were charged, if at all.
        self.loose = [call for call in calls if call.admitted is None]

    def check(self) -> None:
        windows = self.aligned() if self.rule.aligned else self.opened()
        self.report.windows += len(windows)
        for window in windows:
            self.check_window(window)
        self.check_quiet()

    def problem(self, text: str, at: int) -> None:
        first = self.calls[0].invoke
        self.report.problems.append(f"{self.where}, {(at - first) / 1e9:.4f} s: {text}")

    def aligned(self) -> list[Window]:
        """Sorts the calls into calendar windows."""
        period, windows = self.rule.period, dict[int, Window]()
        for call in self.calls:
            if call.end is None:
                continue
            low, high = call.end[0] + self.wall.low, call.end[1] + self.wall.high
            first, last = -(-low // period), high // period
            if first > last:
                self.problem(f"a window ends {low % period / 1e9:.4f} s after a multiple of the period", call.invoke)
            elif first < last:
                self.loose.append(call)
            else:
                end = first * period
                windows.setdefault(first, Window((end - self.wall.high, end - self.wall.low))).calls.append(call)
        return [windows[number] for number in sorted(windows)]

    def opened(self) -> list[Window]:
        """Sorts the calls into windows by the ends that their answers tell."""
        period = self.rule.period
        windows: list[Window] = []
        wide = []
        known = [(call.end, call) for call in self.calls if call.end is not None]
        for end, call in sorted(known, key=lambda pair: sum(pair[0])):
            if end[1] - end[0] > period // 4:
                wide.append((end, call))
            elif windows and sum(end) // 2 - windows[-1].end[0] < period // 2:
                last = windows[-1]
                shared = (max(last.end[0], end[0]), min(last.end[1], end[1]))
                if shared[0] > shared[1]:
                    self.problem("two answers about one window tell different ends of it", call.invoke)
                else:
                    last.end = shared
                last.calls.append(call)
            else:
                windows.append(Window(end, [call]))
        for earlier, later in pairwise(windows):
            if later.end[1] < earlier.end[0] + period:
                self.problem("a window opened before the one before it had ended", later.calls[0].invoke)
        for end, call in wide:
            fitting = [window for window in windows if window.end[0] <= end[1] and end[0] <= window.end[1]]
            # Windows end at least a period apart, and what is known of an end is a quarter of it wide at most.
            if len(fitting) == 1 and end[1] - end[0] < period // 4 * 3:
                fitting[0].calls.append(call)
            else:
                self.loose.append(call)
        return windows

    def check_window(self, window: Window) -> None:
        limit = self.rule.limit
        admitted = sorted((c for c in window.calls if c.admitted), key=lambda c: -c.remaining)
        total = sum(call.cost for call in admitted)
        first = min(call.invoke for call in window.calls)
        if total > limit:
            self.problem(f"too many: {total} admitted of {limit}", first)
        began = window.end[0] - self.rule.period
        near = [c for c in self.loose if c.admitted is not False and c.invoke <= window.end[1] and c.ok >= began]
        if not near:
            self.check_order(admitted)
        by_ok = sorted((call.ok, call.cost) for call in admitted)
        by_invoke = sorted((call.invoke, call.cost) for call in [*admitted, *near])
        for call in window.calls:
            # A denied call sees all that was answered before it was made, and nothing that was made after its answer.
            least = sum(cost for _, cost in by_ok[: bisect_left(by_ok, (call.invoke, 0))])
            most = sum(cost for _, cost in by_invoke[: bisect_left(by_invoke, (call.ok, 0))])
            used = limit - call.remaining
            if call.denied_here and most + call.cost <= limit:
                self.problem(f"too few: cost {call.cost} denied with at most {most} of {limit} used", call.invoke)
            elif not least <= used <= most:
                self.problem(f"disorder: {used} used where {least} to {most} can be", call.invoke)
        if any(call.denied_here and call.cost == 1 for call in window.calls):
            self.report.full += 1
            if total < limit and not near:
                self.problem(f"too few: {total} admitted of {limit} in a window that denied a cost of 1", first)

    def check_order(self, admitted: Sequence[Call]) -> None:
        """Each admitted call tells what was used after it: together they must count up without gap or repetition."""
        used = latest = 0
        for call in admitted:
            used += call.cost
            if self.rule.limit - call.remaining != used:
                self.problem(f"disorder: {used} were used, an answer says {self.rule.limit - call.remaining}", call.ok)
                return
            if call.ok < latest:
                self.problem("disorder: a call was counted after one that was made later", call.ok)
            latest = max(latest, call.invoke)

    def check_quiet(self) -> None:
        """Whatever the answers say of windows: what was admitted a period ago must not deny."""
        charging = sorted((c for c in self.calls if c.admitted is not False), key=lambda c: c.ok)
        oks = [call.ok for call in charging]
        for call in self.calls:
            if not call.denied_here or call.cost > self.rule.limit:
                continue
            recent = charging[bisect_left(oks, call.invoke - self.rule.period) :]
            used = 0
            for other in recent:
                used += other.cost if other.invoke < call.ok else 0
                if used + call.cost > self.rule.limit:
                    break
            else:
                text = f"too few: cost {call.cost} denied with at most {used} of {self.rule.limit} used in a period"
                self.problem(text, call.invoke)
