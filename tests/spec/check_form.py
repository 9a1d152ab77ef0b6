"""What the checks of all vector files need: fields and their types, bytes and units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Case = dict[str, Any]

LARGEST = 2**52


class Wrong(Exception):
    """What is wrong with a case."""


def need(condition: bool, problem: str) -> None:
    """Raises `Wrong` unless the condition holds."""
    if not condition:
        raise Wrong(problem)


def is_a(value: object, kind: type) -> bool:
    """As isinstance, but a bool is no integer."""
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def fields(found: Case, wanted: Mapping[str, type], where: str, optional: Mapping[str, type] | None = None) -> None:
    """Every wanted field, no other, each of its type; only `retry_after` may be null."""
    need(isinstance(found, dict), f"{where} is no object")
    missing, unknown = wanted.keys() - found.keys(), found.keys() - wanted.keys() - (optional or {}).keys()
    need(not missing, f"{where} lacks {', '.join(sorted(missing))}")
    need(not unknown, f"{where} has the unknown {', '.join(sorted(unknown))}")
    for name, value in found.items():
        kind = {**wanted, **(optional or {})}[name]
        never = name == "retry_after" and value is None
        need(never or is_a(value, kind), f"{where}.{name} is {value!r}, not of type {kind.__name__}")


def text_or_hex(found: Case, name: str, where: str) -> None:
    """Either `name` as text or `name`_hex as lower-case hexadecimal, not both."""
    need((name in found) != (f"{name}_hex" in found), f"{where} needs one of {name} and {name}_hex")
    if name in found:
        need(is_a(found[name], str), f"{where}.{name} is no text")
        return
    digits = found[f"{name}_hex"]
    need(is_a(digits, str) and bytes.fromhex(digits).hex() == digits, f"{where}.{name}_hex is no lower-case hex")


def unique(pairs: list[tuple[str, Any]]) -> Case:
    """An object of JSON, which may name nothing twice."""
    need(len({name for name, _ in pairs}) == len(pairs), f"a name twice in {[name for name, _ in pairs]}")
    return dict(pairs)


def whole_milliseconds(found: Case, where: str) -> None:
    """What a caller passes can be said in PHP's and Node's integer milliseconds."""
    for name in ("duration", "timeout", "ttl", "request_memory"):
        need(found.get(name, 0) % 1000 == 0, f"{where}.{name} is not in whole milliseconds")
