"""Checks that the vectors of stocks are well formed: stocks, steps and what they answer."""

from __future__ import annotations

from check_form import LARGEST, Case, fields, is_a, need, text_or_hex

MILLISECOND = 1000
OUTCOMES = {"held", "sold_out", "buyer_limit", "not_open", "ended"}
PHASES = {"not_open", "open", "ended"}
KINDS = {"opened", "restocked", "held", "confirmed", "cancelled", "expired", "extended", "closed"}
RESERVATION: dict[str, type] = {"reservation": str, "quantity": int, "prizes": list, "until": int}
BUYER: dict[str, type] = {"buyer": str, "buyer_hex": str}
STATUS: dict[str, type] = {
    "phase": str,
    "quantity": int,
    "available": int,
    "held": int,
    "sold": int,
    "buyers": int,
    "per_buyer": object,
    "ends": object,
}
ENTRY: dict[str, type] = {
    "number": int,
    "kind": str,
    "reservation": object,
    "buyer": object,
    "quantity": int,
    "time": int,
    "available": int,
    "held": int,
    "sold": int,
    "prizes": list,
}
SETTLING: dict[str, type] = {"reservation": str, "reservations": list, "id": str}
# What each operation takes besides `at`, `op` and maybe `stock`; what it may take; the fields of what it must answer.
STEPS: dict[str, tuple[dict[str, type], dict[str, type], dict[str, type] | None]] = {
    "open": ({"quantity": int}, {"per_buyer": int, "ends": int, "prizes": list}, {"opened": bool}),
    "close": ({}, {}, {"closed": bool}),
    "restock": ({"quantity": int}, {"prizes": list, "request": str}, {"quantity": int}),
    "take": (
        {"quantity": int, "hold": int},
        {"request": str, **BUYER},
        {"outcome": str, "available": int, "reservation": object},
    ),
    "take_all": (
        {"items": list, "buyer": str, "hold": int},
        {"request": str},
        {"outcome": str, "refused": object, "available": list, "reservations": list},
    ),
    "confirm": ({}, SETTLING, {"done": bool}),
    "cancel": ({}, SETTLING, {"done": bool}),
    "extend": ({"hold": int}, SETTLING, {"done": bool}),
    "status": ({}, {}, STATUS),
    "reservations": ({"count": int}, {}, {"pages": list}),
    "ledger": ({}, {"after": int, "count": int}, {"entries": list}),
    "redis_keys": ({}, {}, {"redis_keys": list}),
    "plant": ({"key": int}, {"value": str, "value_hex": str, "type": str}, None),
    "persist": ({"key": int}, {}, None),
    "raw": ({"key": int}, {}, {"exists": bool, "ttl": bool}),
}
# What each operation of stock-errors.json may be given.
ARGUMENTS = {
    "stock": {"name", "scope", "ledger_cap", "retention"},
    "open": {"quantity", "per_buyer", "ends", "prizes"},
    "restock": {"quantity", "prizes", "request"},
    "take": {"buyer", "quantity", "hold", "request"},
    "take_all": {"items"},
    "confirm": {"id"},
    "cancel": {"id"},
    "extend": {"id", "hold"},
    "confirm_all": {"ids"},
    "reservations": {"count", "cursor"},
    "ledger": {"count", "after"},
}


def whole(found: Case, where: str) -> None:
    """All times are whole milliseconds: no surface rounds them."""
    for name in ("at", "hold", "until", "time", "ends", "retention"):
        given = found.get(name)
        need(given is None or given % MILLISECOND == 0, f"{where}.{name} is not in whole milliseconds")


def all_texts(found: list[object], where: str) -> None:
    """A list of texts."""
    need(is_a(found, list) and all(is_a(each, str) for each in found), f"{where} is no list of texts")


def reservation(found: Case, held: set[str], where: str) -> None:
    """A reservation under its label, with one prize for each unit or none."""
    fields(found, RESERVATION, where, BUYER)
    text_or_hex(found, "buyer", where)
    all_texts(found["prizes"], f"{where}.prizes")
    need(len(found["prizes"]) in (0, found["quantity"]), f"{where} has not a prize for each unit")
    whole(found, where)
    held.add(found["reservation"])


def sums(found: Case, where: str) -> None:
    """Numbers of a sale, none below zero."""
    need(all(0 <= found[name] <= LARGEST for name in ("available", "held", "sold")), f"{where} has odd numbers")


