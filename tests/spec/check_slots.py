"""Checks that what one call is about lies in one slot of a cluster, so that each case can be executed on one."""

from __future__ import annotations

import binascii
from collections.abc import Iterable

from check_form import Case, need

ENCODED = {"%": "%25", "{": "%7B", "}": "%7D"}


def slot(tag: str | bytes) -> int:
    """The slot of a hash tag: what users choose is encoded, so that it cannot choose another."""
    text = tag if isinstance(tag, bytes) else "".join(ENCODED.get(each, each) for each in tag).encode()
    return binascii.crc_hqx(text, 0) % 16_384


def one_slot(case: Case) -> None:
    """Several keys of a limiter or a cache, several names of a lock, several stocks: each call's in one slot."""
    for i, step in enumerate(case.get("steps", [])):
        tags = set(map(slot, tags_of(case, step)))
        need(len(tags) <= 1, f"steps[{i}] has keys of {len(tags)} slots: choose others, by digits at their ends")


def tags_of(case: Case, step: Case) -> Iterable[str | bytes]:
    """The hash tags of what a step is about."""
    limiters = case.get("limiters", {})
    for charge in step.get("charges", []):
        scope = limiters.get(charge.get("limiter"), {}).get("scope")
        yield scope or charge.get("key") or bytes.fromhex(charge["key_hex"])
    if "keys" in step:
        yield from step["keys"]
    if step.get("handle") in case.get("handles", {}) and step["op"] != "redis_keys":
        handle = case["handles"][step["handle"]]
        yield from handle.get("names", [])
        yield from map(bytes.fromhex, handle.get("names_hex", []))
    for item in step.get("items", []):
        stock = case["stocks"][item["stock"]]
        yield stock.get("scope") or stock["name"]
