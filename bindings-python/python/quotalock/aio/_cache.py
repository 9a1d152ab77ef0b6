"""Caches and onces whose calls are awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from .. import _json, _native
from .._native import check_function
from ._loading import Loaded, awaited, run_many, run_one
from ._plain import Cache as PlainCache
from ._plain import Once as PlainOnce
from ._wrapper import Wrapper

if TYPE_CHECKING:
    from typing_extensions import Self


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


class Cache(Maker[_native.Cache], PlainCache, made_by="Client.cache"):
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


class Once(Maker[_native.Once], PlainOnce, made_by="Client.once"):
    """What is done once for each id; made by `Client.once`. The methods are those of `quotalock.Once`."""

    __slots__ = ()

    async def run(
        self, id: str | bytes, function: Callable[[], Awaitable[Loaded] | Loaded], wait: float | None = None
    ) -> bytes | None:
        """What `await function()` returned for this id, which runs if it did not yet; see `quotalock.Once.run`.

        If it is cancelled, the next caller runs at once.
        """
        check_function("function", function)
        return await run_one(self._client, self._native._begin(id, wait), function)
