"""Checks the cases of answers.json and addresses.json."""

from __future__ import annotations

from check_form import Case, fields, is_a, need, whole_milliseconds

# What an operation takes besides its limiter and key.
TAKES = {"consume": "cost", "peek": "cost", "block": "duration"}
MEMBERS: dict[str, type] = {"type": str, "title": str, "status": int, "detail": str, "violated-policies": list}


def answer_case(case: Case) -> None:
    """Limiters by name, and steps that say what their decisions tell."""
    fields(case, {"id": str, "about": str, "limiters": dict, "steps": list}, "case", {"away": str})
    need(case.get("away") in (None, "open", "closed"), "away is neither open nor closed")
    need(bool(case["limiters"]) and bool(case["steps"]), "case has no limiters or no steps")
    for name, limiter in case["limiters"].items():
        fields(limiter, {"policy": str}, f"limiters.{name}", {"enforce": bool})
    checks = sum(step(found, case["limiters"], f"steps[{i}]") for i, found in enumerate(case["steps"]))
    need(checks > 0, "case checks nothing")


def address_case(case: Case) -> None:
    """A peer, header values and trusted proxies, and the client's address or an error."""
    wanted: dict[str, type] = {"id": str, "about": str, "peer": str, "forwarded": list, "trusted": list}
    fields(case, wanted, "case", {"ipv6_prefix": int, "expect": str, "code": str, "contains": list})
    need(("expect" in case) != ("code" in case), "case has an address or an error")
    need(all(is_a(text, str) for text in case["forwarded"] + case["trusted"]), "forwarded and trusted are texts")
    need("code" not in case or bool(case["contains"]), "case says nothing of the message")


def step(found: Case, limiters: Case, where: str) -> int:
    """A call, and how many things it says of its decision."""
    maybe = {"headers": list, "problem": dict, "rules": list}
    if found["op"] == "consume_all":
        fields(found, {"at": int, "op": str, "charges": list}, where, maybe)
        for charge in found["charges"]:
            fields(charge, {"limiter": str, "key": str, "cost": int}, f"{where}.charges")
            need(charge["limiter"] in limiters, f"{where} is for an unknown limiter")
    else:
        need(found["op"] in TAKES, f"{where} has an unknown op")
        fields(found, {"at": int, "op": str, "limiter": str, "key": str, TAKES[found["op"]]: int}, where, maybe)
        need(found["limiter"] in limiters, f"{where} is for an unknown limiter")
        whole_milliseconds({name: value for name, value in found.items() if name == "duration"}, where)
    for each in found.get("headers", []):
        fields(each, {}, f"{where}.headers", {"syntax": str, "legacy": bool, "expect": list, "error": str})
        need(("expect" in each) != ("error" in each), f"{where}.headers has an answer or an error")
        pairs = [is_a(pair, list) and [type(text) for text in pair] == [str, str] for pair in each.get("expect", [])]
        need(all(pairs), f"{where}.headers has fields that are no pairs of texts")
    if "problem" in found:
        fields(found["problem"], {"error": str} if "error" in found["problem"] else MEMBERS, f"{where}.problem")
    for rule in found.get("rules", []):
        need([type(part) for part in rule] == [str, int, int, int], f"{where}.rules has one of another form")
    return sum(name in found for name in maybe)
