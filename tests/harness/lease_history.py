"""Checks the history of a load with leases: no window admits more than its limit, no bucket more than its bound.

A permit that was taken ahead is spent without a call, so what an answer says of a window need not be so any more. What
is certain is when each call was made: one that lies within a window, from before it to after it, counts there. Windows
of the calendar are known from the clock, those that calls open from the ends that Redis told with its answers.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from history import MS, Rule, WallClock, parse

BUCKET = re.compile(r"token-bucket (\d+)/(\d+)ms capacity (\d+)")
SECOND = 1_000 * MS


@dataclass
class Report:
    """What a history shows; `problems` is empty if the promise was kept."""

    problems: list[str] = field(default_factory=list)
    calls: int = 0
    # How many were answered from permits that were taken ahead.
    leased: int = 0
    windows: int = 0
    # Windows of which next to nothing was left.
    full: int = 0


def check(history: Iterable[dict[str, Any]], wall: WallClock) -> Report:
    """Checks all keys of a history."""
    report = Report()
    keys: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for record in history:
        assert "error" not in record, record
        keys[record["limiter"], record["policy"], record["key"]].append(record)
        report.calls += 1
        report.leased += record["result"]["source"] == "lease"
    for (limiter, policy, key), records in sorted(keys.items()):
        where = f"{limiter} {policy} key {bytes.fromhex(key)!r}"
        if bucket := BUCKET.fullmatch(policy):
            limit, period_ms, capacity = map(int, bucket.groups())
            _check_bucket((limit, period_ms, capacity), records, where, report)
            continue
        for number, rule in enumerate(parse(policy)):
            _check_windows(rule, number, records, wall, where, report)
    return report


def _check_windows(
    rule: Rule, number: int, records: list[dict[str, Any]], wall: WallClock, where: str, report: Report
) -> None:
    spent: Counter[int] = Counter()
    opened = [] if rule.aligned else _opened(rule, number, records)
    for low, _, cost in opened:
        spent[low] = cost
    for record in records:
        invoke, ok = record["invoke_ns"], record["ok_ns"]
        if not record["result"]["allowed"]:
            continue
        if rule.aligned:
            first, last = (invoke + wall.low) // rule.period, (ok + wall.high) // rule.period
            spent[first] += record["cost"] if first == last else 0
        elif record["result"]["source"] == "lease":
            within = [low for low, high, _ in opened if high - rule.period <= invoke and ok <= low]
            spent.update(dict.fromkeys(within, record["cost"]))
    report.windows += len(spent)
    report.full += sum(cost > 0.9 * rule.limit for cost in spent.values())
    for cost in spent.values():
        if cost > rule.limit:
            report.problems.append(f"{where}: {cost} admitted in a window of {rule.limit}")


def _opened(rule: Rule, number: int, records: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    """Windows that calls have opened: between which moments each ends, and what Redis admitted of callers in it."""
    ends = []
    for record in records:
        reset = record["result"]["rules"][number]["reset_after_ms"]
        if record["result"]["source"] == "redis" and reset:
            cost = record["cost"] if record["result"]["allowed"] else 0
            # Rounded up: it was up to a millisecond less.
            low, high = record["invoke_ns"] + (reset - 1) * MS, record["ok_ns"] + reset * MS
            # An answer that took long may be about the window before or about the one after.
            if high - low <= rule.period // 4:
                ends.append((low, high, cost))
    windows: list[tuple[int, int, int]] = []
    for low, high, cost in sorted(ends, key=lambda end: end[0] + end[1]):
        if windows and low + high - sum(windows[-1][:2]) < rule.period:
            before = windows.pop()
            low, high, cost = max(before[0], low), min(before[1], high), before[2] + cost
        windows.append((low, high, cost))
    return windows


def _check_bucket(bucket: tuple[int, int, int], records: list[dict[str, Any]], where: str, report: Report) -> None:
    """At most the capacity, and what is filled in the time and in the life of a prefetch."""
    limit, period_ms, capacity = bucket
    prefetch = records[0]["prefetch"]
    period = period_ms * MS
    life = min(SECOND, prefetch * period // limit)
    admitted = sorted((r["invoke_ns"], r["ok_ns"], r["cost"]) for r in records if r["result"]["allowed"])
    # Of all stretches from one call to another the one with the most above the rate, each as long as it may have been.
    most = total = latest = 0
    lowest: int | None = None
    for invoke, ok, cost in admitted:
        begin = total * period - limit * invoke
        lowest = begin if lowest is None else min(lowest, begin)
        total, latest = total + cost, max(latest, ok)
        most = max(most, total * period - limit * latest - lowest)
    report.windows += 1
    if most > capacity * period + limit * life:
        report.problems.append(f"{where}: {most / period:.1f} admitted, where {capacity} and a lease's life may be")
