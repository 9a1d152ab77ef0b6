"""Checks that the vectors are well formed: ids, fields, operations, units. It knows no algorithm.

Run it as `python3 tests/spec/check.py`; it needs nothing but Python, prints `N passed, N failed`, and fails if any did.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from check_answers import address_case, answer_case
from check_caches import cache_case, cache_error_case, once_case
from check_form import LARGEST, Case, Wrong, fields, is_a, need, text_or_hex, unique, whole_milliseconds
from check_locks import lock_case, lock_error_case
from check_slots import one_slot
from check_stock import stock_case, stock_error_case

VECTORS = Path(__file__).parent / "vectors"
RULE: dict[str, type] = {"allowed": bool, "limit": int, "remaining": int, "retry_after": int, "reset_after": int}
DECISION: dict[str, type] = {**RULE, "cost": int, "healed": bool, "rules": list}
COMBINED: dict[str, type] = {
    "allowed": bool,
    "would_deny": bool,
    "binding": int,
    "retry_after": int,
    "decisions": list,
}
# What an operation may take besides what it must.
MAYBE = {"consume": {"request"}, "refund": {"request"}, "consume_all": {"request"}, "reserve": {"unsettled"}}
TEXTS = {"request", "unsettled", "as", "reservation"}
# What each operation takes besides `at`, `op` and `key`, and the fields of what it must answer.
STEPS: dict[str, tuple[set[str], dict[str, type] | None]] = {
    "consume": ({"cost"}, DECISION),
    "peek": ({"cost"}, DECISION),
    "consume_up_to": ({"most"}, DECISION),
    "refund": ({"amount"}, DECISION),
    "reserve": ({"estimate", "ttl", "as"}, DECISION),
    "settle": ({"reservation", "actual"}, {"settled": bool}),
    "cancel": ({"reservation"}, {"settled": bool}),
    "consume_all": ({"charges"}, COMBINED),
    "block": ({"duration"}, DECISION),
    "reset": (set(), {"existed": bool}),
    "raw": (set(), {"exists": bool, "ttl": bool}),
    "plant": (set(), None),
    "persist": (set(), None),
}
# What each operation of errors.json may be given.
ARGUMENTS = {
    "client": {"url", "prefix", "timeout", "on_error", "request_memory"},
    "limiter": {"name", "policy", "scope"},
    "consume": {"key", "cost", "request"},
    "consume_up_to": {"key", "most"},
    "reserve": {"key", "estimate", "ttl", "unsettled"},
    "reservation": {"key", "id"},
    "settle": {"key", "actual"},
    "consume_all": {"charges", "request"},
    "peek": {"key", "cost"},
    "refund": {"key", "amount", "request"},
    "block": {"key", "duration"},
    "wait": {"key", "cost", "timeout"},
    "reset": {"key"},
}
ALGORITHMS = {"fixed-window", "calendar-window", "sliding-window", "token-bucket", "sliding-log"}


def error(found: Case, where: str) -> None:
    """A code, and at least something that the message says or must not say."""
    need(is_a(found["code"], str) and found["code"].replace("_", "").isalpha(), f"{where} has no code")
    for name in ("contains", "never"):
        parts = found.get(name, [])
        need(all(is_a(part, str) and part for part in parts), f"{where}.{name} has a part that is no text")
    need(bool(found["contains"] or found.get("never")), f"{where} says nothing of the message")


def answer(found: Case, where: str) -> None:
    """The fields of a decision or of a rule hang together, whatever the algorithm."""
    retry = found["retry_after"]
    marked = found.get("would_deny", False)
    # Of what is not enforced a part may pass: then it is marked, and the part needs no wait.
    need(marked or found["allowed"] == (retry == 0), f"{where} is allowed exactly if retry_after is 0")
    need(min(retry or 0, found["reset_after"], found["remaining"]) >= 0, f"{where} has a negative number")
    need(found["remaining"] <= found["limit"], f"{where} has more remaining than its limit")


def decision(found: Case, where: str) -> None:
    """A whole decision, with all of its rules."""
    fields(found, DECISION, where, {"would_deny": bool})
    answer(found, where)
    need(bool(found["rules"]), f"{where} has no rules")
    for i, rule in enumerate(found["rules"]):
        fields(rule, RULE, f"{where}.rules[{i}]")
        answer(rule, f"{where}.rules[{i}]")


def combined(found: Case, charges: list[Case], where: str) -> None:
    """The answer about several keys hangs together with the decision about each."""
    decisions = found["decisions"]
    need(len(decisions) == len(charges), f"{where} has not a decision for each charge")
    for i, (each, charge) in enumerate(zip(decisions, charges, strict=True)):
        decision(each, f"{where}.decisions[{i}]")
        need(each["cost"] == charge["cost"], f"{where}.decisions[{i}] answers for another cost")
    need(found["allowed"] == all(each["allowed"] for each in decisions), f"{where} is allowed exactly if all are")
    marked = any(each.get("would_deny", False) for each in decisions)
    need(found["would_deny"] == marked, f"{where} has would_deny exactly if a decision has")
    need(0 <= found["binding"] < len(decisions), f"{where} binds to none of its decisions")
    binding = decisions[found["binding"]]
    wait = 0 if found["allowed"] else binding["retry_after"]
    need(found["retry_after"] == wait, f"{where} has not the wait of the decision that binds")
    need(found["allowed"] or not binding["allowed"], f"{where} is denied by one that admits")


def takes(found: Case, op: str, where: str) -> None:
    """Exactly the arguments of the operation, each of its type."""
    given = found.keys() - {"at", "op", "key", "key_hex", "expect", "error", "limiter"}
    if op == "plant":
        need(given in ({"value"}, {"value_hex"}, {"type"}), f"{where} plants value, value_hex or type")
        need(found.get("type", "list") == "list", f"{where} plants a type that is not list")
        if "type" not in found:
            text_or_hex(found, "value", where)
        return
    needed = STEPS[op][0]
    need(needed <= given <= needed | MAYBE.get(op, set()), f"{where} needs {sorted(needed)} and has {sorted(given)}")
    for name in given - {"charges"}:
        need(is_a(found[name], str if name in TEXTS else int), f"{where}.{name} has another type")
    for i, charge in enumerate(found.get("charges", [])):
        need(charge.keys() <= {"limiter", "key", "key_hex", "cost"}, f"{where}.charges[{i}] has an unknown field")
        text_or_hex(charge, "key", f"{where}.charges[{i}]")
        need(is_a(charge.get("cost"), int), f"{where}.charges[{i}] has no cost")


def step(found: Case, where: str) -> None:
    """A time, a key, what the operation takes, and its whole answer or its error."""
    op = found.get("op")
    need(op in STEPS, f"{where} has the unknown op {op!r}")
    answered = STEPS[str(op)][1]
    need(is_a(found.get("at"), int) and 0 < found["at"] < LARGEST, f"{where} has no time in microseconds")
    if op != "consume_all":
        text_or_hex(found, "key", where)
    takes(found, str(op), where)
    whole_milliseconds(found, where)
    if "error" in found:
        need("expect" not in found and answered is not None, f"{where} cannot have an error")
        fields(found["error"], {"code": str, "contains": list}, f"{where}.error")
        return error(found["error"], f"{where}.error")
    need(("expect" in found) == (answered is not None), f"{where} has an answer exactly if its op has one")
    if answered is None:
        return None
    expect = found["expect"]
    if answered is DECISION:
        decision(expect, f"{where}.expect")
        own = found.get("cost", found.get("estimate", 1))
        if op == "consume_up_to":
            need(0 <= expect["cost"] <= found["most"], f"{where} takes more than the most")
            passes = expect["retry_after"] == 0 or expect.get("would_deny", False)
            need((expect["cost"] > 0) == passes, f"{where} takes nothing exactly if it is denied")
        else:
            need(expect["cost"] == own, f"{where} answers for another cost")
        return None
    fields(expect, answered, f"{where}.expect")
    if answered is COMBINED:
        combined(expect, found["charges"], f"{where}.expect")
    return None


def run_case(case: Case) -> None:
    """A policy and steps, each answering for all rules of the policy."""
    fields(case, {"id": str, "about": str, "policy": str, "steps": list}, "case", {"limiters": dict})
    rules = {"": case["policy"].count(";") + 1}
    for label, more in case.get("limiters", {}).items():
        fields(more, {"policy": str}, f"limiters.{label}", {"name": str, "scope": str, "enforce": bool})
        need(bool(label) and more.get("name", "main") == "main", f"limiters.{label} has no label, or a name but main")
        rules[label] = more["policy"].count(";") + 1
    need(bool(case["steps"]), "case has no steps")
    reserved: set[str] = set()
    for i, found in enumerate(case["steps"]):
        where = f"steps[{i}]"
        step(found, where)
        if "reservation" in found:
            need(found["reservation"] in reserved, f"{where} has a reservation that nobody made before")
        if "as" in found:
            need(found["as"] not in reserved, f"{where} reserves under a label that is taken")
            reserved.add(found["as"])
        expect = found.get("expect", {})
        decisions = expect.get("decisions", [expect] if "rules" in expect else [])
        for asked, each in zip(found.get("charges", [found]), decisions, strict=False):
            label = asked.get("limiter", "")
            need(label in rules, f"{where} is for the unknown limiter {label!r}")
            need(len(each["rules"]) == rules[label], f"{where} answers not for {rules[label]} rules")


def policy_case(case: Case) -> None:
    """A text with its meaning and canonical form, or with its error."""
    if "code" in case:
        fields(case, {"id": str, "about": str, "input": str, "code": str, "contains": list}, "case")
        return error(case, "case")
    fields(case, {"id": str, "about": str, "input": str, "canonical": str, "rules": list}, "case")
    need(len(case["rules"]) == case["canonical"].count(";") + 1, "rules and canonical differ in number")
    for i, rule in enumerate(case["rules"]):
        fields(rule, {"algorithm": str, "limit": int, "period": int}, f"rules[{i}]", {"capacity": int})
        need(rule["algorithm"] in ALGORITHMS, f"rules[{i}] has an unknown algorithm")
        need(1 <= rule["limit"] <= LARGEST and rule["period"] >= 1000, f"rules[{i}] is out of bounds")
        need(1 <= rule.get("capacity", 1) <= LARGEST, f"rules[{i}] has a capacity out of bounds")
    return None


def key_case(case: Case) -> None:
    """Prefix, name, maybe a scope, and key, and the Redis key they make."""
    either = {f"{name}{form}": str for name in ("key", "redis_key", "scope") for form in ("", "_hex")}
    fields(case, {"id": str, "about": str, "prefix": str, "name": str}, "case", either)
    if "scope" in case or "scope_hex" in case:
        text_or_hex(case, "scope", "case")
    text_or_hex(case, "key", "case")
    text_or_hex(case, "redis_key", "case")


def error_case(case: Case) -> None:
    """An operation with bad arguments, and its error."""
    wanted: dict[str, type] = {"id": str, "about": str, "op": str, "args": dict, "code": str, "contains": list}
    fields(case, wanted, "case", {"never": list})
    need(case["op"] in ARGUMENTS, f"unknown op {case['op']!r}")
    unknown = case["args"].keys() - ARGUMENTS[case["op"]]
    need(not unknown, f"{case['op']} takes no {', '.join(sorted(unknown))}")
    for charge in case["args"].get("charges", []):
        pair = is_a(charge, list) and len(charge) == 2 and is_a(charge[0], str) and is_a(charge[1], int)
        need(pair, "args.charges has one that is no [key, cost]")
    whole_milliseconds(case["args"], "args")
    error(case, "case")


FILES: dict[str, Callable[[Case], None]] = {
    "policies": policy_case,
    "keys": key_case,
    "errors": error_case,
    "fixed-window": run_case,
    "calendar-window": run_case,
    "sliding-window": run_case,
    "token-bucket": run_case,
    "sliding-log": run_case,
    "several-rules": run_case,
    "several-keys": run_case,
    "requests": run_case,
    "reservations": run_case,
    "up-to": run_case,
    "shadow": run_case,
    "changed-policies": run_case,
    "published": run_case,
    "healing": run_case,
    "answers": answer_case,
    "addresses": address_case,
    "locks": lock_case,
    "lock-errors": lock_error_case,
    "stock": stock_case,
    "stock-errors": stock_error_case,
    "cache": cache_case,
    "once": once_case,
    "cache-errors": cache_error_case,
}


def problems() -> Iterator[tuple[str, str | None]]:
    """Every case with what is wrong with it or None, and every file that has something wrong with it."""
    listed = {path.stem for path in VECTORS.iterdir()}
    if listed != FILES.keys():
        yield "vectors/", f"unknown or missing: {sorted(listed ^ FILES.keys())}"
    seen: set[str] = set()
    for name in sorted(listed & FILES.keys()):
        try:
            text = (VECTORS / f"{name}.json").read_text(encoding="utf-8")
            file = json.loads(text, object_pairs_hook=unique)
            fields(file, {"about": str, "cases": list}, "file")
            need(bool(file["cases"]), "file has no cases")
        except (OSError, ValueError, Wrong) as wrong:
            yield name, str(wrong)
            continue
        for n, case in enumerate(file["cases"]):
            label = str(case.get("id", f"{name}[{n}]"))
            try:
                need(label.startswith(f"{name}/") and label not in seen, "its id is not of this file or not unique")
                seen.add(label)
                FILES[name](case)
                one_slot(case)
                need(case["about"].endswith((".", "?")), "its about is no sentence")
            except (Wrong, ValueError, TypeError, KeyError) as wrong:
                yield label, f"{type(wrong).__name__}: {wrong}"
            else:
                yield label, None


def main() -> int:
    """Prints what is wrong and how many cases passed; 1 if any failed."""
    passed = failed = 0
    for label, problem in problems():
        if problem is None:
            passed += 1
        else:
            failed += 1
            print(f"{label}: {problem}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
