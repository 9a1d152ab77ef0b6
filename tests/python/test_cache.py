"""Caches and once as a Python programmer sees them, on both faces; waiting is in `test_stampede`."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest
import quotalock
from surface import Surface, fresh_memory


class Loader:
    """Counts how often it loads. On a loop it can be a coroutine function."""

    def __init__(self, surface: Surface, made: Any) -> None:
        self.made, self.loads = made, 0
        self.load = self if surface.name == "python" else self.awaited

    def __call__(self) -> Any:
        self.loads += 1
        if isinstance(self.made, BaseException):
            raise self.made
        return self.made

    async def awaited(self) -> Any:
        return self()


@pytest.mark.parametrize(("made", "got"), [(b"\xff\x00", b"\xff\x00"), ("ł", "ł".encode()), (b"", b""), (None, None)])
def test_a_value_is_loaded_once(surface: Surface, client: Any, made: Any, got: bytes | None) -> None:
    pages, loader = client.cache("pages"), Loader(surface, made)
    assert surface.call(pages.peek, "home") is None
    assert surface.call(pages.get, "home", loader.load) == got
    assert surface.call(pages.get, b"home", loader.load, wait=0.0) == got
    assert surface.call(pages.get, "home", loader) == got
    assert loader.loads == 1
    seen = surface.call(pages.peek, "home")
    assert (seen.value, seen.stale) == (got, False)
    assert 0 <= seen.age < 5
    assert surface.call(pages.invalidate, "home") is True
    assert surface.call(pages.invalidate, "home") is False
    surface.call(pages.get, "home", loader)
    assert loader.loads == 2


def test_a_put_replaces(surface: Surface, client: Any) -> None:
    pages, loader = client.cache("pages"), Loader(surface, "loaded")
    assert surface.call(pages.put, "home", "put")
    assert surface.call(pages.get, "home", loader.load) == b"put"
    assert surface.call(pages.put, "home", None)
    assert surface.call(pages.get, "home", loader.load) is None
    assert loader.loads == 0


def test_what_is_negative_ends_sooner(surface: Surface, client: Any) -> None:
    pages = client.cache("pages", negative=0.0)
    loader = Loader(surface, None)
    assert [surface.call(pages.get, "home", loader.load) for _ in range(2)] == [None, None]
    assert loader.loads == 2


def test_json_comes_back_as_it_was(surface: Surface, client: Any) -> None:
    users = client.cache("users")
    made = {"name": "ł", "tags": ["a", 1, 2.5, True, None]}
    loader = Loader(surface, made)
    assert [surface.call(users.get_json, "ada", loader.load) for _ in range(2)] == [made, made]
    assert loader.loads == 1
    assert surface.call(users.peek, "ada").value == '{"name":"ł","tags":["a",1,2.5,true,null]}'.encode()
    # Its loader too gets what the others will get.
    assert surface.call(users.get_json, "pair", lambda: (1, 2)) == [1, 2]
    nobody = Loader(surface, None)
    assert [surface.call(users.get_json, "nobody", nobody.load) for _ in range(2)] == [None, None]
    assert nobody.loads == 1
    for odd in (float("nan"), object(), {1, 2}):
        with pytest.raises((ValueError, TypeError)):
            surface.call(users.get_json, f"odd:{odd}", Loader(surface, odd).load)


def test_several_are_loaded_together(surface: Surface, client: Any) -> None:
    asked: list[Any] = []
    users = client.cache("users")

    def load(missing: list[Any]) -> dict[Any, Any]:
        asked.append(missing)
        return {key: key if isinstance(key, bytes) else key.upper() for key in missing if key != "nobody"} | {"x": "y"}

    async def awaited(missing: list[Any]) -> dict[Any, Any]:
        return load(missing)

    assert surface.call(users.put, "ada", "put")
    loader = load if surface.name == "python" else awaited
    keys = ["ada", "bob", b"\xff", "nobody"]
    all_of_them = {"ada": b"put", "bob": b"BOB", b"\xff": b"\xff", "nobody": None}
    found = surface.call(users.get_many, keys, loader)
    assert (found, list(found)) == (all_of_them, keys)
    assert asked == [["bob", b"\xff", "nobody"]]
    assert surface.call(users.get_many, iter(keys), load) == all_of_them
    assert len(asked) == 1
    assert surface.call(users.peek, "x") is None


def test_a_failure_of_several_is_that_of_each(surface: Surface, client: Any) -> None:
    users = client.cache("users", error_ttl=60.0)

    def load(missing: list[Any]) -> dict[Any, Any]:
        raise RuntimeError("down")

    with pytest.raises(RuntimeError, match="down"):
        surface.call(users.get_many, ["ada", "bob"], load)
    with pytest.raises(quotalock.LoadFailed, match="RuntimeError: down"):
        surface.call(users.get, "ada", lambda: "x")
    # The others are loaded and stored all the same.
    with pytest.raises(quotalock.LoadFailed, match="RuntimeError: down"):
        surface.call(users.get_many, ["ada", "eve"], lambda missing: dict.fromkeys(missing, "new"))
    assert surface.call(users.peek, "eve").value == b"new"
    with pytest.raises(TypeError, match="return a dict"):
        surface.call(users.get_many, ["kim"], lambda _: ["x"])
    with pytest.raises(TypeError, match="give a str or bytes"):
        surface.call(users.get_many, ["lee"], lambda _: {"lee": 42})


def test_the_error_of_a_loader_is_its_caller_s(surface: Surface, client: Any) -> None:
    pages, soon = client.cache("pages", error_ttl=60.0), client.cache("soon", error_ttl=0.05)
    error = ZeroDivisionError("no ł")
    with pytest.raises(ZeroDivisionError) as caught:
        surface.call(pages.get, "home", Loader(surface, error).load)
    assert caught.value is error
    good = Loader(surface, "good")
    with pytest.raises(quotalock.LoadFailed) as told:
        surface.call(pages.get, "home", good.load)
    assert (told.value.code, good.loads) == ("load_failed", 0)
    assert 'cache "pages" for "home"' in str(told.value)
    assert "ZeroDivisionError: no ł" in str(told.value)
    with pytest.raises(ZeroDivisionError):
        surface.call(soon.get, "home", Loader(surface, error).load)
    time.sleep(0.1)
    assert surface.call(soon.get, "home", good.load) == b"good"


def test_an_error_that_cannot_be_shown_is_one_all_the_same(surface: Surface, client: Any) -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            raise ValueError("shown")

    def load() -> str:
        raise OddError

    pages = client.cache("pages", error_ttl=60.0)
    with pytest.raises(OddError):
        surface.call(pages.get, "home", load)
    with pytest.raises(quotalock.LoadFailed, match="OddError"):
        surface.call(pages.get, "home", lambda: "never")


def test_a_loader_that_waits_for_itself_is_told(surface: Surface, client: Any) -> None:
    pages = client.cache("pages", error_ttl=0.0)

    def load() -> Any:
        return pages.get("home", lambda: "never", wait=0.2)

    with pytest.raises(quotalock.Timeout):
        surface.call(pages.get, "home", load)
    assert surface.call(pages.get, "home", lambda: "x") == b"x"


def test_what_is_stale_is_served_while_a_loader_fails(surface: Surface, client: Any) -> None:
    pages = client.cache("pages", fresh=0.05, stale=60.0, error_ttl=60.0)
    surface.call(pages.get, "home", Loader(surface, "old").load)
    time.sleep(0.1)
    with pytest.raises(ZeroDivisionError):
        surface.call(pages.get, "home", Loader(surface, ZeroDivisionError()).load)
    good = Loader(surface, "new")
    assert surface.call(pages.get, "home", good.load) == b"old"
    assert good.loads == 0
    assert surface.call(pages.peek, "home").stale is True


@pytest.mark.parametrize("end", [KeyboardInterrupt("stop"), SystemExit("stop")])
def test_what_ends_a_program_is_nobody_else_s_error(url: str, prefix: str, end: BaseException) -> None:
    client = quotalock.Client(url, prefix=prefix, timeout=10.0)
    pages, orders = client.cache("pages"), client.once("orders", error_ttl=60.0)
    loader = Loader(Surface("python"), end)
    with pytest.raises(type(end)):
        pages.get("home", loader)
    assert pages.get("home", lambda: "good", wait=0.0) == b"good"
    with pytest.raises(type(end)):
        orders.run("1", loader)
    assert orders.run("1", lambda: "good", wait=0.0) == b"good"
    with pytest.raises(type(end)):
        pages.get_many(["a", "b"], lambda _: loader())
    assert pages.get_many(["a", "b"], dict.fromkeys, wait=0.0) == {"a": None, "b": None}


@pytest.mark.parametrize("odd", [42, bytearray(b"x"), ["x"]])
def test_a_value_of_another_type_is_a_type_error(surface: Surface, client: Any, odd: Any) -> None:
    pages = client.cache("pages", error_ttl=0.0)
    with pytest.raises(TypeError, match="give a str or bytes"):
        surface.call(pages.get, "home", Loader(surface, odd).load)
    assert surface.call(pages.get, "home", Loader(surface, "x").load, wait=0.0) == b"x"
    with pytest.raises(TypeError, match="give a str or bytes"):
        surface.call(pages.put, "home", odd)
    with pytest.raises(TypeError, match="give a str or bytes"):
        surface.call(client.once("orders").claim, "1", odd)
    with pytest.raises(TypeError, match="give a str or bytes"):
        surface.call(client.once("orders").run, "1", Loader(surface, odd).load)


def test_who_claims_first_has_it(surface: Surface, client: Any) -> None:
    orders = client.once("orders")
    first = surface.call(orders.claim, "order:1", "mine")
    assert first
    assert (first.first, first.value, first.running) == (True, b"mine", False)
    assert 86_000 < first.remaining <= 86_400
    again = surface.call(orders.claim, b"order:1", b"yours")
    assert not again
    assert (again.first, again.value, again.running) == (False, b"mine", False)
    assert 0 <= again.age < 5
    assert surface.call(orders.claim, "order:2").value is None
    assert surface.call(orders.release, "order:1") is True
    assert surface.call(orders.release, "order:1") is False
    assert surface.call(orders.claim, "order:1")


def test_a_function_runs_once(surface: Surface, client: Any) -> None:
    orders, loader = client.once("orders"), Loader(surface, "receipt")
    assert [surface.call(orders.run, "1", loader.load) for _ in range(2)] == [b"receipt"] * 2
    assert surface.call(orders.claim, "1").value == b"receipt"
    assert loader.loads == 1
    bad = Loader(surface, ZeroDivisionError("no"))
    for _ in range(2):
        # Trying again is right.
        with pytest.raises(ZeroDivisionError):
            surface.call(orders.run, "2", bad.load)
    assert bad.loads == 2
    assert surface.call(orders.run, "2", loader.load) == b"receipt"
    remembers = client.once("remembers", error_ttl=60.0)
    with pytest.raises(ZeroDivisionError):
        surface.call(remembers.run, "2", bad.load)
    with pytest.raises(quotalock.LoadFailed, match="ZeroDivisionError: no"):
        surface.call(remembers.run, "2", loader.load)


def test_while_a_function_runs_nobody_is_first(surface: Surface, client: Any) -> None:
    orders = client.once("orders", lease=60.0)
    told: list[Any] = []

    def claim() -> str:
        told.append(orders.claim("1"))
        return "receipt"

    async def awaited() -> str:
        told.append(await orders.claim("1"))
        return "receipt"

    surface.call(orders.run, "1", claim if surface.name == "python" else awaited)
    assert (told[0].first, told[0].running, told[0].value) == (False, True, None)
    assert 50 < told[0].remaining <= 60


def test_what_can_never_be_right_is_refused(surface: Surface, client: Any) -> None:
    call, pages, orders = surface.call, client.cache("pages"), client.once("orders")
    refused: list[tuple[str, Any, tuple[Any, ...], dict[str, Any]]] = [
        ("name", client.cache, ("",), {}),
        ("name", client.once, ("n" * 1025,), {}),
        *((option, client.cache, ("n",), {option: bad}) for option in ("fresh", "lease", "beta") for bad in (-1, "1")),
        *(
            (option, client.cache, ("n",), {option: 1e9})
            for option in ("fresh", "stale", "lease", "negative", "error_ttl")
        ),
        *((option, client.once, ("n",), {option: 1e9}) for option in ("ttl", "lease", "error_ttl")),
        ("beta", client.cache, ("n",), {"beta": True}),
        ("beta", client.cache, ("n",), {"beta": float("nan")}),
        ("beta", client.cache, ("n",), {"beta": 10**400}),
        ("when_away", client.cache, ("n",), {"when_away": "never"}),
        ("key", pages.get, ("", str), {}),
        ("key", pages.peek, ("k" * 1025,), {}),
        ("wait", pages.get, ("k", str), {"wait": -1}),
        ("wait", pages.get_many, (["k"], dict), {"wait": "1"}),
        ("wait", orders.run, ("k", str), {"wait": True}),
        ("0 keys", pages.get_many, ([], dict), {}),
        ("1001 keys", pages.get_many, ([str(n) for n in range(1001)], dict), {}),
        ("twice", pages.get_many, (["a", b"a"], dict), {}),
        ("UTF-8", pages.get, ("\ud800", str), {}),
        ("UTF-8", orders.claim, ("1", "\ud800"), {}),
    ]
    for said, method, arguments, options in refused:
        with pytest.raises(quotalock.InvalidArgument) as caught:
            call(method, *arguments, **options)
        assert said in str(caught.value), caught.value
    for keys in ("ab", b"ab", 42, None, [4.2]):
        with pytest.raises(TypeError, match="give a"):
            call(pages.get_many, keys, dict)
    for key in (4.2, None, bytearray(b"k")):
        with pytest.raises(TypeError, match="give a str, bytes or an int"):
            call(pages.get, key, str)
        with pytest.raises(TypeError, match="give a str or bytes"):
            call(orders.run, key, str)
    for given in ("no function", None, 5):
        for method in (pages.get, pages.get_json, orders.run):
            with pytest.raises(TypeError, match="give a function"):
                call(method, "k", given)
        with pytest.raises(TypeError, match="give a function"):
            call(pages.get_many, ["k"], given)
    # Nobody was asked, so nobody hears of it.
    assert call(pages.get, "k", lambda: "x") == b"x"
    with pytest.raises(TypeError):
        client.cache(42)


def test_keys_and_names(surface: Surface) -> None:
    module = "quotalock" if surface.name == "python" else "quotalock.aio"
    client = surface.module.Client(fresh_memory())
    pages, orders = client.cache("pages"), client.once("orders")
    assert (pages.name, orders.name) == ("pages", "orders")
    assert pages.redis_key("ł") == "ql:cache:pages:{ł}".encode()
    assert orders.redis_key(b"\xff") == b"ql:once:orders:{\xff}"
    assert (repr(pages), repr(orders)) == (f"<{module}.Cache 'pages'>", f"<{module}.Once 'orders'>")
    surface.call(surface.testing.set_time, client, 1_700_000_000_000_000)
    claimed = surface.call(orders.claim, "1", "x")
    assert repr(claimed) == "Claimed(first=True, value=b'x', running=False, remaining=86400.0, age=0.0)"
    surface.call(pages.put, "k", "x")
    assert repr(surface.call(pages.peek, "k")) == "Seen(value=b'x', stale=False, age=0.0)"
    assert surface.call(pages.peek, "k") == surface.call(pages.peek, "k")
    assert claimed != surface.call(orders.claim, "1")


def test_what_is_wrong_in_redis_has_its_class(surface: Surface, url: str, prefix: str) -> None:
    client = surface.module.Client(url, prefix=prefix, timeout=10.0, on_error="open")
    pages, orders, loader = client.cache("pages"), client.once("orders"), Loader(surface, "x")
    surface.call(surface.testing.put, client, pages.redis_key("k"), "list", "x")
    surface.call(surface.testing.put, client, orders.redis_key("k"), "list", "x")
    for method in (pages.get, orders.run):
        with pytest.raises(quotalock.WrongType):
            surface.call(method, "k", loader.load)
    surface.call(client.close)
    for method in (pages.get, orders.run):
        with pytest.raises(quotalock.Closed):
            surface.call(method, "k", loader.load)
    away = surface.module.Client("redis://127.0.0.1:1", on_error="open")
    for method in (away.cache("pages").get, away.once("orders").run):
        with pytest.raises(quotalock.Unavailable):
            surface.call(method, "k", loader.load)
    assert loader.loads == 0


def test_without_redis_a_page_may_be_slow_but_there(surface: Surface) -> None:
    client, loader = surface.module.Client("redis://127.0.0.1:1"), Loader(surface, "x")
    pages = client.cache("pages", when_away="load")
    assert surface.call(pages.get, "home", loader.load) == b"x"
    assert surface.call(pages.get_many, ["a", "b"], lambda missing: dict.fromkeys(missing, "x")) == {
        "a": b"x",
        "b": b"x",
    }
    with pytest.raises(ZeroDivisionError):
        surface.call(pages.get, "home", Loader(surface, ZeroDivisionError()).load)
    with pytest.raises(quotalock.Unavailable):
        surface.call(pages.peek, "home")


def test_large_values_come_back(surface: Surface, url: str, prefix: str) -> None:
    pages = surface.module.Client(url, prefix=prefix, timeout=30.0).cache("pages")
    large = bytes(range(256)) * (16 << 12)
    assert surface.call(pages.get, "k", lambda: large) == large
    assert surface.call(pages.get, "k", Loader(surface, "never").load) == large
    assert surface.call(pages.invalidate, "k")


def test_asking_a_cache_imports_neither_asyncio_nor_json() -> None:
    call = "quotalock.Client('memory://').cache('a').get('k', str)"
    code = f"import sys, quotalock; {call}; print({{'asyncio', 'json'}} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"
