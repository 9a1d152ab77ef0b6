"""What `limit()` limits with: one client of the environment's, and the limiters that were asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from ._native import Rule

# A name or policy made from user input must not fill the memory.
KEPT = 1024

Limiter = TypeVar("Limiter")
Made = TypeVar("Made", covariant=True)


class Makes(Protocol[Made]):
    """A client."""

    def limiter(self, name: str, policy: str | Rule | tuple[Rule, ...]) -> Made:
        """Makes a limiter."""


class Default(Generic[Limiter]):
    """A client that is made when it is first needed, with its limiters by name and policy."""

    def __init__(self, make: Callable[[], Makes[Limiter]]) -> None:
        self._make = make
        self._client: Makes[Limiter] | None = None
        self._limiters: dict[object, Limiter] = {}

    def limiter(self, name: str, policy: str | Rule | Iterable[Rule]) -> Limiter:
        """The limiter of this name and policy."""
        policy = policy if isinstance(policy, (str, Rule)) else tuple(policy)
        limiter = self._limiters.get((name, policy))
        if limiter is None:
            client = self._client = self._client or self._make()
            limiter = client.limiter(name, policy)
            if len(self._limiters) >= KEPT:
                self._limiters.clear()
            self._limiters[name, policy] = limiter
        return limiter
