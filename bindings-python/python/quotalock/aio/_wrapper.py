"""What the classes of `quotalock.aio` have in common: each wraps a native object whose calls return futures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

if TYPE_CHECKING:
    from asyncio import Future

    from typing_extensions import Self

Native = TypeVar("Native")
P = ParamSpec("P")
T = TypeVar("T")


def on_loop(call: Callable[P, T]) -> Callable[P, Future[T]]:
    """A call of a native object, as the type that it has on a loop: it returns a future of its answer."""
    return call  # type: ignore[return-value]


def maybe_on_loop(call: Callable[P, T]) -> Callable[P, T | Future[T]]:
    """As `on_loop`, of a call that returns its answer if this process knows it."""
    return call


class Wrapper(Generic[Native]):
    """Wraps a native object. Users get theirs from `made_by`, not from the class."""

    __slots__ = ("__weakref__", "_native")
    _native: Native
    _made_by: str

    def __init_subclass__(cls, made_by: str = "") -> None:
        super().__init_subclass__()
        cls.__module__ = "quotalock.aio"
        cls._made_by = made_by

    def __init__(self) -> None:
        raise TypeError(f"a {type(self).__name__.lower()} is made by {self._made_by}")

    @classmethod
    def _of(cls, native: Native) -> Self:
        self = cls.__new__(cls)
        self._native = native
        return self

    def __repr__(self) -> str:
        return repr(self._native).replace("quotalock.", "quotalock.aio.", 1)
