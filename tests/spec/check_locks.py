"""Checks that the vectors of locks are well formed: handles, steps and what they answer."""

from __future__ import annotations

from check_form import LARGEST, Case, fields, is_a, need, text_or_hex, whole_milliseconds

KINDS = {"lock", "lock_all", "semaphore", "read_lock", "write_lock"}
STATES = {"released": False, "held": True, "uncertain": True, "lost": False}
CODES = {"invalid_argument", "lost", "wrong_type", "newer_version"}
HOLDER: dict[str, type] = {"label": str, "token": int, "permits": int, "since": int, "until": int}
INSPECTION: dict[str, type] = {"token": int, "waiters": int, "healed": bool, "holders": list}
# What each operation takes besides `at`, `op` and `handle`, and the fields of what it must answer.
STEPS: dict[str, tuple[set[str], dict[str, type] | None]] = {
    "acquire": (set(), {"acquired": bool}),
    "release": (set(), {"released": bool}),
    "extend": (set(), {"extended": bool}),
    "state": (set(), {"state": str, "held": bool, "remaining": int, "token": object}),
    "assert_held": (set(), {}),
    "inspect": (set(), INSPECTION),
    "force_release": (set(), {"count": int}),
    "raise_floor": ({"floor"}, None),
    "redis_keys": (set(), {}),
    "raw": (set(), {"exists": bool, "ttl": bool}),
    "plant": (set(), None),
    "persist": (set(), None),
    "handover": ({"as"}, {}),
    "adopt": ({"text"}, {"adopted": bool}),
}


def texts_or_hex(found: Case, name: str, where: str) -> None:
    """As `text_or_hex`, of lists."""
    need((name in found) != (f"{name}_hex" in found), f"{where} needs one of {name} and {name}_hex")
    field = name if name in found else f"{name}_hex"
    need(is_a(found[field], list), f"{where}.{field} is no list")
    for i, each in enumerate(found[field]):
        text_or_hex({field: each}, name, f"{where}.{field}[{i}]")


def handle(found: Case, where: str) -> None:
    """A kind, its name or names, its ttl, and what else a handle of that kind may have."""
    kind = found.get("kind")
    need(kind in KINDS, f"{where} has the unknown kind {kind!r}")
    own: dict[str, type] = {"permits": int, "weight": int} if kind == "semaphore" else {}
    named: dict[str, type] = (
        {"names": list, "names_hex": list} if kind == "lock_all" else {"name": str, "name_hex": str}
    )
    fields(found, {"kind": str, "ttl": int, **own}, where, {"token_above": int, "label": str, **named})
    (texts_or_hex if kind == "lock_all" else text_or_hex)(found, "names" if kind == "lock_all" else "name", where)
    whole_milliseconds(found, where)


def takes(found: Case, op: str, where: str) -> None:
    """Exactly the arguments of the operation."""
    given = found.keys() - {"at", "op", "handle", "expect", "error"}
    if op == "plant":
        need(given in ({"value"}, {"value_hex"}, {"type"}), f"{where} plants value, value_hex or type")
        need(found.get("type", "list") == "list", f"{where} plants a type that is not list")
        return None if "type" in found else text_or_hex(found, "value", where)
    needed = STEPS[op][0]
    optional = {"extend": {"ttl"}, "adopt": {"name"}}.get(op, set())
    need(needed <= given <= needed | optional, f"{where} has {sorted(given)}")
    texts = {"as", "text", "name"}
    right = all(is_a(found[name], str if name in texts else int) for name in given)
    need(right, f"{where} has an argument of another type")
    return whole_milliseconds(found, where)


def answer(found: Case, op: str, at: int, where: str) -> None:
    """The fields of an answer, and that they hang together."""
    if op == "redis_keys":
        need(len(found) == 1, f"{where} has more than keys")
        return texts_or_hex(found, "redis_keys", where)
    fields(found, STEPS[op][1] or {}, where)
    if op == "state":
        need(STATES.get(found["state"]) is found["held"], f"{where} has an unknown state, or another than it is held")
        need((found["remaining"] > 0) == found["held"], f"{where} has time left exactly if it is held")
        need(found["remaining"] % 1000 == 0, f"{where}.remaining is not in whole milliseconds")
        token = found["token"]
        need((token is None) == (found["state"] == "released"), f"{where} has no token exactly if it is released")
        need(token is None or (is_a(token, int) and 0 < token <= 2 * LARGEST), f"{where}.token is out of bounds")
    if op == "raw":
        need(found["exists"] or not found["ttl"], f"{where} has a TTL and does not exist")
    for i, each in enumerate(found.get("holders", [])):
        fields(each, HOLDER, f"{where}.holders[{i}]")
        need(0 < each["token"] <= found["token"], f"{where}.holders[{i}] has a token beyond the last")
        need(each["since"] <= at < each["until"], f"{where}.holders[{i}] does not hold at that time")
        whole = each["since"] % 1000 == each["until"] % 1000 == 0
        need(whole, f"{where}.holders[{i}] has times that are not in whole milliseconds")
    need(not found.get("healed") or not (found["holders"] or found["token"]), f"{where} knows of a foreign value")
    return None


def step(found: Case, handles: Case, where: str) -> None:
    """A time, a handle, what the operation takes, and its whole answer or its error."""
    op = found.get("op")
    need(op in STEPS, f"{where} has the unknown op {op!r}")
    at = found.get("at")
    need(is_a(at, int) and 0 < found["at"] < LARGEST and found["at"] % 1000 == 0, f"{where}.at is no whole millisecond")
    need(found.get("handle") in handles, f"{where} has the unknown handle {found.get('handle')!r}")
    takes(found, str(op), where)
    if "error" in found:
        need(found["error"] in CODES and "expect" not in found, f"{where} has an unknown error, or one and an answer")
        return
    need(("expect" in found) == (STEPS[str(op)][1] is not None), f"{where} has an answer exactly if its op has one")
    if "expect" in found:
        answer(found["expect"], str(op), found["at"], f"{where}.expect")


def lock_case(case: Case) -> None:
    """Handles, each of them used, and steps."""
    fields(case, {"id": str, "about": str, "handles": dict, "steps": list}, "case")
    need(bool(case["handles"] and case["steps"]), "case has no handles or no steps")
    for label, each in case["handles"].items():
        handle(each, f"handles.{label}")
    known, texts = {**case["handles"]}, set()
    for i, found in enumerate(case["steps"]):
        if found.get("op") == "adopt":
            # Such a handle is made by its step.
            need(found["handle"] not in known, f"steps[{i}] makes a handle that is there already")
            need(found.get("text") in texts, f"steps[{i}] adopts what nobody handed over")
            known[found["handle"]] = {}
        texts |= {found.get("as")}
        step(found, known, f"steps[{i}]")
    used = {found["handle"] for found in case["steps"]} & case["handles"].keys()
    need(used == case["handles"].keys(), f"nobody uses {sorted(case['handles'].keys() - used)}")


def lock_error_case(case: Case) -> None:
    """A handle that cannot be made, and the code of the error."""
    fields(case, {"id": str, "about": str, "handle": dict, "error": str}, "case")
    handle(case["handle"], "handle")
    need(case["error"] in CODES, "an unknown error")
