"""Checks what takers were told against the ledgers of the sales, which tell what was done.

A record is one answer to a taker, written at once since it may be killed at any time:
`proc`, `op` (`take`, `confirm`, `cancel`), `stock`, `buyer`, `request` (the request id), `outcome`: of a take `begun`
before it is made, then its own, or the code of an error; of the others `true`, `false` or the code of an error. Also
`reservation`, its id, where there is one. A taker that heard of an error asks again with the same request id.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]
ERRORS = {"unavailable", "timeout"}
OUTCOMES = {"held", "sold_out", "buyer_limit"}


@dataclass(frozen=True)
class Entry:
    """An entry of a ledger."""

    number: int
    kind: str
    reservation: str
    buyer: str
    quantity: int
    available: int
    held: int
    sold: int


@dataclass
class Report:
    """What a run shows; `problems` is empty if the promises were kept."""

    problems: list[str] = field(default_factory=list)
    # What was done, by the ledgers.
    kinds: Counter[str] = field(default_factory=Counter)
    # What takers were told, by operation and outcome.
    told: Counter[str] = field(default_factory=Counter)
    # Takes that were made and whose taker died before it was told.
    unheard: int = 0
    # Takes that were told once more that they hold what they had been given before.
    repeated: int = 0


def check(history: Iterable[Record], ledgers: Mapping[str, Sequence[Entry]], quantity: int, per_buyer: int) -> Report:
    """Checks all sales; each began with `quantity` units."""
    report = Report()
    done: dict[str, dict[str, str]] = {}
    for stock, entries in ledgers.items():
        done[stock] = _check_ledger(stock, entries, quantity, per_buyer, report)
    _check_told(list(history), ledgers, done, report)
    return report


def _check_ledger(
    stock: str, entries: Sequence[Entry], quantity: int, per_buyer: int, report: Report
) -> dict[str, str]:
    """Does the sums of a ledger again; returns what became of each reservation in the end."""
    state: dict[str, str] = {}
    buyers: Counter[str] = Counter()
    available, held, sold = quantity, 0, 0
    for number, entry in enumerate(entries, 1):
        report.kinds[entry.kind] += 1
        units, before = entry.quantity, state.get(entry.reservation)
        if entry.kind == "held":
            available, held = available - units, held + units
            buyers[entry.buyer] += units
        elif entry.kind == "confirmed":
            held, sold = held - units, sold + units
        elif entry.kind in ("cancelled", "expired"):
            available, held = available + units, held - units
            buyers[entry.buyer] -= units
        elif number > 1:
            report.problems.append(f"{stock}: an entry {entry.kind}")
        if entry.kind != "opened":
            if before != (None if entry.kind == "held" else "held"):
                report.problems.append(f"{stock}: {entry.reservation} is {entry.kind} after it was {before}")
            state[entry.reservation] = entry.kind
        if entry.number != number:
            report.problems.append(f"{stock}: entry {number} is missing")
            break
        if (entry.available, entry.held, entry.sold) != (available, held, sold) or min(available, held, sold) < 0:
            report.problems.append(f"{stock}: {available}, {held}, {sold} should be so many, the ledger says {entry}")
            break
        if buyers[entry.buyer] > per_buyer:
            report.problems.append(f"{stock}: {entry.buyer} has {buyers[entry.buyer]} units of {per_buyer}")
    return state


def _check_told(
    history: Sequence[Record],
    ledgers: Mapping[str, Sequence[Entry]],
    done: Mapping[str, dict[str, str]],
    report: Report,
) -> None:
    # By stock, buyer and request: the reservations it was told of, of which there may be one.
    requests: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    answered = set()
    owners: dict[str, tuple[str, str, str]] = {}
    settled: dict[str, set[str]] = defaultdict(set)
    for record in history:
        stock, outcome, op = record["stock"], record["outcome"], record["op"]
        request = (stock, record["buyer"], record["request"])
        report.told[f"{op} {outcome}"] += 1
        if op == "take":
            told = requests[request]
            if outcome == "held":
                report.repeated += bool(told)
                told.add(record["reservation"])
                answered.add(request)
                if owners.setdefault(record["reservation"], request) != request:
                    report.problems.append(f"{record['reservation']} was given to two requests")
            elif outcome in OUTCOMES:
                answered.add(request)
                if told:
                    report.problems.append(f"{request} was told {outcome} after it was told that it holds")
            elif outcome not in ERRORS | {"begun"}:
                report.problems.append(f"a take of {request} failed with {outcome}")
        elif outcome in ("true", "false"):
            settled[record["reservation"]].add(f"{op} {outcome}")
        elif outcome not in ERRORS:
            report.problems.append(f"{op} of {request} failed with {outcome}")
    for request, told in requests.items():
        if len(told) > 1:
            report.problems.append(f"{request} was charged {len(told)} times")
        for reservation in told - done[request[0]].keys():
            report.problems.append(f"{request} was told of {reservation}, which the ledger does not have")
    # What the ledger has and nobody was told of must be of requests whose taker died before it heard.
    waiting = Counter(request[:2] for request in requests if request not in answered)
    charged = Counter(
        (stock, entry.buyer)
        for stock, entries in ledgers.items()
        for entry in entries
        if entry.kind == "held" and entry.reservation not in owners
    )
    report.unheard = charged.total()
    for who, count in charged.items():
        if count > waiting[who]:
            report.problems.append(f"{who} was charged {count} times unheard, by {waiting[who]} takers who died")
    for reservation, outcomes in settled.items():
        became = done[owners[reservation][0]].get(reservation)
        for outcome, kind in (("confirm", "confirmed"), ("cancel", "cancelled")):
            if f"{outcome} true" in outcomes and became != kind:
                report.problems.append(f"{reservation} was told to be {kind}, and is {became}")
            if f"{outcome} false" in outcomes and became == kind:
                report.problems.append(f"{reservation} was told not to be {kind}, and is")
