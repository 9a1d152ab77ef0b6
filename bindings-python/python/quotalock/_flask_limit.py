"""One limit of a Flask application: its policy, and for which requests it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ._errors import InvalidArgument
from ._names import Site, generated_name, given_name, holds_for, kind_of, methods_text, name_of, numbers, site
from ._web import checked_cost, checked_function, checked_policy
from ._whom import Key

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
    prefetch: int | None = None
    # The Limiter that it belongs to: an application may have two.
    owner: Any = None
    site: Site = field(default_factory=site)

    def __post_init__(self) -> None:
        self.fixed = None if callable(self.given) else checked_policy(self.given, self.where, self.prefetch)
        given_name(self.scope, f"{self.where}: scope")
        checked_function(self.key_func, "key_func", self.where)
        checked_function(self.exempt_when, "exempt_when", self.where)
        checked_cost(self.cost, self.where)
        # A policy that a function returns is one limit, whatever it returns.
        self._policy = self.fixed or f"by {kind_of(self.given)}"
        self._key = None if self.key_func is None else kind_of(self.key_func)
        self._methods = methods_text(self.methods)

    @classmethod
    def several(
        cls,
        given: Limits,
        where: str,
        *,
        cost: int | Callable[[], int] = 1,
        per_method: bool = False,
        exempt_when: Callable[[], bool] | None = None,
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
            cls(policy, where, per_method=per_method, exempt_when=exempt_when, cost=cost)
            for policy in [*policies, *functions]
        ]

    def holds(self, method: str) -> bool:
        """Whether it limits the current request."""
        return holds_for(method, self.methods) and not (self.exempt_when is not None and self.exempt_when())

    def policy(self) -> str:
        """The policy of the current request."""
        if self.fixed is not None:
            return self.fixed
        assert callable(self.given)
        return checked_policy(self.given(), name_of(self.given), self.prefetch)

    def price(self) -> int:
        """What the current request counts."""
        return self.cost() if callable(self.cost) else self.cost

    def identity(self, key: str) -> tuple[str, str, str]:
        """What distinguishes it from the other limits of its place: methods, kind of key (default: that of the
        application) and policy."""
        return self._methods, self._key or key, self._policy


@dataclass(frozen=True)
class Place:
    """Where limits stand: `kind` says of what (a view, a default, a function), `name` of which one."""

    application: str
    kind: str
    name: str

    def names(self, limits: list[Limit], key: str, method: str) -> list[str]:
        """The names of all limits that stand here, in a request with this method; `key` is the application's kind."""
        identities = [limit.identity(key) for limit in limits]
        counted = zip(limits, identities, numbers(identities), strict=True)
        return [self._named(limit, *identity, number, method) for limit, identity, number in counted]

    def _named(
        self,
        limit: Limit,
        methods: str,
        key: str,
        policy: str,
        number: int,
        method: str,
    ) -> str:
        if limit.scope is not None and not limit.per_method:
            return limit.scope
        return generated_name(
            application=self.application,
            place=self.name if limit.scope is None else limit.scope,
            kind=self.kind if limit.scope is None else "scope",
            methods=methods_text([method]) if limit.per_method else methods,
            key=key,
            policy=policy,
            number=number,
        )


def methods_of(given: Iterable[str] | None) -> frozenset[str] | None:
    """The methods that a limit is for; None for all."""
    if given is None:
        return None
    return frozenset(method.upper() for method in ([given] if isinstance(given, str) else given))
