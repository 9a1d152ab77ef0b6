"""The checker of sales: each promise that is broken on purpose is told, and a good run is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sale_history import Entry, Record, check

LEDGER = [
    Entry(1, "opened", "", "", 3, 3, 0, 0),
    Entry(2, "held", "r1", "ann", 2, 1, 2, 0),
    Entry(3, "held", "r2", "bob", 1, 0, 3, 0),
    Entry(4, "confirmed", "r1", "ann", 2, 0, 1, 2),
    Entry(5, "expired", "r2", "bob", 1, 1, 0, 2),
]


def told(op: str, request: str, outcome: str, reservation: str = "") -> Record:
    buyer = {"1": "ann", "2": "bob", "3": "bob"}[request]
    record = {"proc": "x", "op": op, "stock": "s", "buyer": buyer, "request": request, "outcome": outcome}
    return record | ({"reservation": reservation} if reservation else {})


HISTORY = [
    told("take", "1", "begun"),
    told("take", "1", "unavailable"),
    told("take", "1", "held", "r1"),
    told("confirm", "1", "true", "r1"),
    told("take", "2", "begun"),
    told("take", "2", "held", "r2"),
    told("confirm", "2", "false", "r2"),
    told("take", "3", "begun"),
    told("take", "3", "sold_out"),
]


def problems(history: list[Record], ledger: list[Entry], per_buyer: int = 2) -> list[str]:
    return check(history, {"s": ledger}, 3, per_buyer).problems


def test_a_good_run_has_no_problem() -> None:
    assert problems(HISTORY, LEDGER) == []


def test_a_taker_may_die_before_it_hears() -> None:
    assert problems([each for each in HISTORY if each["request"] != "2" or each["outcome"] == "begun"], LEDGER) == []


@pytest.mark.parametrize(
    ("history", "ledger", "problem"),
    [
        (HISTORY, [*LEDGER[:3], *LEDGER[4:]], "entry 4 is missing"),
        (HISTORY, [*LEDGER[:4], replace(LEDGER[4], available=2)], "should be so many"),
        (HISTORY, [*LEDGER, Entry(6, "expired", "r2", "bob", 1, 2, -1, 2)], "r2 is expired after it was expired"),
        (HISTORY, [*LEDGER, Entry(6, "confirmed", "r2", "bob", 1, 1, -1, 3)], "r2 is confirmed after it was expired"),
        (HISTORY, [*LEDGER, Entry(6, "held", "r3", "ann", 1, 0, 1, 2)], "ann has 3 units of 2"),
        (HISTORY, [*LEDGER, Entry(6, "held", "r3", "bob", 1, 0, 1, 2)], "charged 1 times unheard, by 0"),
        ([*HISTORY, told("take", "1", "held", "r9")], LEDGER, "was charged 2 times"),
        ([*HISTORY, told("take", "3", "held", "r2")], LEDGER, "r2 was given to two requests"),
        ([*HISTORY, told("take", "1", "sold_out")], LEDGER, "was told sold_out after"),
        ([*HISTORY, told("confirm", "2", "true", "r2")], LEDGER, "was told to be confirmed, and is expired"),
        ([*HISTORY, told("confirm", "1", "false", "r1")], LEDGER, "was told not to be confirmed, and is"),
        ([*HISTORY, told("take", "3", "invalid_argument")], LEDGER, "failed with invalid_argument"),
    ],
)
def test_what_is_wrong_is_told(history: list[Record], ledger: list[Entry], problem: str) -> None:
    assert any(problem in each for each in problems(history, ledger)), problems(history, ledger)
