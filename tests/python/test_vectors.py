"""Executes every vector of the spec on every store, blocking and on a loop."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import answers
import caches
import pytest
import quotalock
import spec
import stocks
from conftest import EVERYWHERE
from spec import Case, seconds
from surface import SURFACES, Surface

# Tests share two cores with builds and other suites: an answer may take its time, a wrong one may not come.
PATIENT = 10.0


@pytest.mark.parametrize("store", EVERYWHERE)
@pytest.mark.parametrize("face", SURFACES)
def test_every_vector(face: str, store: str, store_url: str, prefix: str) -> None:
    executed: list[str] = []
    with Surface(face) as surface:
        runner = Runner(surface, store, store_url, prefix)
        for file, cases in spec.files().items():
            execute = getattr(runner, file.replace("-", "_"), runner.steps)
            for case in cases:
                execute(case)
                executed.append(case["id"])
    spec.assert_all_executed(face, store, executed)


class Runner:
    """Executes cases; the methods are named for the files whose cases are not steps of a limiter."""

    def __init__(self, surface: Surface, store: str, url: str, prefix: str) -> None:
        self.surface, self.store, self.url, self.prefix = surface, store, url, prefix
        self.client = surface.module.Client(url, prefix=prefix, timeout=PATIENT)
        self.names = (f"case{number}" for number in itertools.count())

    def policies(self, case: Case) -> None:
        limiter = self.client.limiter
        if "canonical" not in case:
            with pytest.raises(quotalock.InvalidPolicy) as caught:
                limiter("policy", case["input"])
            return assert_error(case["id"], case, caught.value)
        canonical = limiter("policy", case["input"]).policy
        assert canonical == case["canonical"], case["id"]
        assert limiter("policy", canonical).policy == canonical, case["id"]
        rules = [
            quotalock.Rule(rule["limit"], rule["period"] / 1e6, rule["algorithm"], rule.get("capacity"))
            for rule in case["rules"]
        ]
        for rule, given in zip(rules, case["rules"], strict=True):
            assert (rule.limit, rule.period) == (given["limit"], given["period"] / 1e6), case["id"]
            assert rule.algorithm == given["algorithm"], case["id"]
            assert rule.capacity == given.get("capacity", given["limit"]), case["id"]
        assert limiter("policy", rules).policy == canonical, case["id"]
        return None

    def keys(self, case: Case) -> None:
        client = self.surface.module.Client(self.url, prefix=case["prefix"], timeout=PATIENT)
        limiter = client.limiter(case["name"], "10/minute", spec.octets(case, "scope"))
        key, redis_key = spec.octets(case, "key"), spec.octets(case, "redis_key")
        assert limiter.redis_key(key) == redis_key, case["id"]
        if "key" in case:
            assert limiter.redis_key(case["key"]) == redis_key, case["id"]
        self.surface.call(limiter.reset, key)
        assert self.surface.call(self.surface.testing.get, client, redis_key) is None, case["id"]
        self.surface.call(limiter.consume, key)
        assert self.surface.call(self.surface.testing.get, client, redis_key) is not None, case["id"]
        self.surface.call(limiter.reset, key)
        self.surface.call(client.close)

    def errors(self, case: Case) -> None:
        with pytest.raises(quotalock.QuotalockError) as caught:
            self.bad_call(case["op"], in_seconds(case["args"]))
        assert_error(case["id"], case, caught.value)

    def bad_call(self, op: str, args: Case) -> None:
        if "request" in args:
            args["request_id"] = args.pop("request")
        if op == "client":
            self.surface.module.Client(**args)
            return
        limiter = self.client.limiter(**OWN | (args if op == "limiter" else {}))
        args = GOOD.get(op, {}) | args
        if op == "consume_all":
            # The charges are keys and costs for this limiter.
            args["charges"] = [(limiter, key, cost) for key, cost in args["charges"]]
            self.surface.call(self.client.consume_all, **args)
        elif op in ("settle", "cancel"):
            reservation = limiter.reservation(args.pop("key"), "00112233445566778899aabbccddeeff")
            self.surface.call(getattr(reservation, op), **args)
        elif op != "limiter":
            self.surface.call(getattr(limiter, op), **args)

    def steps(self, case: Case) -> None:
        run = Run(self, case)
        for number, step in enumerate(case["steps"]):
            place = f"{case['id']} step {number} on {self.store}"
            self.surface.call(self.surface.testing.set_time, self.client, step["at"])
            if "error" in step:
                with pytest.raises(quotalock.QuotalockError) as caught:
                    run.perform(step)
                assert_error(place, step["error"], caught.value)
            else:
                assert run.perform(step) == self.expected(step), place
        self.surface.call(self.surface.testing.set_time, self.client, None)

    def answers(self, case: Case) -> None:
        answers.execute(self.surface, self.url, f"{self.prefix}-{next(self.names)}", case)

    def addresses(self, case: Case) -> None:
        arguments = {name: case[name] for name in ("peer", "forwarded", "trusted", "ipv6_prefix") if name in case}
        if "expect" in case:
            assert self.surface.module.client_address(**arguments) == case["expect"], case["id"]
            return
        with pytest.raises(quotalock.QuotalockError) as caught:
            self.surface.module.client_address(**arguments)
        assert_error(case["id"], case, caught.value)

    def locks(self, case: Case) -> None:
        client = self.surface.module.Client(self.url, prefix=f"{self.prefix}-{next(self.names)}", timeout=PATIENT)
        handles = {label: handle(client, how) for label, how in case["handles"].items()}
        texts: dict[str, str] = {}
        for number, step in enumerate(case["steps"]):
            place = f"{case['id']} step {number} on {self.store}"
            self.surface.call(self.surface.testing.set_time, client, step["at"])
            perform = functools.partial(self.lock_step, client, handles, texts, step)
            if "error" in step:
                with pytest.raises(quotalock.QuotalockError) as caught:
                    perform()
                assert_error(place, expected_error(step["error"]), caught.value)
                continue
            expect = step.get("expect") or {}
            if "holders" in expect:
                expect = {**expect, "holders": [in_seconds(holder) for holder in expect["holders"]]}
            if "remaining" in expect:
                expect = {**expect, "remaining": seconds(expect["remaining"])}
            assert perform() == expect, place
        self.surface.call(client.close)

    def lock_step(self, client: Any, handles: dict[str, Any], texts: dict[str, str], step: Case) -> Case:
        call, testing = self.surface.call, self.surface.testing
        op = step["op"]
        if op == "adopt":
            handles[step["handle"]] = call(client.adopt, texts[step["text"]], False, step.get("name"))
            return {"adopted": True}
        lock = handles[step["handle"]]
        if op == "handover":
            texts[step["as"]] = lock.handover()
            return {}
        if op in ("acquire", "release"):
            return {f"{op}d": call(getattr(lock, op))}
        if op == "extend":
            return {"extended": call(lock.extend, *([step["ttl"] / 1e6] if "ttl" in step else []))}
        if op == "state":
            return {name: getattr(lock, name) for name in ("state", "held", "remaining", "token")}
        if op == "inspect":
            seen = call(lock.inspect)
            holders = [{field: getattr(holder, field) for field in HOLDER} for holder in seen.holders]
            return {"token": seen.token, "waiters": seen.waiters, "healed": seen.healed, "holders": holders}
        if op == "force_release":
            return {"count": call(lock.force_release)}
        if op in ("raise_floor", "assert_held"):
            getattr(lock, op)(*([step["floor"]] if op == "raise_floor" else []))
            return {}
        if op == "redis_keys":
            stem = client.prefix.encode() + b":"
            assert all(key.startswith(stem) for key in lock.redis_keys)
            tails = [key[len(stem) :] for key in lock.redis_keys]
            is_hex = "redis_keys_hex" in step["expect"]
            return (
                {"redis_keys_hex": [t.hex() for t in tails]} if is_hex else {"redis_keys": [t.decode() for t in tails]}
            )
        return raw_step(call, testing, client, lock.redis_keys[0], step) or {}

    def lock_errors(self, case: Case) -> None:
        with pytest.raises(quotalock.QuotalockError) as caught:
            handle(self.client, case["handle"])
        assert_error(case["id"], expected_error(case["error"]), caught.value)

    def cache(self, case: Case) -> None:
        client = self.surface.module.Client(self.url, prefix=f"{self.prefix}-{next(self.names)}", timeout=PATIENT)
        caches.Caches(self, client, case).execute(case)
        self.surface.call(client.close)

    once = cache

    def cache_errors(self, case: Case) -> None:
        client = self.surface.module.Client(self.url, prefix=f"{self.prefix}-{next(self.names)}", timeout=PATIENT)
        with pytest.raises(quotalock.QuotalockError) as caught:
            caches.bad_call(self.surface, client, case)
        assert_error(case["id"], case, caught.value)
        self.surface.call(client.close)

    def stock(self, case: Case) -> None:
        client = self.surface.module.Client(self.url, prefix=f"{self.prefix}-{next(self.names)}", timeout=PATIENT)
        stocks.Stocks(self, client, case).execute(case, assert_error)
        self.surface.call(client.close)

    def stock_errors(self, case: Case) -> None:
        client = self.surface.module.Client(self.url, prefix=f"{self.prefix}-{next(self.names)}", timeout=PATIENT)
        with pytest.raises(quotalock.QuotalockError) as caught:
            stocks.bad_call(self.surface.call, client, case["op"], case["args"])
        assert_error(case["id"], case, caught.value)
        self.surface.call(client.close)

    def expected(self, step: Case) -> Any:
        """What a step must answer, in the units and with the source of this surface."""
        expect = step.get("expect")
        return self.answer(expect) if expect and "allowed" in expect else expect

    def answer(self, expect: Case) -> Case:
        expect = Case(would_deny=False) | in_seconds(expect)
        for several, each in (("rules", in_seconds), ("decisions", self.answer)):
            if several in expect:
                expect[several] = [each(one) for one in expect[several]]
        return {**expect, "source": "memory" if self.store == "memory" else "redis"}


class Run:
    """One case's limiters and reservations, by label; that of the case itself has none."""

    def __init__(self, runner: Runner, case: Case) -> None:
        self.surface, self.client = runner.surface, runner.client
        main = next(runner.names)
        self.limiters = {None: self.client.limiter(main, case["policy"])}
        for label, more in case.get("limiters", {}).items():
            name = main if more.get("name") == "main" else f"{main}-{label}"
            options = {option: more[option] for option in ("scope", "enforce") if option in more}
            self.limiters[label] = self.client.limiter(name, more["policy"], **options)
        self.ids: dict[str, str] = {}

    def perform(self, step: Case) -> Any:
        call, testing = self.surface.call, self.surface.testing
        op, limiter = step["op"], self.limiters[step.get("limiter")]
        once = {"request_id": step["request"]} if "request" in step else {}
        if op == "consume_all":
            return combined(call(self.client.consume_all, [self.charge(each) for each in step["charges"]], **once))
        key = spec.octets(step, "key")
        redis_key = limiter.redis_key(key)
        if op in ("consume", "peek"):
            return shown(call(getattr(limiter, op), key, step["cost"], **once))
        if op == "consume_up_to":
            return shown(call(limiter.consume_up_to, key, step["most"]))
        if op == "refund":
            return shown(call(limiter.refund, key, step["amount"], **once))
        if op == "reserve":
            how = {"unsettled": step["unsettled"]} if "unsettled" in step else {}
            reservation = call(limiter.reserve, key, step["estimate"], step["ttl"] / 1e6, **how)
            assert bool(reservation) is reservation.decision.allowed
            self.ids[step["as"]] = reservation.id
            return shown(reservation.decision)
        if op in ("settle", "cancel"):
            reservation = limiter.reservation(key, self.ids[step["reservation"]])
            return {"settled": call(getattr(reservation, op), *([step["actual"]] if op == "settle" else []))}
        if op == "block":
            return shown(call(limiter.block, key, step["duration"] / 1e6))
        if op == "reset":
            return {"existed": call(limiter.reset, key)}
        return raw_step(call, testing, self.client, redis_key, step)

    def charge(self, charge: Case) -> tuple[Any, bytes | None, int]:
        return self.limiters[charge.get("limiter")], spec.octets(charge, "key"), charge["cost"]


