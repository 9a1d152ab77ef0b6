"""Replays the published cases of limiters through the oracle: it must agree with every number of theirs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from oracle import Limiter, Oracle
from rules import AllSays, Says, parse

VECTORS = Path(__file__).resolve().parents[1] / "spec/vectors"
FILES = (
    "fixed-window", "calendar-window", "sliding-window", "token-bucket", "sliding-log", "several-rules", "several-keys",
    "requests", "reservations", "up-to", "shadow", "changed-policies", "published", "healing",
)  # fmt: skip
RULE = ("allowed", "limit", "remaining", "retry_after", "reset_after")


def shown(answer: Says) -> dict[str, Any]:
    """An answer as the vectors write it."""
    fields = {field: getattr(answer, field) for field in (*RULE, "would_deny", "cost", "healed")}
    return fields | {"rules": [{field: getattr(rule, field) for field in RULE} for rule in answer.rules]}


def shown_all(answer: AllSays) -> dict[str, Any]:
    """An answer about several keys as the vectors write it."""
    fields = {field: getattr(answer, field) for field in ("allowed", "would_deny", "binding", "retry_after")}
    return fields | {"decisions": [shown(decision) for decision in answer.decisions]}


class Case:
    """One case and the oracle that it is replayed through."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.oracle = Oracle()
        self.limiters = {None: Limiter("main", parse(case["policy"]))}
        for label, more in case.get("limiters", {}).items():
            name = "main" if more.get("name") == "main" else label
            self.limiters[label] = Limiter(name, parse(more["policy"]), more.get("scope"), more.get("enforce", True))
        self.steps = case["steps"]

    def perform(self, step: dict[str, Any]) -> Any:
        """What the oracle says about a step; None for a step that is about bytes."""
        oracle, op, now = self.oracle, step["op"], step["at"]
        limiter = self.limiters[step.get("limiter")]
        key, request = step.get("key", step.get("key_hex", "")), step.get("request")
        if op == "consume_all":
            charges = [
                (self.limiters[one.get("limiter")], one.get("key", one.get("key_hex", "")), one["cost"])
                for one in step["charges"]
            ]
            return shown_all(oracle.consume_all(charges, now, request))
        if op == "plant":
            place = limiter.at(key)
            # An empty value counts as a missing key.
            oracle.states.forget(place) if step.get("value") == "" else oracle.states.plant(place)
            return None
        if op in ("persist", "raw"):
            return None
        if op in ("settle", "cancel"):
            return {"settled": oracle.settle(limiter, key, step["reservation"], step.get("actual", 0), now)}
        if op == "reset":
            return {"existed": oracle.reset(limiter, key, now)}
        answer: Says
        if op == "consume":
            answer = oracle.consume(limiter, key, step["cost"], now, request)
        elif op == "peek":
            answer = oracle.peek(limiter, key, step["cost"], now)
        elif op == "consume_up_to":
            answer = oracle.consume_up_to(limiter, key, step["most"], now)
        elif op == "refund":
            answer = oracle.refund(limiter, key, step["amount"], now, request)
        elif op == "reserve":
            returned = step.get("unsettled") == "returned"
            answer = oracle.reserve(limiter, key, step["estimate"], step["ttl"], returned, step["as"], now)
        else:
            answer = oracle.block(limiter, key, step["duration"], now)
        return shown(answer)


def differences() -> tuple[int, list[str]]:
    """How many steps were compared, and what the oracle and the cases do not agree about."""
    compared, found = 0, []
    for file in FILES:
        for case in json.loads((VECTORS / f"{file}.json").read_text())["cases"]:
            run = Case(case)
            for number, step in enumerate(case["steps"]):
                if "error" in step:
                    continue
                said, expect = run.perform(step), step.get("expect")
                if said is None or expect is None:
                    continue
                compared += 1
                if "rules" in expect:
                    expect = {"would_deny": False, **expect}
                if "decisions" in expect:
                    expect["decisions"] = [{"would_deny": False, **one} for one in expect["decisions"]]
                if said != expect:
                    found.append(f"{case['id']} step {number}: {step['op']}\n  said   {said}\n  expect {expect}")
                    break
    return compared, found


def main() -> int:
    """Prints what differs."""
    compared, found = differences()
    print(*found, sep="\n")
    print(f"{compared - len(found)} passed, {len(found)} failed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
