"""Executes the vectors of caches and of `once`. Steps are coroutines; on the blocking face they wait for no loop."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import quotalock
import spec
from spec import Case, seconds

if TYPE_CHECKING:
    from test_vectors import Runner

OPTIONS = ("ttl", "fresh", "stale", "lease", "negative", "error_ttl")


class Raised(Exception):
    """What a loader raises."""


class Caches:
    """One case's caches and onces, by label."""

    def __init__(self, runner: Runner, client: Any, case: Case) -> None:
        self.surface, self.store, self.client = runner.surface, runner.store, client
        self.caches = {label: made(client, "cache", how) for label, how in case.get("caches", {}).items()}
        self.onces = {label: made(client, "once", how) for label, how in case.get("onces", {}).items()}

    def execute(self, case: Case) -> None:
        self.surface.call(self.inside, self.steps(case["id"], case["steps"]))

    def inside(self, work: Coroutine[Any, Any, Any]) -> Any:
        return work if self.surface.name != "python" else finished(work)

    async def steps(self, place: str, steps: list[Case]) -> None:
        for number, step in enumerate(steps):
            at = f"{place} step {number} on {self.store}"
            await self.ended(self.surface.testing.set_time(self.client, step["at"]))
            code = None
            try:
                found = await self.perform(at, step)
            except quotalock.QuotalockError as error:
                code, found = error.code, None
            assert code == step.get("error"), at
            if code is None:
                expect = step.get("expect")
                if expect and "age" in expect:
                    expect = {**expect, "age": seconds(expect["age"])}
                assert found == expect, at

    async def ended(self, answer: Any) -> Any:
        return await answer if inspect.isawaitable(answer) else answer

    async def perform(self, place: str, step: Case) -> Any:
        """Performs a step: what it answers, in the form of `expect`."""
        op, ended = step["op"], self.ended
        own = self.caches[step["cache"]] if "cache" in step else self.onces[step["once"]]
        key = spec.octets(step, "key" if "cache" in step else "id")
        value = step["value"].encode() if step.get("value") is not None else spec.octets_hex(step, "value")
        if op == "get":
            return await self.get(place, own.get, key, step, "load", "loaded")
        if op == "run":
            return await self.get(place, own.run, key, step, "function", "ran")
        if op == "get_many":
            return await self.get_many(own, step)
        if op == "peek":
            seen = await ended(own.peek(key))
            return seen and {**text(seen.value, step), "stale": seen.stale, "age": seen.age}
        if op == "put":
            await ended(own.put(key, value))
            return None
        if op == "invalidate":
            return {"existed": await ended(own.invalidate(key))}
        if op == "release":
            return {"released": await ended(own.release(key))}
        if op == "claim":
            claimed = await ended(own.claim(key, value))
            assert bool(claimed) is claimed.first, place
            return {"first": claimed.first, **text(claimed.value, step), "running": claimed.running}
        return await self.on_key(step, own.redis_key(key))

    async def on_key(self, step: Case, redis_key: bytes) -> Any:
        op, testing = step["op"], self.surface.testing
        if op == "redis_key":
            stem = self.client.prefix.encode() + b":"
            assert redis_key.startswith(stem)
            return text(redis_key[len(stem) :], step, "redis_key")
        if op == "plant":
            value = spec.octets(step, "value")
            kind = step.get("type", "string")
            await self.ended(testing.put(self.client, redis_key, kind, b"x" if value is None else value))
            return None
        if op == "persist":
            await self.ended(testing.put(self.client, redis_key, "persist", b""))
            return None
        if op == "raw":
            stored = await self.ended(testing.get(self.client, redis_key))
            return {"exists": stored is not None, "ttl": stored is not None and stored[1] is not None}
        raise AssertionError(f"unknown op {op}")

    async def get(self, place: str, get: Any, key: Any, step: Case, what: str, word: str) -> Case:
        runs = []

        async def load() -> bytes | None:
            how = step[what]
            runs.append(how)
            await self.steps(f"{place}, in it", how.get("during", []))
            if "until" in how:
                await self.ended(self.surface.testing.set_time(self.client, how["until"]))
            if "error" in how:
                raise Raised(how["error"])
            return how["value"].encode() if how.get("value") is not None else spec.octets_hex(how, "value")

        loader = load if self.surface.name != "python" else lambda: finished(load())
        try:
            value = await self.ended(get(key, loader, wait=0.0))
        except Raised as error:
            return {"raised": str(error)}
        return {**text(value, step), word: bool(runs)}

    async def get_many(self, cache: Any, step: Case) -> Case:
        loaded: list[str] = []

        def load(missing: list[str]) -> dict[str, str | None]:
            loaded.extend(missing)
            values = dict(zip(step["keys"], step["load"]["values"], strict=True))
            # One that is left out has no value either.
            return {key: values[key] for key in missing if values[key] is not None}

        values = await self.ended(cache.get_many(step["keys"], load, wait=0.0))
        assert list(values) == step["keys"]
        return {"values": [value and value.decode() for value in values.values()], "loaded": loaded}


def finished(work: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns that waits for nobody."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


def made(client: Any, kind: str, how: Case) -> Any:
    """The cache or once that a case describes."""
    options = {name: seconds(how[name]) for name in OPTIONS if name in how}
    options |= {name: how[name] for name in ("beta", "when_away") if name in how}
    return getattr(client, kind)(how.get("name", {"cache": "home", "once": "coupon"}[kind]), **options)


def bad_call(surface: Any, client: Any, case: Case) -> None:
    """Makes what cannot be made, or a call of it that is refused."""
    own, call = made(client, case["make"], case["options"]), case.get("call", {})
    large = b"x" * int(call.get("size", 0))
    op, key = call["op"], call.get("key")
    if op in ("get", "run"):
        runs = []

        def load() -> bytes:
            runs.append(key)
            return large

        try:
            surface.call(getattr(own, op), key, load, wait=0.0)
        finally:
            if large:
                # The way is free for the next one.
                assert surface.call(getattr(own, op), key, lambda: "small", wait=0.0) == b"small"
                assert runs == [key]
    elif op == "get_many":
        surface.call(own.get_many, call["keys"], dict.fromkeys)
    else:
        surface.call(getattr(own, op), key, *([large] if large else []))


def text(value: bytes | None, step: Case, field: str = "value") -> Case:
    """Bytes in the form in which they are expected: as text, or in hexadecimal."""
    if f"{field}_hex" in step.get("expect", {}):
        return {f"{field}_hex": value and value.hex()}
    return {field: None if value is None else value.decode()}
