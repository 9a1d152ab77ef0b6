"""Checks the history of locks against what they promise, without knowing who was asked in which order.

Every call is known with the monotonic times before and after it, and a grant with the time until which its handle says
that it is certain. From that the checker derives only what is certain, so what it reports did happen:

* exclusion: more permits were certainly held at one moment than there are. A hold is certain from the answer of its
  acquire to its release, or to the deadline of its handle.
* token: a lock that was asked for after another's grant was answered got no larger token.
* lost early: an extension or a release found that the lock was lost, before the handle's deadline.
* liveness: whoever asked after the last fault was not granted in time.
* immortal: a key is left without a TTL.
* error: a call failed for another reason than that the server was out of reach.

A record is one call of a worker:
`proc`, `lane`, `grant` (a number of the lane, the same for all calls about one acquisition), `op` (`acquire`, `extend`,
`release`), `names`, `permits`, `weight`, `invoke_ns`, `done_ns`, `outcome` (`ok`, `no` or the code of an error),
`token` (of an acquire), `until_ns` (of an acquire or extend: the moment it was looked at plus what then remained, 0 if
nothing did), `held` (of a release: whether the handle said so just before). A release is also written before it is
made, as `begun`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]

EXPECTED = {"ok", "no", "begun", "unavailable", "timeout"}


@dataclass(frozen=True)
class Grant:
    """One acquisition that was granted, as far as it is certain."""

    about: str
    names: tuple[str, ...]
    weight: int
    permits: int
    token: int
    invoke: int
    ok: int
    # When it is certain no longer; not after `ok` if it never was.
    end: int


@dataclass(frozen=True)
class Problem:
    """A broken promise; `kind` is one of those named above."""

    kind: str
    about: str


@dataclass
class Report:
    """What a history shows; `problems` is empty if the promises were kept."""

    problems: list[Problem] = field(default_factory=list)
    grants: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def kinds(self) -> set[str]:
        """The kinds of promises that were broken."""
        return {problem.kind for problem in self.problems}

    def __str__(self) -> str:
        shown = [f"{problem.kind}: {problem.about}" for problem in self.problems[:10]]
        return f"{len(self.problems)} problems in {self.grants.total()} grants\n" + "\n".join(shown)


def check(history: Iterable[Record], *, server_remembers: bool = True) -> Report:
    """Checks all locks of a history; of a server that forgets, or whose clock leaps, only the tokens are promised."""
    report = Report()
    calls: dict[tuple[str, int, int], list[Record]] = defaultdict(list)
    for record in history:
        calls[record["proc"], record["lane"], record["grant"]].append(record)
        report.outcomes[f"{record['op']} {record['outcome']}"] += 1
        if record["outcome"] not in EXPECTED:
            about = f"{record['names']}, {record['proc']}: {record['op']} failed with {record['outcome']}"
            report.problems.append(Problem("error", about))
    grants = []
    for records in calls.values():
        records.sort(key=lambda record: record["invoke_ns"])
        if records[0]["op"] == "acquire" and records[0]["outcome"] == "ok":
            grants.append(_grant(records))
            report.grants[records[0]["proc"]] += 1
            if server_remembers:
                _check_lost_early(records, report)
    for name in sorted({name for grant in grants for name in grant.names}):
        mine = [grant for grant in grants if name in grant.names]
        if server_remembers:
            _check_exclusion(name, mine, report)
        _check_tokens(name, mine, report)
    return report


def _grant(records: Sequence[Record]) -> Grant:
    first = records[0]
    end = max(record.get("until_ns", 0) for record in records)
    for record in records:
        if record["op"] == "release":
            # A handle that says to be held at its release was held until then, renewed or not.
            end = record["invoke_ns"] if record["held"] else min(end, record["invoke_ns"])
    about = f"{first['proc']} lane {first['lane']} grant {first['grant']}"
    what = (tuple(first["names"]), first["weight"], first["permits"], first["token"])
    return Grant(about, *what, first["invoke_ns"], first["done_ns"], end)


def _check_lost_early(records: Sequence[Record], report: Report) -> None:
    until = 0
    for record in records:
        if record["op"] != "acquire" and record["outcome"] == "no" and record["done_ns"] < until:
            early = f"{(until - record['done_ns']) / 1e6:.3f} ms before its deadline"
            about = f"{record['names']}, {record['proc']}: {record['op']} found it lost {early}"
            report.problems.append(Problem("lost early", about))
        until = max(until, record.get("until_ns", 0))


def _check_exclusion(name: str, grants: Sequence[Grant], report: Report) -> None:
    """Goes through the beginnings and ends of certain holds in their order."""
    certain = [grant for grant in grants if grant.end > grant.ok]
    moments = [(grant.ok, 1, grant) for grant in certain] + [(grant.end, 0, grant) for grant in certain]
    # At one moment ends come first: that is no overlap.
    moments.sort(key=lambda moment: moment[:2])
    holders: dict[str, Grant] = {}
    used = 0
    for at, begins, grant in moments:
        if not begins:
            del holders[grant.about]
            used -= grant.weight
            continue
        holders[grant.about] = grant
        used += grant.weight
        if used > grant.permits:
            others = [other for other in holders.values() if other is not grant]
            latest = max(others, key=lambda other: other.end)
            for_ms = (min(latest.end, grant.end) - at) / 1e6
            about = (
                f"{name}: {used} of {grant.permits} held for {for_ms:.3f} ms, by {grant.about} beside {latest.about}"
            )
            report.problems.append(Problem("exclusion", about))


def _check_tokens(name: str, grants: Sequence[Grant], report: Report) -> None:
    """Goes through the grants in the order in which they were asked for, beside the largest token answered before."""
    answered = iter(sorted(grants, key=lambda grant: grant.ok))
    coming, largest = next(answered, None), None
    for grant in sorted(grants, key=lambda grant: grant.invoke):
        while coming is not None and coming.ok < grant.invoke:
            largest = coming if largest is None or coming.token > largest.token else largest
            coming = next(answered, None)
        if largest is not None and grant.token <= largest.token:
            about = f"{name}: {grant.about} got {grant.token} after {largest.about} had {largest.token}"
            report.problems.append(Problem("token", about))
    for token, times in Counter(grant.token for grant in grants).items():
        if times > 1:
            report.problems.append(Problem("token", f"{name}: {token} was given {times} times"))


def check_liveness(probes: Iterable[Record], within_ns: Callable[[Sequence[str]], int], report: Report) -> None:
    """Checks the calls of workers that began after the last fault: each acquire must be granted in time."""
    asked = 0
    for record in probes:
        if record["op"] != "acquire":
            continue
        asked += 1
        took, limit = record["done_ns"] - record["invoke_ns"], within_ns(record["names"])
        if record["outcome"] != "ok" or took > limit:
            how = f"{record['outcome']} after {took / 1e9:.3f} s, not {limit / 1e9:.3f} s"
            about = f"{record['names']}, {record['proc']}: {how}"
            report.problems.append(Problem("liveness", about))
    if not asked:
        report.problems.append(Problem("liveness", "nobody asked after the last fault"))


def check_immortals(ttls: Iterable[tuple[str, int]], report: Report) -> None:
    """Checks the keys that are left, each with its PTTL."""
    for key, ttl in ttls:
        if ttl == -1:
            report.problems.append(Problem("immortal", f"{key} has no TTL"))