def raw_step(call: Any, testing: Any, client: Any, redis_key: bytes, step: Case) -> Case | None:
    """A step about what stands at a Redis key."""
    op = step["op"]
    if op == "plant":
        value = spec.octets(step, "value")
        call(testing.put, client, redis_key, step.get("type", "string"), b"x" if value is None else value)
        return None
    if op == "persist":
        call(testing.put, client, redis_key, "persist", b"")
        return None
    if op == "raw":
        stored = call(testing.get, client, redis_key)
        ttl = {"ttl": stored is not None and stored[1] is not None} if "ttl" in step["expect"] else {}
        return {"exists": stored is not None, **ttl}
    raise AssertionError(f"unknown op {op}")


def handle(client: Any, how: Case) -> Any:
    """The handle of a lock that a case describes; nothing but its steps renews it."""
    options: Case = {option: how[option] for option in ("permits", "weight", "token_above", "label") if option in how}
    if "ttl" in how:
        options["ttl"] = how["ttl"] / 1e6
    if how["kind"] == "lock_all":
        names = how["names"] if "names" in how else [bytes.fromhex(name) for name in how["names_hex"]]
        return client.lock_all(names, renew=False, **options)
    name = how["name"] if "name" in how else bytes.fromhex(how["name_hex"])
    return getattr(client, how["kind"])(name, renew=False, **options)


