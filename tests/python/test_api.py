"""The module against the contract by reflection, and the stub against the module."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import quotalock
import quotalock.testing
import spec
from quotalock import aio
from quotalock.aio import testing as aio_testing

API = spec.api()
LOCK_DEFAULTS = {
    name: API["defaults"][name + "_ms"] / 1000 if name + "_ms" in API["defaults"] else API["defaults"][name]
    for name in (*API["types"]["Client"]["methods"]["lock"][1:], "weight")
} | {"cancel_on_loss": False}

ONCE, CACHE = (
    {
        name.removesuffix("_ms"): default / 1000 if name.endswith("_ms") and default is not None else default
        for name, default in API["defaults"][of].items()
    }
    for of in ("once", "cache")
)
WAIT = {"wait": CACHE.pop("wait")}

STOCK = API["defaults"]["stock"]
HOLD = STOCK["hold_ms"] / 1000

# What the languages have agreed on beyond the contract.
DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    ("Client", "stock"): {"scope": None, "ledger_cap": STOCK["ledger_cap"], "retention": STOCK["retention_ms"] / 1000},
    ("Client", "take_all"): {"hold": HOLD, "request_id": None},
    ("Client", "extend_all"): {"hold": HOLD},
    ("Client", "once"): {name: default for name, default in ONCE.items() if name != "wait"},
    ("Client", "cache"): CACHE,
    ("Stock", "open"): {"per_buyer": None, "ends": None, "prizes": None},
    ("Stock", "restock"): {"prizes": None, "request_id": None},
    ("Stock", "take"): {"quantity": STOCK["quantity"], "hold": HOLD, "request_id": None},
    ("Stock", "extend"): {"hold": HOLD},
    ("Stock", "reservations"): {"cursor": None, "count": STOCK["count"]},
    ("Stock", "ledger"): {"after": None, "count": STOCK["count"]},
    ("Once", "claim"): {"value": None},
    ("Once", "run"): {"wait": ONCE["wait"]},
    ("Cache", "get"): WAIT,
    ("Cache", "get_many"): WAIT,
    ("Cache", "get_json"): WAIT,
}


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def parameters(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


def is_property(kind: type, name: str) -> bool:
    return inspect.isdatadescriptor(inspect.getattr_static(kind, name))


def only(module: ModuleType) -> dict[str, Any]:
    """What this face has beyond the other languages."""
    found: dict[str, Any] = API["only"]["aio" if module is aio else "python"]
    return found


@pytest.mark.parametrize("module", [quotalock, aio], ids=["blocking", "asyncio"])
@pytest.mark.parametrize("name", API["types"])
def test_a_type_has_exactly_what_the_contract_says(module: ModuleType, name: str) -> None:
    kind, contract = getattr(module, name), API["types"][name]
    methods = dict(contract.get("methods", {}))
    properties = [*contract["properties"], *only(module).get(name, {}).get("properties", [])]
    for method, arguments in methods.items():
        # Whatever makes a handle of a lock takes what only this face has.
        if "token_above" in arguments:
            methods[method] = arguments + only(module).get("parameters", [])
    assert public(kind) == {*methods, *properties}
    assert {method: parameters(getattr(kind, method)) for method in methods} == methods
    assert all(is_property(kind, property) for property in properties)
    if "construct" in contract:
        assert parameters(kind) == contract["construct"]


@pytest.mark.parametrize("name", [name for name in API["types"] if "construct" not in API["types"][name]])
def test_what_calls_return_cannot_be_made_by_hand(name: str) -> None:
    with pytest.raises(TypeError):
        getattr(quotalock, name)()


@pytest.mark.parametrize("module", [quotalock, aio], ids=["blocking", "asyncio"])
def test_the_module_has_exactly_what_the_contract_says(module: ModuleType) -> None:
    assert set(module.__all__) == {*API["types"], *API["functions"], *API["errors"].values(), "QuotalockError"}
    for name, arguments in API["functions"].items():
        more = only(module).get("parameters", []) if "renew" in arguments else []
        assert parameters(getattr(module, name)) == arguments + more


@pytest.mark.parametrize("module", [quotalock.testing, aio_testing], ids=["blocking", "asyncio"])
def test_the_testing_module_has_exactly_what_the_contract_says(module: ModuleType) -> None:
    assert {name: parameters(getattr(module, name)) for name in module.__all__} == API["testing"]


@pytest.mark.parametrize("module", [quotalock, aio], ids=["blocking", "asyncio"])
def test_defaults(module: ModuleType) -> None:
    defaults = API["defaults"]
    client = inspect.signature(module.Client).parameters
    assert client["url"].default is None
    assert client["prefix"].default == defaults["prefix"] == module.Client("memory://").prefix
    assert client["timeout"].default == defaults["timeout_ms"] / 1000
    assert client["on_error"].default == defaults["on_error"]
    assert client["request_memory"].default == defaults["request_memory_ms"] / 1000
    limiter = inspect.signature(module.Client.limiter).parameters
    assert (limiter["scope"].default, limiter["enforce"].default) == (None, defaults["enforce"])
    assert inspect.signature(module.Limiter.reserve).parameters["unsettled"].default == defaults["unsettled"]
    for asked_once in (module.Limiter.consume, module.Limiter.refund, module.Client.consume_all):
        assert inspect.signature(asked_once).parameters["request_id"].default is None
    for verb in ("consume", "peek", "require", "wait"):
        assert inspect.signature(getattr(module.Limiter, verb)).parameters["cost"].default == defaults["cost"]
    for maker, arguments in API["types"]["Client"]["methods"].items():
        if "token_above" in arguments:
            options = inspect.signature(getattr(module.Client, maker)).parameters
            given = {name: option.default for name, option in options.items() if name in LOCK_DEFAULTS}
            assert given == {name: default for name, default in LOCK_DEFAULTS.items() if name in options}
            assert not ({"ttl", *arguments[-8:]} - given.keys())
    options = inspect.signature(module.quorum_lock).parameters
    given = {name: option.default for name, option in options.items() if name not in ("clients", "name")}
    assert given == {name: LOCK_DEFAULTS[name] for name in given}
    assert inspect.signature(module.Lock.acquire).parameters["wait"].default is None
    assert inspect.signature(module.Lock.extend).parameters["ttl"].default is None
    assert module.Client("memory://").lock("sku:42").ttl == LOCK_DEFAULTS["ttl"]
    for kind, method in DEFAULTS:
        signature = inspect.signature(getattr(getattr(module, kind), method)).parameters
        optional = {name: given.default for name, given in signature.items() if given.default is not given.empty}
        assert optional == DEFAULTS[kind, method], (kind, method)
    assert inspect.signature(module.limit).parameters["cost"].default == defaults["cost"]
    assert inspect.signature(module.Rule).parameters["algorithm"].default == defaults["algorithm"]
    assert inspect.signature(module.Rule).parameters["capacity"].default is None
    assert module.Rule(1, 1).algorithm == defaults["algorithm"]


def test_every_algorithm_of_the_contract_makes_a_rule() -> None:
    for algorithm in API["algorithms"]:
        assert quotalock.Rule(1, 60, algorithm).algorithm == algorithm


def test_each_error_has_its_class_and_code() -> None:
    classes = {kind.code: kind for kind in quotalock.QuotalockError.__subclasses__()}
    assert {code: kind.__name__ for code, kind in classes.items()} == API["errors"]
    for kind in classes.values():
        assert kind is getattr(quotalock, kind.__name__) is getattr(aio, kind.__name__)
        assert f"{kind.__module__}.{kind.__qualname__}" == f"quotalock.{kind.__name__}"


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (quotalock.InvalidArgument, ValueError),
        (quotalock.InvalidPolicy, ValueError),
        (quotalock.Unavailable, ConnectionError),
        (quotalock.Timeout, TimeoutError),
        (quotalock.NotPermitted, PermissionError),
    ],
)
def test_errors_are_the_builtin_ones_that_they_mean(kind: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(kind, builtin)


def test_every_public_thing_says_what_it_is() -> None:
    for module in (quotalock, aio, quotalock.testing, aio_testing):
        assert module.__doc__
        for name in module.__all__:
            thing = getattr(module, name)
            assert thing.__doc__, name
            if inspect.isclass(thing) and not issubclass(thing, Exception):
                assert all(getattr(thing, member).__doc__ for member in public(thing)), name


# That the package and the examples fit the stub is told by `make lint`.
@pytest.mark.long
def test_the_stub_says_what_the_module_has(tmp_path: Path) -> None:
    # Later versions of Python have methods that the oldest, for which `make lint` checks, has not.
    settings = tmp_path / "pyproject.toml"
    oldest, this = 'python_version = "3.10"', f'python_version = "{sys.version_info[0]}.{sys.version_info[1]}"'
    settings.write_text((spec.ROOT / "pyproject.toml").read_text().replace(oldest, this))
    # What is for Django wants settings.
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "django.conf.global_settings"}
    command = [sys.executable, "-m", "mypy.stubtest", "quotalock", "--mypy-config-file", str(settings)]
    done = subprocess.run(command, cwd=spec.ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
