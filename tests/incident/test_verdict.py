"""The demo fails when a run does not show what it must: each fault is planted in figures that are otherwise good."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import verdict
from accesslog import Count
from fleet import LIMIT, Fleet
from onslaught import Onslaught
from rediskey import Look
from sale import LANGUAGES
from sale_outcome import Numbers, Sale

ALIVE = Look(b"QL\1", 80)
DEAD = Look(b"-37412", -1)

BROKEN = Onslaught(3, [Count(5, 100), Count(0, 100), Count(0, 100)], 0.5, 0, True, DEAD)
OURS = Onslaught(3, [Count(10, 100), Count(9, 100), Count(10, 100)], last=ALIVE)


def fleet(*admitted: int, asked: int = 3 * LIMIT) -> Fleet:
    return Fleet(
        {language: Counter({"10.0.0.1": LIMIT}) for language in LANGUAGES},
        {language: Counter({"10.0.0.1": count}) for language, count in zip(LANGUAGES, admitted, strict=True)},
        Counter({"10.0.0.1": asked}),
    )


def test_a_good_run_has_no_complaint() -> None:
    assert verdict.complaints(BROKEN, OURS, fleet(5, 5, 10), 10) == []


@pytest.mark.parametrize(
    ("broken", "ours", "shared", "complaint"),
    [
        (replace(BROKEN, admitted_after_death=1), OURS, fleet(5, 5, 10), "act 1: the broken limiter came back"),
        (replace(BROKEN, last=ALIVE), OURS, fleet(5, 5, 10), "act 1: the broken limiter came back"),
        (BROKEN, replace(OURS, ever_immortal=True), fleet(5, 5, 10), "act 2: our key was seen without a TTL"),
        (BROKEN, replace(OURS, seconds=[Count(10), Count(0, 9), Count(10)]), fleet(5, 5, 10), "in seconds [2]"),
        (BROKEN, replace(OURS, seconds=[Count(10), Count(12), Count(10)]), fleet(5, 5, 10), "32 were admitted in 3 s"),
        (BROKEN, replace(OURS, seconds=[Count(9, 9, 1)] * 3), fleet(5, 5, 10), "3 answers were neither 200 nor 429"),
        (BROKEN, OURS, fleet(5, 5, 11), "10.0.0.1 was admitted 21 times, not 20"),
        (BROKEN, OURS, fleet(5, 5, 9), "10.0.0.1 was admitted 19 times, not 20"),
        (BROKEN, OURS, fleet(0, 10, 10), "nothing was admitted in PHP"),
        (BROKEN, OURS, fleet(5, 5, 10, asked=61), "did not ask for exactly what the log holds"),
    ],
)
def test_a_fault_is_told(broken: Onslaught, ours: Onslaught, shared: Fleet, complaint: str) -> None:
    (told,) = verdict.complaints(broken, ours, shared, 10)
    assert complaint in told


SOLD = {f"r{number}": f"buyer-{number // 2}" for number in range(4)}


def sale(**fault: object) -> Sale:
    good = Sale(4, 40, told={language: Counter(paid=2) for language in LANGUAGES}, paid=dict(list(SOLD.items())[:3]))
    good = replace(good, numbers=[Numbers(0, 4, 0, 0), Numbers(1, 0, 0, 4)], ledger=SOLD, orders=SOLD)
    return replace(good, **fault)  # type: ignore[arg-type]


def test_a_good_sale_has_no_complaint() -> None:
    assert verdict.of_sale(sale()) == []


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (sale(failures=["PHP: oh"]), "PHP: oh"),
        (sale(gaps=2), "2 entries of the ledger are missing"),
        (sale(numbers=[Numbers(0, 4, 0, 1), Numbers(1, 0, 0, 4)]), "were not 4 together"),
        (sale(numbers=[Numbers(1, 1, 0, 3)]), "3 were sold, 4 by the ledger, not 4"),
        (sale(orders=SOLD | {"r9": "buyer-9"}), "differ in 1 orders"),
        (sale(paid={"r9": "buyer-9"}), "1 buyers were told that they had bought"),
        (sale(ledger=SOLD | {"r3": "buyer-0"}, orders=SOLD | {"r3": "buyer-0"}), "buyer-0 bought 3, not 2 at most"),
        (sale(told={"PHP": Counter(died=1)}), "nothing was sold in PHP"),
    ],
)
def test_a_fault_of_the_sale_is_told(wrong: Sale, complaint: str) -> None:
    (told,) = verdict.of_sale(wrong)
    assert complaint in told
