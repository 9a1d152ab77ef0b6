"""What stays of a run: a table to read, and every figure as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path

from fleet import LIMIT, POLICY, Fleet
from onslaught import Onslaught
from sale_outcome import PER_BUYER, Sale

Row = list[str]


def table(header: Row, rows: list[Row]) -> str:
    """Sets a Markdown table that also lines up on a terminal: the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]

    def line(row: Row) -> str:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        return "| " + " | ".join(cells) + " |"

    rule = "|" + "-" * (widths[0] + 2) + "|" + "|".join("-" * (width + 1) + ":" for width in widths[1:]) + "|"
    return "\n".join([line(header), rule, *map(line, rows)]) + "\n"


def onslaught_table(broken: Onslaught, cured: Onslaught) -> str:
    """Compares the two limiters, a column for each."""
    rows = [
        ["seconds under load", f"{broken.length}", f"{cured.length}"],
        ["requests", f"{broken.total.requests:,}", f"{cured.total.requests:,}"],
        ["admitted", f"{broken.total.admitted:,}", f"{cured.total.admitted:,}"],
        ["denied", f"{broken.total.denied:,}", f"{cured.total.denied:,}"],
        ["dead for good after", _death(broken), _death(cured)],
        ["admitted after death", f"{broken.admitted_after_death}", "-"],
        ["key at the end", broken.last.describe_value(), cured.last.describe_value()],
        ["TTL at the end", broken.last.describe_ttl(), cured.last.describe_ttl()],
    ]
    return table(["acts 1 and 2", "SET NX PX, then DECR", "Quotalock"], rows)


def fleet_table(fleet: Fleet) -> str:
    """Shows what each language asked for and got, and whether the sum is what the policy says."""
    rows = [
        [language, *_sums(asked.total(), fleet.admitted[language].total())]
        for language, asked in fleet.requests.items()
    ]
    expected = fleet.expected.total()
    rows += [
        ["together", *_sums(sum(asked.total() for asked in fleet.requests.values()), fleet.total.total())],
        ["expected", *_sums(fleet.log.total(), expected)],
    ]
    hot = sum(count > LIMIT for count in fleet.log.values())
    return (
        table([f"act 3: {POLICY} per client", "requests", "admitted", "denied"], rows)
        + f"\n{len(fleet.log):,} clients, {hot} of them with more than {LIMIT} requests.\n"
        + f"Clients of whom more or fewer were admitted than the policy says: {len(fleet.wrong)}.\n"
    )


def sale_table(sale: Sale) -> str:
    """Shows what the buyers of each language were told, and who says that how much was sold."""
    outcomes = {"held": "held", "paid": "paid", "died": "died", "late": "too late"}
    outcomes |= {"sold_out": "sold out", "buyer_limit": "had 2 already"}
    rows = [
        [language, f"{sale.asked[language]:,}", *(f"{told[outcome]:,}" for outcome in outcomes)]
        for language, told in sale.told.items()
    ]
    together = sum(sale.told.values(), Counter())
    rows.append(["together", f"{sum(sale.asked.values()):,}", *(f"{together[outcome]:,}" for outcome in outcomes)])
    most = max(sale.per_buyer.values(), default=0)
    return (
        table([f"act 4: {sale.buyers:,} buyers", "asked", *outcomes.values()], rows)
        + f"\nSold of {sale.quantity}: {sale.last.sold} by Redis, {len(sale.ledger)} by its ledger,"
        + f" {len(sale.orders)} in the shop's database.\n"
        + f"Died before hearing that they had bought: {sale.unheard}. The most of one buyer: {most} of {PER_BUYER}.\n"
        + f"Holds that returned by themselves: {sale.kinds['expired']}.\n"
    )


def as_json(window_ms: int, broken: Onslaught, cured: Onslaught, fleet: Fleet, sale: Sale) -> str:
    """Holds every figure of the run."""
    return json.dumps(
        {
            "window_ms": window_ms,
            "broken": _figures(broken),
            "quotalock": _figures(cured),
            "fleet": {
                "policy": POLICY,
                "clients": len(fleet.log),
                "requests": {language: asked.total() for language, asked in fleet.requests.items()},
                "admitted": {language: admitted.total() for language, admitted in fleet.admitted.items()},
                "expected": fleet.expected.total(),
                "wrong": fleet.wrong,
            },
            "sale": {
                "quantity": sale.quantity,
                "buyers": sale.buyers,
                "asked": sale.asked,
                "told": sale.told,
                "changes": sale.kinds,
                "sold": sale.last.sold,
                "sold_by_ledger": len(sale.ledger),
                "orders": len(sale.orders),
                "paid": len(sale.paid),
                "most_of_a_buyer": max(sale.per_buyer.values(), default=0),
                "redis_away": sale.away,
                "events": [dataclasses.asdict(event) for event in sale.events],
            },
        },
        indent=2,
    )


def write(folder: Path, files: dict[str, str]) -> None:
    """Writes the files into a folder, which is made when it isn't there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")


def _sums(requests: int, admitted: int) -> Row:
    return [f"{requests:,}", f"{admitted:,}", f"{requests - admitted:,}"]


def _death(act: Onslaught) -> str:
    return "never" if act.dead_after is None else f"{act.dead_after:.2f} s"


def _figures(act: Onslaught) -> dict[str, object]:
    return {
        "length_s": act.length,
        "requests": act.total.requests,
        "admitted": act.total.admitted,
        "denied": act.total.denied,
        "other": act.total.other,
        "dead_after_s": act.dead_after,
        "admitted_after_death": act.admitted_after_death,
        "ttl_ms_at_end": act.last.ttl_ms,
        "value_at_end": act.last.describe_value(),
        "per_second": [dataclasses.asdict(second) for second in act.seconds],
    }
