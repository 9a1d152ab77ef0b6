"""What one language does to a key is exactly what the next one finds."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from crew import Crew
from workers import Worker

POLICY = "9/1h;100/1d"
KEYS = [
    "user:42",
    "żółw/Ω/🐢",
    " with spaces\r\nand lines ",
    "{a}{b}%7B%",
    b"\x00\x01\xff\xfe{}%\x80",
    bytes(range(256)),
]


def decide(worker: Worker, op: str, key: str | bytes, **arguments: Any) -> Any:
    return worker.decide(op, "shared", POLICY, key, **arguments)


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_one_key_is_the_same_in_every_language(crew: Crew, key: str | bytes) -> None:
    for used, language in enumerate(crew, start=1):
        decision = decide(crew[language], "consume", key, cost=1)
        rules = [(rule["limit"], rule["remaining"]) for rule in decision["rules"]]
        assert (decision["allowed"], decision["source"]) == (True, "redis")
        assert rules == [(9, 9 - used), (100, 100 - used)], language
    for worker in crew.values():
        # Five are used and cost 6 is above what is left: charged to no rule, whoever asks.
        denied = decide(worker, "consume", key, cost=6)
        assert (denied["allowed"], [rule["remaining"] for rule in denied["rules"]]) == (False, [4, 95])
        assert denied["retry_after_ms"] == denied["reset_after_ms"] > 3_500_000


def test_refund_block_and_reset_are_seen_by_the_others(crew: Crew) -> None:
    for one, other in permutations(crew, 2):
        assert decide(crew[one], "consume", "k", cost=5)["remaining"] == 4
        assert decide(crew[other], "refund", "k", amount=2)["remaining"] == 6
        assert decide(crew[one], "peek", "k", cost=1)["remaining"] == 6
        decide(crew[other], "block", "k", duration_ms=60_000)
        blocked = decide(crew[one], "consume", "k", cost=1)
        assert not blocked["allowed"]
        assert 50_000 < blocked["retry_after_ms"] <= 60_000
        assert decide(crew[one], "reset", "k") is True
        assert decide(crew[other], "reset", "k") is False


def test_a_limiter_of_another_name_is_another_limit(crew: Crew) -> None:
    for language, worker in crew.items():
        assert worker.decide("consume", language, POLICY, "k", cost=9)["remaining"] == 0
