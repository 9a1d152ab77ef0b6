"""Settles accounts after a load: what its callers were told, beside what the servers remember of it.

A call was admitted, denied or failed, and of some that failed nobody knows whether they were counted. A call with a
request id may have been made several times; then the last answer is what its caller was told, and all count as one. If
that refuses the password, nobody knows of those before it that were cut off.

* twice: a server counts more than was admitted and is unknown. Something was executed that nobody asked for.
* forgotten: a server counts less than was admitted. After a failover, and then only, that may be.
* unknown: a call with a request id was never answered.
* error: a call failed in another way than it may.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]
# Limiter, policy and key, the last in hexadecimal.
Counted = tuple[str, str, str]

# What the message says of a call that may have been counted.
NOBODY_KNOWS = "may or may not have been counted"


@dataclass
class Account:
    """What happened to one key."""

    calls: int = 0
    admitted: int = 0
    # The costs of the calls of which nobody knows.
    unknown: int = 0
    # Those of them that have a request id.
    unanswered: int = 0


@dataclass
class Report:
    """What the accounts show; `problems` is empty if they are in order."""

    problems: list[str] = field(default_factory=list)
    calls: int = 0
    admitted: int = 0
    counted: int = 0
    unknown: int = 0
    # What was admitted and is remembered by no server.
    lost: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        facts = f"{self.calls} calls, {self.admitted} admitted, {self.unknown} unknown, {self.counted} counted"
        return "\n".join([f"{facts}, {self.lost} lost, errors {dict(self.errors)}", *self.problems[:10]])


def accounts(history: Iterable[Record]) -> dict[Counted, Account]:
    """What the callers were told, by what they asked for."""
    tries: defaultdict[object, list[Record]] = defaultdict(list)
    for number, record in enumerate(sorted(history, key=lambda record: record["invoke_ns"])):
        tries[record.get("request_id", number)].append(record)
    found: defaultdict[Counted, Account] = defaultdict(Account)
    for records in tries.values():
        last = records[-1]
        account = found[last["limiter"], last["policy"], last["key"]]
        account.calls += 1
        if "error" not in last:
            account.admitted += last["cost"] if last["result"]["allowed"] else 0
        # A refusal of the last says nothing of those before it.
        elif any(map(is_unknown, records)):
            account.unknown += last["cost"]
            account.unanswered += "request_id" in last and last["error"] != "not_permitted"
    return found


def is_unknown(record: Record) -> bool:
    """Whether a call failed, and nobody knows if it was counted."""
    return "error" in record and (record["error"] == "timeout" or NOBODY_KNOWS in record["message"])


def settle(
    history: Collection[Record],
    counted: Mapping[Counted, int],
    *,
    forgets: bool = False,
    errors: Collection[str] = (),
) -> Report:
    """Compares what was told with what is remembered. A server that `forgets` may count less; that is `lost`. A call
    without a request id may fail with one of the `errors`."""
    report = Report()
    for record in history:
        if "error" in record:
            report.errors[record["error"]] += 1
            if record["error"] not in errors:
                report.problems.append(f"error: {record['proc']} got {record['error']}: {record['message']}")
    for which, account in accounts(history).items():
        remembered = counted[which]
        most = account.admitted + account.unknown
        told = f"{which}: {remembered} counted, {account.admitted} admitted and {account.unknown} unknown"
        if remembered > most:
            report.problems.append(f"twice: {told}")
        if remembered < account.admitted and not forgets:
            report.problems.append(f"forgotten: {told}")
        if account.unanswered:
            report.problems.append(f"unknown: {account.unanswered} calls of {which} were never answered")
        report.calls += account.calls
        report.admitted += account.admitted
        report.unknown += account.unknown
        report.counted += remembered
        report.lost += max(0, account.admitted - remembered)
    return report
