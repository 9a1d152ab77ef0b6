"""Caches and onces whose calls are awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from .. import _json
from .._native import Ticket, Waiting, check_function
from ._futures import LoopCache, LoopClient, LoopOnce
from ._loading import Loaded, make, make_many
from ._wrapper import Wrapper

if TYPE_CHECKING:
    from typing_extensions import Self

    from .._native import Claimed, Seen


Made = TypeVar("Made", LoopCache, LoopOnce)


class Maker(Wrapper[Made]):
    """A cache or a `once`: what is missing is made by a function of its caller's."""

    __slots__ = ("_client",)
    _client: LoopClient

    @classmethod
    def _by(cls, client: LoopClient, native: Made) -> Self:
        self = cls._of(native)
        self._client = client
        return self

    @property
    def name(self) -> str:
        """The name given."""
        return self._native.name


class Cache(Maker[LoopCache], made_by="Client.cache"):
    """A cache that never stampedes; made by `Client.cache`. The methods are those of `quotalock.Cache`.

    A loader is a coroutine function, or a function. If it is cancelled, the next caller may load at once.
    """

    __slots__ = ()

    async def get(
        self, key: str | bytes, load: Callable[[], Awaitable[Loaded] | Loaded], wait: float | None = None
    ) -> bytes | None:
        """The value of `key`, or what `await load()` makes of it; see `quotalock.Cache.get`."""
        check_function("load", load)
        return await make(self._client, await self._native._get(key, wait), load)

    async def get_many(
        self,
        keys: Iterable[str | bytes],
        load: Callable[[list[Any]], Awaitable[Mapping[Any, Loaded]] | Mapping[Any, Loaded]],
        wait: float | None = None,
    ) -> dict[str | bytes, bytes | None]:
        """The values of several keys; `await load(missing)` makes a mapping of those that are not there; see
        `quotalock.Cache.get_many`."""
        check_function("load", load)
        given, looking = self._native._get_many(keys, wait)
        found = dict(zip(given, await looking, strict=True))
        values: dict[Any, Any] = dict(found)
        tickets = {key: part for key, part in found.items() if isinstance(part, Ticket)}
        if tickets:
            missing = list(tickets)
            loaded = await make_many(self._client, missing, list(tickets.values()), load)
            values.update(zip(missing, loaded, strict=True))
        for part in found.values():
            if isinstance(part, Exception):
                raise part
        # Nobody who holds a lease waits for another here.
        for key, part in found.items():
            if isinstance(part, Waiting):
                got = await self._client._wait_for(part)
                if isinstance(got, Ticket):
                    (got,) = await make_many(self._client, [key], [got], load)
                values[key] = got
        return values

    async def get_json(self, key: str | bytes, load: Callable[[], Any], wait: float | None = None) -> Any:  # noqa: ANN401
        """As `get`, of a value that is stored as JSON; see `quotalock.Cache.get_json`."""
        check_function("load", load)

        async def encoded() -> str | None:
            loaded = load()
            return _json.encode(await loaded if isinstance(loaded, Awaitable) else loaded)

        return _json.decode(await self.get(key, encoded, wait))

    async def peek(self, key: str | bytes) -> Seen | None:
        """What is there, fresh or stale, without loading or waiting; None if there is nothing."""
        return await self._native.peek(key)

    async def put(self, key: str | bytes, value: str | bytes | None) -> bool:
        """Stores a value that the caller has already; see `quotalock.Cache.put`."""
        return await self._native.put(key, value)

    async def invalidate(self, key: str | bytes) -> bool:
        """Forgets a key: what was loaded, or is being loaded now, is not served any more. True if there was any."""
        return await self._native.invalidate(key)

    def redis_key(self, key: str | bytes) -> bytes:
        """The Redis key of a key."""
        return self._native.redis_key(key)


class Once(Maker[LoopOnce], made_by="Client.once"):
    """What is done once for each id; made by `Client.once`. The methods are those of `quotalock.Once`."""

    __slots__ = ()

    async def claim(self, id: str | bytes, value: str | bytes | None = None) -> Claimed:
        """Claims an id: whether this caller is the first, and what the first gave; see `quotalock.Once.claim`."""
        return await self._native.claim(id, value)

    async def release(self, id: str | bytes) -> bool:
        """Forgets an id, whoever claimed it, so the next caller is the first: True if there was one."""
        return await self._native.release(id)

    async def run(
        self, id: str | bytes, function: Callable[[], Awaitable[Loaded] | Loaded], wait: float | None = None
    ) -> bytes | None:
        """What `await function()` returned for this id, which runs if it did not yet; see `quotalock.Once.run`.

        If it is cancelled, the next caller runs at once.
        """
        check_function("function", function)
        return await make(self._client, await self._native._begin(id, wait), function)

    def redis_key(self, id: str | bytes) -> bytes:
        """The Redis key of an id."""
        return self._native.redis_key(id)
