"""Executes what decisions tell over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
import quotalock
import spec
from spec import Case
from surface import Surface

# Where no server is.
NOBODY = "redis://127.0.0.1:1"


def execute(surface: Surface, url: str, prefix: str, case: Case) -> None:
    """Executes a case."""
    where, how = (NOBODY, {"on_error": case["away"]}) if "away" in case else (url, {"timeout": 10.0})
    client = surface.module.Client(where, prefix=prefix, **how)
    limiters = {
        name: client.limiter(name, limiter["policy"], enforce=limiter.get("enforce", True))
        for name, limiter in case["limiters"].items()
    }
    for number, step in enumerate(case["steps"]):
        surface.call(surface.testing.set_time, client, step["at"])
        check(f"{case['id']} step {number}", step, decided(surface, client, limiters, step))
    surface.call(client.close)


def decided(surface: Surface, client: Any, limiters: dict[str, Any], step: Case) -> Any:
    if step["op"] == "consume_all":
        charges = [(limiters[charge["limiter"]], charge["key"], charge["cost"]) for charge in step["charges"]]
        decision = surface.call(client.consume_all, charges)
        assert [each.name for each in decision.decisions] == [charge["limiter"] for charge in step["charges"]]
        return decision
    limiter = limiters[step["limiter"]]
    if step["op"] == "block":
        return surface.call(limiter.block, step["key"], step["duration"] / 1e6)
    decision = surface.call(getattr(limiter, step["op"]), step["key"], step["cost"])
    assert decision.name == step["limiter"]
    return decision


def check(place: str, step: Case, decision: Any) -> None:
    for wanted in step.get("headers", []):
        how = {name: wanted[name] for name in ("syntax", "legacy") if name in wanted}
        if "error" in wanted:
            assert refused(lambda how=how: decision.headers(**how)) == wanted["error"], place
        else:
            assert [list(field) for field in decision.headers(**how).items()] == wanted["expect"], place
    problem = step.get("problem", {})
    if "error" in problem:
        assert refused(decision.problem) == problem["error"], place
    elif problem:
        assert list(decision.problem().items()) == list(problem.items()), place
    for rule, expected in zip(decision.rules if "rules" in step else (), step.get("rules", ()), strict=True):
        assert [rule.algorithm, rule.quota, rule.period, rule.capacity] == [
            expected[0],
            expected[1],
            spec.seconds(expected[2]),
            expected[3],
        ], place


def refused(call: Any) -> str:
    """The code of the error that a call raises."""
    with pytest.raises(quotalock.QuotalockError) as caught:
        call()
    return caught.value.code
