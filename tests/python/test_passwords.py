"""Functions that tell the password: what Python makes of them."""

from __future__ import annotations

import asyncio
import gc
import pickle
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import quotalock
from forks import all_well, fork
from quotalock import aio
from redis import Redis

SECRET = "sw0rdfish"


@pytest.fixture
def app(url: str, prefix: str) -> Iterator[str]:
    """The URL of a user who has a password."""
    with Redis.from_url(url) as admin:
        admin.execute_command("ACL", "SETUSER", prefix, "on", f">{SECRET}", "~*", "&*", "+@all")
        yield url.replace("://", f"://{prefix}@")
        admin.execute_command("ACL", "DELUSER", prefix)


def told() -> str:
    return SECRET


class TestBlocking:
    def test_it_is_called_on_the_thread_that_calls(self, app: str) -> None:
        threads: list[threading.Thread] = []

        def asked() -> str:
            threads.append(threading.current_thread())
            return SECRET

        client = quotalock.Client(app, timeout=5, password=asked)
        assert client.limiter("n", "1/s").consume("k").allowed
        assert threads == [threading.current_thread()]

    def test_what_it_raises_is_raised_as_it_is(self, app: str) -> None:
        error = LookupError("no token")

        def fails() -> str:
            raise error

        client = quotalock.Client(app, timeout=5, password=fails)
        for call in (
            lambda: client.limiter("n", "1/s").consume("k"),
            lambda: client.lock("n").acquire(wait=1),
            lambda: client.cache("n").get("k", lambda: b"v"),
        ):
            with pytest.raises(LookupError) as raised:
                call()
            assert raised.value is error

    @pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
    def test_what_ends_the_program_ends_the_call(self, app: str, kind: type[BaseException]) -> None:
        def ends() -> str:
            raise kind

        with pytest.raises(kind):
            quotalock.Client(app, timeout=5, password=ends).limiter("n", "1/s").consume("k")

    @pytest.mark.parametrize("wrong", [None, b"bytes", 7, ["list"]])
    def test_what_is_no_str_is_refused_and_not_shown(self, app: str, wrong: Any) -> None:
        client = quotalock.Client(app, timeout=5, password=lambda: wrong)
        with pytest.raises(TypeError, match=f"the password function returned an? {type(wrong).__name__}: return a str"):
            client.limiter("n", "1/s").consume("k")

    def test_half_a_surrogate_pair_is_no_password(self, app: str) -> None:
        client = quotalock.Client(app, timeout=5, password=lambda: "\ud800")
        with pytest.raises(quotalock.InvalidArgument, match="has no UTF-8 form"):
            client.limiter("n", "1/s").consume("k")

    def test_a_function_that_needs_its_own_client_hears_so_in_time(self, app: str) -> None:
        def asks_itself() -> str:
            assert limiter.consume("k").allowed
            return SECRET

        client = quotalock.Client(app, timeout=1.0, password=asks_itself)
        limiter = client.limiter("n", "1/s")
        begin = time.monotonic()
        with pytest.raises(quotalock.Timeout, match="the password function told no password"):
            limiter.consume("k")
        assert time.monotonic() - begin < 5

    def test_a_child_asks_for_itself(self, app: str) -> None:
        asked: list[int] = []

        def counted() -> str:
            asked.append(1)
            return SECRET

        limiter = quotalock.Client(app, timeout=5, password=counted).limiter("n", "100/h")
        assert limiter.consume("k").allowed

        def child() -> None:
            assert limiter.consume("k").allowed
            assert len(asked) == 2

        all_well([fork(child)])
        assert len(asked) == 1

    def test_the_function_goes_with_what_the_client_made(self, app: str) -> None:
        class Told:
            def __call__(self) -> str:
                return SECRET

        function = Told()
        client = quotalock.Client(app, timeout=5, password=function)
        limiter = client.limiter("n", "100/h")
        gone = weakref.ref(function)
        del client, function
        gc.collect()
        assert gone() is not None
        assert limiter.consume("k").allowed
        del limiter
        gc.collect()
        assert gone() is None


class TestOnLoops:
    def test_it_may_be_a_function_or_a_coroutine_function(self, app: str) -> None:
        async def later() -> str:
            await asyncio.sleep(0)
            return SECRET

        async def main() -> None:
            for password in (told, later):
                client = aio.Client(app, timeout=5, password=password)
                assert (await client.limiter("n", "100/h").consume("k")).allowed
                await client.close()

        asyncio.run(main())

    @pytest.mark.parametrize("error", [LookupError("no token"), StopIteration(3), asyncio.CancelledError()])
    def test_what_it_raises_all_callers_get(self, app: str, error: BaseException) -> None:
        async def fails() -> str:
            raise error

        async def main() -> list[Any]:
            client = aio.Client(app, timeout=5, password=fails)
            limiter = client.limiter("n", "100/h")
            return await asyncio.gather(*(limiter.consume("k") for _ in range(3)), return_exceptions=True)

        for answer in asyncio.run(main()):
            assert answer is error if isinstance(error, LookupError) else isinstance(answer, RuntimeError)

    def test_one_that_never_ends_costs_the_timeout(self, app: str) -> None:
        async def never() -> str:
            await asyncio.Event().wait()
            return SECRET

        async def main() -> None:
            limiter = aio.Client(app, timeout=1.0, password=never).limiter("n", "100/h")
            for _ in range(2):
                with pytest.raises(quotalock.Timeout, match="the password function told no password"):
                    await limiter.consume("k")

        asyncio.run(main())

    def test_a_loop_that_ends_while_it_is_asked_leaves_the_next_one_well(self, app: str) -> None:
        is_first = True

        async def slow_at_first() -> str:
            if is_first:
                await asyncio.sleep(60)
            return SECRET

        client = aio.Client(app, timeout=5, password=slow_at_first)
        limiter = client.limiter("n", "100/h")

        async def gives_up() -> None:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(limiter.consume("k"), 0.1)

        async def goes_on() -> None:
            # The breaker may answer for a moment.
            end = time.monotonic() + 10
            while True:
                try:
                    assert (await limiter.consume("k")).allowed
                    return
                except (quotalock.NotPermitted, RuntimeError):
                    assert time.monotonic() < end
                    await asyncio.sleep(0.01)

        asyncio.run(gives_up())
        is_first = False
        asyncio.run(goes_on())


class TestSecrets:
    def test_what_stands_in_place_of_a_function_is_not_shown(self, surface: Any) -> None:
        with pytest.raises(TypeError, match="password is a str") as raised:
            surface.module.Client("redis://127.0.0.1", password=SECRET)
        assert SECRET not in str(raised.value)

    def test_no_object_shows_it(self, app: str) -> None:
        client = quotalock.Client(app, timeout=5, password=told)
        limiter = client.limiter("n", "100/h")
        assert limiter.consume("k").allowed
        for thing in (client, limiter, client.lock("n"), client.cache("n")):
            shown = f"{thing!r} {thing!s} {[getattr(thing, name) for name in dir(thing) if not name.startswith('_')]}"
            assert SECRET not in shown
            assert "told" not in shown
        with pytest.raises(TypeError):
            pickle.dumps(client)