def expected_error(given: Case | str) -> Case:
    """What an error must be, that may be a code alone."""
    return {"code": given, "contains": []} if isinstance(given, str) else given


# What a case of errors.json leaves out.
OWN = {"name": "limiter", "policy": "10/minute"}
GOOD: dict[str, Case] = {
    "consume": {"key": "k"},
    "consume_up_to": {"key": "k", "most": 1},
    "reserve": {"key": "k", "estimate": 1, "ttl": 1.0},
    "reservation": {"key": "k"},
    "settle": {"key": "k", "actual": 1},
    "cancel": {"key": "k"},
    "peek": {"key": "k"},
    "refund": {"key": "k", "amount": 1},
    "block": {"key": "k", "duration": 1.0},
    "wait": {"key": "k", "timeout": 0.0},
    "reset": {"key": "k"},
}
HOLDER = ("label", "token", "permits", "since", "until")
RULE = ("allowed", "limit", "remaining", "retry_after", "reset_after")


def shown(decision: quotalock.Decision) -> Case:
    """A decision as the vectors write it, its own fields and all of its rules'."""
    assert bool(decision) is decision.allowed
    rules = [{field: getattr(rule, field) for field in RULE} for rule in decision.rules]
    return {field: getattr(decision, field) for field in (*RULE, "would_deny", "cost", "healed", "source")} | {
        "rules": rules
    }


def combined(decision: quotalock.CombinedDecision) -> Case:
    """A decision about several keys as the vectors write it."""
    assert bool(decision) is decision.allowed
    fields = ("allowed", "would_deny", "binding", "retry_after", "source")
    return {field: getattr(decision, field) for field in fields} | {"decisions": [shown(d) for d in decision.decisions]}


def in_seconds(fields: Case) -> Case:
    """The same with its durations in seconds."""
    durations = set(spec.api()["durations"])
    return {name: seconds(value) if name in durations else value for name, value in fields.items()}


def assert_error(place: str, expected: Case, error: quotalock.QuotalockError) -> None:
    assert error.code == expected["code"], f"{place}: {error}"
    assert type(error).__name__ == spec.api()["errors"][error.code], place
    for part in expected["contains"]:
        assert part in str(error), place
    for secret in expected.get("never", []):
        assert secret not in f"{error} {error!r} {error.args}", place
