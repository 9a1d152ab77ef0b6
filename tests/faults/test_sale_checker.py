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


def told(op: str, request: str, outcome: str, *reservations: str) -> Record:
    buyer = {"1": "ann", "2": "bob", "3": "bob"}[request]
    stocks = ["s", "t"] if op.endswith("_all") else ["s"]
    record = {"proc": "x", "op": op, "stocks": stocks, "buyer": buyer, "request": request, "outcome": outcome}
    return record | {"reservations": list(reservations)}


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
        (HISTORY, [*LEDGER, Entry(6, "held", "r3", "bob", 1, 0, 1, 2)], "charged 1 times unheard of ['s'], by 0"),
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


# Of one take: so many letters are the same.
S, T = "b" * 21 + "s", "b" * 21 + "t"
HELD = [Entry(1, "opened", "", "", 3, 3, 0, 0), Entry(2, "held", S, "ann", 1, 2, 1, 0)]
SOLD = Entry(3, "confirmed", S, "ann", 1, 2, 0, 1)
OVER = Entry(3, "expired", S, "ann", 1, 3, 0, 0)
BASKET = [
    told("take_all", "1", "begun"),
    told("take_all", "1", "held", S, T),
    told("confirm_all", "1", "true", S, T),
]


def basket_problems(history: list[Record], s: list[Entry], t: list[Entry]) -> list[str]:
    ledgers = {"s": s, "t": [replace(entry, reservation=entry.reservation and T) for entry in t]}
    return check(history, ledgers, 3, 2).problems


def test_a_good_basket_has_no_problem() -> None:
    assert basket_problems(BASKET, [*HELD, SOLD], [*HELD, SOLD]) == []
    assert basket_problems(BASKET[:2], [*HELD, OVER], [*HELD, OVER]) == []
    # Its taker died before it heard of it.
    assert basket_problems(BASKET[:1], [*HELD, OVER], [*HELD, OVER]) == []
    # One of it was over when it was cancelled.
    cancelled = replace(OVER, kind="cancelled")
    history = [*BASKET[:2], told("cancel_all", "1", "false", S, T)]
    assert basket_problems(history, [*HELD, cancelled], [*HELD, OVER]) == []


@pytest.mark.parametrize(
    ("history", "s", "t", "problem"),
    [
        (BASKET, [*HELD, SOLD], [*HELD, OVER], "was sold in part"),
        (BASKET[:2], [*HELD, SOLD], HELD, "was sold in part"),
        (BASKET[:2], HELD, HELD[:1], "which the ledger does not have"),
        (BASKET[:1], HELD, HELD[:1], "charged 1 times unheard of ['s'], by 0"),
        ([*BASKET[:1], told("take_all", "1", "sold_out")], HELD, HELD[:1], "unheard of ['s'], by 0"),
        ([*BASKET[:2], told("confirm_all", "1", "false", S, T)], [*HELD, SOLD], [*HELD, SOLD], "not to be confirmed"),
        ([BASKET[0], told("take_all", "1", "held", S)], HELD, HELD[:1], "was told of 1 reservations"),
    ],
)
def test_what_is_wrong_with_a_basket_is_told(
    history: list[Record], s: list[Entry], t: list[Entry], problem: str
) -> None:
    assert any(problem in each for each in basket_problems(history, s, t)), basket_problems(history, s, t)
