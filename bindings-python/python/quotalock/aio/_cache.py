"""Caches and onces whose calls are awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from .. import _json, _native
from .._native import check_function
from ._loading import Loaded, awaited, run_many, run_one
from ._wrapper import Wrapper, on_loop

if TYPE_CHECKING:
    from typing_extensions import Self

    from .._native import Claimed, Seen


Made = TypeVar("Made", _native.Cache, _native.Once)


class Maker(Wrapper[Made]):
    """A cache or a `once`: what is missing is made by a function of its caller's."""

    __slots__ = ("_client",)
    _client: _native.Client

    @classmethod
    def _by(cls, client: _native.Client, native: Made) -> Self:
        self = cls._of(native)
        self._client = client
        return self

    @property
    def name(self) -> str:
        """The name given."""
        return self._native.name


class Cache(Maker[_native.Cache], made_by="Client.cache"):
    """A cache that never stampedes; made by `Client.cache`. The methods are those of `quotalock.Cache`.

    A loader is a coroutine function, or a function. If it is cancelled, the next caller may load at once.
    """

    __slots__ = ()

    async def get(
        self, key: str | bytes | int, load: Callable[[], Awaitable[Loaded] | Loaded], wait: float | None = None
    ) -> bytes | None:
        """The value of `key`, or what `await load()` makes of it; see `quotalock.Cache.get`."""
        check_function("load", load)
        return await run_one(self._client, self._native._get(key, wait), load)

    async def get_many(
        self,
        keys: Iterable[str | bytes],
        load: Callable[[list[Any]], Awaitable[Mapping[Any, Loaded]] | Mapping[Any, Loaded]],
        wait: float | None = None,
    ) -> dict[str | bytes, bytes | None]:
        """The values of several keys; `await load(missing)` makes a mapping of those that are not there; see
        `quotalock.Cache.get_many`."""
        check_function("load", load)
        given, loading = self._native._get_many(keys, wait)
        return dict(zip(given, await run_many(self._client, loading, given, load), strict=True))

    async def get_json(self, key: str | bytes | int, load: Callable[[], Any], wait: float | None = None) -> Any:  # noqa: ANN401
        """As `get`, of a value that is stored as JSON; see `quotalock.Cache.get_json`."""
        check_function("load", load)

        async def encoded() -> str | None:
            return _json.encode(await awaited(load()))

        return _json.decode(await self.get(key, encoded, wait))

    async def peek(self, key: str | bytes | int) -> Seen | None:
        """What is there, fresh or stale, without loading or waiting; None if there is nothing."""
        return await on_loop(self._native.peek)(key)

    async def put(self, key: str | bytes | int, value: str | bytes | None) -> bool:
        """Stores a value that the caller has already; see `quotalock.Cache.put`."""
        return await on_loop(self._native.put)(key, value)

    async def invalidate(self, key: str | bytes | int) -> bool:
        """Forgets a key: what was loaded, or is being loaded now, is not served any more. True if there was any."""
        return await on_loop(self._native.invalidate)(key)

    def redis_key(self, key: str | bytes | int) -> bytes:
        """The Redis key of a key."""
        return self._native.redis_key(key)


class Once(Maker[_native.Once], made_by="Client.once"):
    """What is done once for each id; made by `Client.once`. The methods are those of `quotalock.Once`."""

    __slots__ = ()

    async def claim(self, id: str | bytes, value: str | bytes | None = None) -> Claimed:
        """Claims an id: whether this caller is the first, and what the first gave; see `quotalock.Once.claim`."""
        return await on_loop(self._native.claim)(id, value)

    async def release(self, id: str | bytes) -> bool:
        """Forgets an id, whoever claimed it, so the next caller is the first: True if there was one."""
        return await on_loop(self._native.release)(id)

    async def run(
        self, id: str | bytes, function: Callable[[], Awaitable[Loaded] | Loaded], wait: float | None = None
    ) -> bytes | None:
        """What `await function()` returned for this id, which runs if it did not yet; see `quotalock.Once.run`.

        If it is cancelled, the next caller runs at once.
        """
        check_function("function", function)
        return await run_one(self._client, self._native._begin(id, wait), function)

    def redis_key(self, id: str | bytes) -> bytes:
        """The Redis key of an id."""
        return self._native.redis_key(id)