def answer(found: Case, asked: Case, op: str, stocks: Case, held: set[str], where: str) -> None:
    """The fields of an answer, and that they hang together."""
    fields(found, STEPS[op][2] or {}, where)
    if op in ("take", "take_all"):
        need(found["outcome"] in OUTCOMES, f"{where} has an unknown outcome")
    if op == "take":
        need((found["reservation"] is not None) == (found["outcome"] == "held"), f"{where} has one exactly if it holds")
        if found["reservation"] is not None:
            reservation(found["reservation"], held, f"{where}.reservation")
    if op == "take_all":
        need(len(found["available"]) == len(asked["items"]), f"{where} has not as many available as stocks")
        wanted = len(asked["items"]) if found["outcome"] == "held" else 0
        need(len(found["reservations"]) == wanted, f"{where} has not one of each stock exactly if it holds")
        need((found["refused"] in stocks) == (wanted == 0), f"{where} has none that refuses exactly if it holds")
        for i, each in enumerate(found["reservations"]):
            reservation(each, held, f"{where}.reservations[{i}]")
    if op == "status":
        need(found["phase"] in PHASES, f"{where} has an unknown phase")
        sums(found, where)
        total = found["available"] + found["held"] + found["sold"]
        need(found["quantity"] == total, f"{where} has other units than it has")
        whole(found, where)
    for i, page in enumerate(found.get("pages", [])):
        for j, each in enumerate(page):
            need(each["reservation"] in held, f"{where}.pages[{i}][{j}] lists what nobody took")
            reservation(each, held, f"{where}.pages[{i}][{j}]")
    for i, entry in enumerate(found.get("entries", [])):
        fields(entry, ENTRY, f"{where}.entries[{i}]")
        need(entry["kind"] in KINDS, f"{where}.entries[{i}] has an unknown kind")
        is_of_one = entry["kind"] not in ("opened", "restocked", "closed")
        need((entry["reservation"] in held) == is_of_one, f"{where}.entries[{i}] is of none exactly if of no buyer")
        need(is_a(entry["buyer"], str) == is_of_one, f"{where}.entries[{i}] is of none exactly if of no buyer")
        sums(entry, f"{where}.entries[{i}]")
        whole(entry, f"{where}.entries[{i}]")


def step(found: Case, stocks: Case, held: set[str], where: str) -> None:
    """A time, a stock, what the operation takes, and its whole answer or its error."""
    op = str(found.get("op"))
    need(op in STEPS, f"{where} has the unknown op {op!r}")
    must, may, answered = STEPS[op]
    need(is_a(found.get("at"), int) and 0 < found["at"] < LARGEST, f"{where} has no time in microseconds")
    whole(found, where)
    given = {name: value for name, value in found.items() if name not in ("at", "op", "stock", "expect", "error")}
    fields(given, must, where, may)
    need(found.get("stock", next(iter(stocks))) in stocks, f"{where} has the unknown stock {found.get('stock')!r}")
    if op == "take":
        text_or_hex(found, "buyer", where)
    if op in ("confirm", "cancel", "extend"):
        need(len(SETTLING.keys() & given.keys()) == 1, f"{where} needs one of reservation, reservations and id")
        labels = [*given.get("reservations", []), *([given["reservation"]] if "reservation" in given else [])]
        need(set(labels) <= held, f"{where} has a reservation that nobody took before")
    if "prizes" in given:
        all_texts(given["prizes"], f"{where}.prizes")
    for i, item in enumerate(given.get("items", [])):
        fields(item, {"stock": str, "quantity": int}, f"{where}.items[{i}]")
        need(item["stock"] in stocks, f"{where}.items[{i}] has an unknown stock")
    if "error" in found:
        need("expect" not in found, f"{where} has an error and an answer")
        fields(found["error"], {"code": str, "contains": list}, f"{where}.error")
        all_texts(found["error"]["contains"], f"{where}.error.contains")
        return
    need(("expect" in found) == (answered is not None), f"{where} has an answer exactly if its op has one")
    if "expect" in found:
        answer(found["expect"], found, op, stocks, held, f"{where}.expect")


def stock_case(case: Case) -> None:
    """Stocks and steps."""
    fields(case, {"id": str, "about": str, "stocks": dict, "steps": list}, "case")
    need(bool(case["stocks"] and case["steps"]), "case has no stocks or no steps")
    for label, each in case["stocks"].items():
        fields(each, {"name": str}, f"stocks.{label}", {"scope": str})
    held: set[str] = set()
    for i, found in enumerate(case["steps"]):
        step(found, case["stocks"], held, f"steps[{i}]")


def stock_error_case(case: Case) -> None:
    """An operation with bad arguments, and its error."""
    fields(case, {"id": str, "about": str, "op": str, "args": dict, "code": str, "contains": list}, "case")
    need(case["op"] in ARGUMENTS, f"unknown op {case['op']!r}")
    unknown = case["args"].keys() - ARGUMENTS[case["op"]]
    need(not unknown, f"{case['op']} takes no {', '.join(sorted(unknown))}")
    all_texts(case["contains"], "contains")
    need(bool(case["contains"]), "the error says nothing")
    for name in ("hold", "retention"):
        need(case["args"].get(name, 0) % MILLISECOND == 0, f"args.{name} is not in whole milliseconds")
