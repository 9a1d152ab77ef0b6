"""One limit of a Flask application: its policy, and for which requests it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ._errors import InvalidArgument
from ._web import Key, checked_cost, checked_function, checked_policy, name_of

Policy = str | list[str] | Callable[[], str]
Limits = str | Iterable[str | Callable[[], str]]


@dataclass(eq=False)
class Limit:
    """A policy, or a function that tells it; `where` is what messages call its place."""

    given: Policy
    where: str
    key_func: Callable[[], Key] | None = None
    per_method: bool = False
    methods: frozenset[str] | None = None
    error_message: str | None = None
    exempt_when: Callable[[], bool] | None = None
    override_defaults: bool = True
    cost: int | Callable[[], int] = 1
    scope: str | None = None
    lease: int | None = None

    def __post_init__(self) -> None:
        self._fixed = None if callable(self.given) else checked_policy(self.given, self.where, self.lease)
        checked_function(self.key_func, "key_func", self.where)
        checked_function(self.exempt_when, "exempt_when", self.where)
        checked_cost(self.cost, self.where)

    @classmethod
    def several(
        cls,
        given: Limits,
        where: str,
        *,
        cost: int | Callable[[], int] = 1,
        per_method: bool = False,
        exempt_when: Callable[[], bool] | None = None,
        scope: str | None = None,
    ) -> list[Limit]:
        """Those that are text as one limit of several rules, and one for each function."""
        if not isinstance(given, Iterable):
            raise InvalidArgument(f"{where}: give a list of limits, or none: {given!r}")
        parts = [given] if isinstance(given, str) else list(given)
        texts = [part for part in parts if isinstance(part, str)]
        functions = [part for part in parts if callable(part)]
        if len(texts) + len(functions) < len(parts):
            raise InvalidArgument(f"{where}: a limit is a text, or a function that returns one: {parts!r}")
        policies: list[Policy] = [texts] if texts else []
        return [
            cls(policy, where, per_method=per_method, exempt_when=exempt_when, cost=cost, scope=scope)
            for policy in [*policies, *functions]
        ]

    def holds(self, method: str) -> bool:
        """Whether it limits the current request."""
        if self.methods is not None and method not in self.methods:
            return False
        return not (self.exempt_when is not None and self.exempt_when())

    def policy(self) -> str:
        """The policy of the current request."""
        if self._fixed is not None:
            return self._fixed
        assert callable(self.given)
        return checked_policy(self.given(), name_of(self.given), self.lease)

    def price(self) -> int:
        """What the current request counts."""
        return self.cost() if callable(self.cost) else self.cost

    def named(self, place: str, method: str) -> str:
        """The name of its limiter in the current request."""
        return (self.scope or place) + (f":{method}" if self.per_method else "")


def methods_of(given: Iterable[str] | None) -> frozenset[str] | None:
    """The methods that a limit is for; None for all."""
    if given is None:
        return None
    return frozenset(method.upper() for method in ([given] if isinstance(given, str) else given))
