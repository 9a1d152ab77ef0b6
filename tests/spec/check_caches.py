"""Checks that the vectors of caches and of `once` are well formed: steps, loads, and what they answer."""

from __future__ import annotations

from check_form import LARGEST, Case, fields, is_a, need, text_or_hex, whole_milliseconds

CACHE: dict[str, type] = {"fresh": int, "stale": int, "lease": int, "negative": int, "error_ttl": int}
ONCE: dict[str, type] = {"ttl": int, "lease": int, "error_ttl": int}
CODES = {"timeout", "load_failed", "wrong_type", "newer_version"}
KEY_OPS = {"redis_key", "plant", "persist", "raw"}
# What each operation takes besides `at`, `op`, whom it is for and the key, and whether it answers.
CACHE_OPS = {"get": {"load"}, "get_many": {"load"}, "peek": set[str](), "put": {"value"}, "invalidate": set[str]()}
ONCE_OPS = {"run": {"function"}, "claim": {"value"}, "release": set[str]()}
BAD_OPS = {"cache": {"get", "peek", "put", "get_many"}, "once": {"claim", "run"}}


def value(found: Case, where: str) -> None:
    """A value as text or in hexadecimal; null is none."""
    if not ("value" in found and found["value"] is None):
        text_or_hex(found, "value", where)


def whole(found: Case, name: str, where: str) -> None:
    """A time or duration that surfaces in milliseconds can be given, or show unrounded."""
    number = found[name]
    need(is_a(number, int) and 0 <= number <= LARGEST and number % 1000 == 0, f"{where}.{name} is {number!r}")


def made(found: Case, kind: str, where: str) -> None:
    """A cache or a once, as it is made."""
    known = CACHE if kind == "cache" else ONCE
    fields(found, {"name": str, ("fresh" if kind == "cache" else "ttl"): int}, where, known)
    for name in known.keys() & found.keys():
        whole(found, name, where)


def load(found: Case, kind: str, labels: set[str], at: int, where: str) -> None:
    """What a loader gives, what happens meanwhile, and when it is done."""
    unknown = found.keys() - {"value", "value_hex", "error", "during", "until"}
    need(not unknown, f"{where} has the unknown {', '.join(sorted(unknown))}")
    if "error" in found:
        need(is_a(found["error"], str) and "value" not in found and "value_hex" not in found, f"{where}.error")
    else:
        value(found, where)
    time = steps(found.get("during", []), kind, labels, f"{where}.during") or at
    if "until" in found:
        whole(found, "until", where)
        need(found["until"] >= time or found["until"] >= at, f"{where} ends before it began")


def answer(found: Case, op: str, where: str) -> None:
    """The fields of an answer."""
    need(isinstance(found, dict), f"{where} is no object")
    if op in ("get", "run") and "raised" in found:
        return fields(found, {"raised": str}, where)
    if op in ("get", "run", "peek", "claim"):
        value(found, where)
    rest = {name: each for name, each in found.items() if name not in ("value", "value_hex")}
    wanted: dict[str, dict[str, type]] = {
        "get": {"loaded": bool},
        "run": {"ran": bool},
        "peek": {"stale": bool, "age": int},
        "claim": {"first": bool, "running": bool},
        "get_many": {"values": list, "loaded": list},
        "invalidate": {"existed": bool},
        "release": {"released": bool},
        "raw": {"exists": bool, "ttl": bool},
    }
    if op == "redis_key":
        return text_or_hex(found, "redis_key", where)
    fields(rest, wanted[op], where)
    if op == "peek":
        whole(found, "age", where)
    if op == "claim":
        need(not (found["first"] and found["running"]), f"{where} is the first of one that runs")
        need(not found["running"] or found["value"] is None, f"{where} has the value of one that runs")
    return None


def step(found: Case, kind: str, labels: set[str], where: str) -> int:
    """A time, whom it is for, a key, what the operation takes, and its whole answer or its error; returns the time."""
    op = str(found.get("op"))
    ops = CACHE_OPS if kind == "cache" else ONCE_OPS
    need(op in ops or op in KEY_OPS, f"{where} has the unknown op {op!r}")
    at = found.get("at")
    need(is_a(at, int) and 0 < found["at"] < LARGEST and found["at"] % 1000 == 0, f"{where}.at is no whole millisecond")
    need(found.get(kind) in labels, f"{where} is for the unknown {kind} {found.get(kind)!r}")
    given = found.keys() - {"at", "op", kind, "expect", "error"}
    key = "key" if kind == "cache" else "id"
    if op == "get_many":
        need(all(is_a(each, str) for each in found["keys"]), f"{where}.keys has one that is no text")
        need(len(found["load"]["values"]) == len(found["keys"]), f"{where} has not a load for each key")
        need(given == {"keys", "load"}, f"{where} has {sorted(given)}")
    else:
        text_or_hex(found, key, where)
        rest = given - {key, f"{key}_hex"}
        if op == "plant":
            need(rest in ({"value"}, {"value_hex"}, {"type"}), f"{where} plants value, value_hex or type")
        else:
            plain = {name.removesuffix("_hex") for name in rest}
            need(plain == ops.get(op, set()), f"{where} has {sorted(rest)}")
        if "value" in ops.get(op, set()):
            value(found, where)
    for name in ("load", "function"):
        if name in given and op != "get_many":
            load(found[name], kind, labels, found["at"], f"{where}.{name}")
    if "error" in found:
        need(found["error"] in CODES and "expect" not in found, f"{where} has an unknown error, or one and an answer")
    elif op in ("put", "plant", "persist"):
        need("expect" not in found, f"{where} has an answer, and its op has none")
    else:
        need("expect" in found, f"{where} has no answer")
        if op != "peek" or found["expect"] is not None:
            answer(found["expect"], op, f"{where}.expect")
    return int(found["at"])


def steps(found: list[Case], kind: str, labels: set[str], where: str) -> int:
    """Steps one after the other; returns the time of the last, 0 without any."""
    at = 0
    for i, each in enumerate(found):
        at = step(each, kind, labels, f"{where}[{i}]")
    return at


def _case(case: Case, kind: str) -> None:
    several = f"{kind}s"
    fields(case, {"id": str, "about": str, several: dict, "steps": list}, "case")
    need(bool(case[several] and case["steps"]), "case has nobody or no steps")
    for label, each in case[several].items():
        made(each, kind, f"{several}.{label}")
    steps(case["steps"], kind, set(case[several]), "steps")


def cache_case(case: Case) -> None:
    """Caches and steps."""
    _case(case, "cache")


def once_case(case: Case) -> None:
    """Onces and steps."""
    _case(case, "once")


def cache_error_case(case: Case) -> None:
    """What is made, maybe a call of it, and the error of one of the two."""
    wanted: dict[str, type] = {"id": str, "about": str, "make": str, "options": dict, "code": str, "contains": list}
    fields(case, wanted, "case", {"call": dict})
    need(case["make"] in BAD_OPS, f"makes the unknown {case['make']!r}")
    known = {"name", "beta", "when_away"} | (CACHE if case["make"] == "cache" else ONCE).keys()
    need(case["options"].keys() <= known, f"options has the unknown {sorted(case['options'].keys() - known)}")
    need(all(is_a(part, str) and part for part in case["contains"]) and case["contains"], "contains says nothing")
    whole_milliseconds(case["options"], "options")
    if "call" in case:
        need(case["call"].get("op") in BAD_OPS[case["make"]], f"unknown op {case['call'].get('op')!r}")
        unknown = case["call"].keys() - {"op", "key", "keys", "size"}
        need(not unknown, f"call has the unknown {', '.join(sorted(unknown))}")
