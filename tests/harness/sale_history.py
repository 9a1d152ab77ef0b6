"""Checks what takers were told against the ledgers of the sales, which tell what was done.

A record is one answer to a taker, written at once since it may be killed at any time:
`proc`, `op` (`take`, `confirm`, `cancel`, and of baskets the same with `_all`), `stocks`, `buyer`, `request` (the
request id), `outcome`: of a take `begun` before it is made, then its own, or the code of an error; of the others
`true`, `false` or the code of an error. Also `reservations`, the ids where there are some, one for each of the stocks.
A taker that heard of an error asks again with the same request id.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]
ERRORS = {"unavailable", "timeout"}
OUTCOMES = {"held", "sold_out", "buyer_limit"}
# So many letters of a reservation's id tell its take; all of a basket have the same.
TAKE = 21
# Stocks, buyer, request id.
Request = tuple[tuple[str, ...], str, str]


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
    # The reservations that each request was told of: once, one for each of its stocks.
    requests: dict[Request, set[tuple[str, ...]]] = defaultdict(set)
    answered = set()
    owners: dict[str, Request] = {}
    settled: dict[str, set[str]] = defaultdict(set)
    for record in history:
        outcome, op = record["outcome"], record["op"]
        request = (tuple(record["stocks"]), record["buyer"], record["request"])
        reservations = tuple(record.get("reservations", ()))
        report.told[f"{op} {outcome}"] += 1
        if op.startswith("take"):
            told = requests[request]
            if outcome == "held":
                report.repeated += bool(told)
                told.add(reservations)
                answered.add(request)
                for reservation in reservations:
                    if owners.setdefault(reservation, request) != request:
                        report.problems.append(f"{reservation} was given to two requests")
                if len(reservations) != len(request[0]):
                    report.problems.append(f"{request} was told of {len(reservations)} reservations")
            elif outcome in OUTCOMES:
                answered.add(request)
                if told:
                    report.problems.append(f"{request} was told {outcome} after it was told that it holds")
            elif outcome not in ERRORS | {"begun"}:
                report.problems.append(f"a take of {request} failed with {outcome}")
        elif outcome in ("true", "false"):
            for reservation in reservations:
                settled[reservation].add(f"{op} {outcome}")
        elif outcome not in ERRORS:
            report.problems.append(f"{op} of {request} failed with {outcome}")
    for request, told in requests.items():
        if len(told) > 1:
            report.problems.append(f"{request} was charged {len(told)} times")
        for reservations in told:
            _check_basket(request, reservations, done, report)
    _check_unheard(requests.keys() - answered, owners, ledgers, report)
    _check_settled(settled, owners, done, report)


def _check_basket(
    request: Request, reservations: Sequence[str], done: Mapping[str, dict[str, str]], report: Report
) -> None:
    """All that a request was told of was held, and sold as a whole or not at all."""
    became = {each: done[stock].get(each) for stock, each in zip(request[0], reservations, strict=False)}
    for reservation, kind in became.items():
        if kind is None:
            report.problems.append(f"{request} was told of {reservation}, which the ledger does not have")
    if 0 < sum(kind == "confirmed" for kind in became.values()) < len(became):
        report.problems.append(f"{request} was sold in part: {became}")


def _check_unheard(
    waiting: Iterable[Request], owners: Mapping[str, Request], ledgers: Mapping[str, Sequence[Entry]], report: Report
) -> None:
    """What ledgers have and nobody was told of must be of requests, as a whole, whose taker died before it heard."""
    stocks_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    for stock, entries in ledgers.items():
        for entry in entries:
            if entry.kind == "held" and entry.reservation not in owners:
                stocks_of[entry.buyer, entry.reservation[:TAKE]].add(stock)
    unheard = Counter((frozenset(stocks), buyer) for (buyer, _), stocks in stocks_of.items())
    died = Counter((frozenset(stocks), buyer) for stocks, buyer, _ in waiting)
    report.unheard = unheard.total()
    for (stocks, buyer), count in unheard.items():
        if count > died[stocks, buyer]:
            of = f"{buyer} was charged {count} times unheard of {sorted(stocks)}"
            report.problems.append(f"{of}, by {died[stocks, buyer]} takers who died")


def _check_settled(
    settled: Mapping[str, set[str]],
    owners: Mapping[str, Request],
    done: Mapping[str, dict[str, str]],
    report: Report,
) -> None:
    """What was told to be sold or returned is."""
    for reservation, outcomes in settled.items():
        places = (done[stock] for stock in owners[reservation][0])
        became = next((place[reservation] for place in places if reservation in place), None)
        for verb, kind in (("confirm", "confirmed"), ("cancel", "cancelled")):
            if outcomes & {f"{verb} true", f"{verb}_all true"} and became != kind:
                report.problems.append(f"{reservation} was told to be {kind}, and is {became}")
        # Of a basket that is over in part the rest is cancelled all the same.
        for kind, told in (("confirmed", {"confirm false", "confirm_all false"}), ("cancelled", {"cancel false"})):
            if outcomes & told and became == kind:
                report.problems.append(f"{reservation} was told not to be {kind}, and is")
