"""What the packages for web frameworks have in common: what is charged, and what is answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from http import HTTPStatus
from typing import Any, Generic, NamedTuple, TypeVar
from warnings import warn

from . import _native, aio
from ._errors import InvalidArgument
from ._names import packaged
from ._whom import Whom

Decided = _native.Decision | _native.CombinedDecision
Client = TypeVar("Client", _native.Client, aio.Client)

# What only looks at policies, so that one that can't be is told of when the application starts.
_nowhere = _native.Client("memory://quotalock-looks-at-policies")


def checked_policy(policy: object, where: str, prefetch: int | None = None) -> str:
    """A policy as text, several joined; raises what is wrong with it or its prefetch, and where it stands."""
    texts = [policy] if isinstance(policy, str) else policy
    if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
        raise InvalidArgument(f'{where}: a limit is a text such as "10/minute;100/hour", or a list of them: {policy!r}')
    try:
        return _parsed(";".join(texts), prefetch)
    except ValueError as error:
        raise type(error)(f"{where}: {error}") from None


def _parse(policy: str, prefetch: int | None) -> str:
    """A policy as the core writes it."""
    return _nowhere.limiter("policy", policy, prefetch=prefetch).policy


_parsed: Callable[[str, int | None], str] = lru_cache(maxsize=1024)(_parse)


def checked_function(function: Any, what: str, where: str) -> Any:  # noqa: ANN401
    """A function, or None; raises for anything else."""
    if function is not None and not callable(function):
        raise InvalidArgument(f"{where}: {what} is a function, not {function!r}")
    return function


def checked_cost(cost: Any, where: str) -> Any:  # noqa: ANN401
    """The cost of a request, or a function that returns it; raises for less than 1, which would never be denied."""
    if not callable(cost) and (not isinstance(cost, int) or isinstance(cost, bool) or cost < 1):
        raise InvalidArgument(f"{where}: cost is a whole number, 1 or more, not {cost!r}")
    return cost


def checked_client(client: object, kind: type[Client], where: str) -> Client:
    """The client given, or that of the environment; raises for one of the other kind."""
    if client is None:
        return kind()
    if not isinstance(client, kind):
        wanted = "quotalock.aio.Client" if kind is aio.Client else "quotalock.Client"
        why = "is awaited" if kind is aio.Client else "is not awaited"
        raise TypeError(f"{where} {why}, so it needs a {wanted}, not {client!r}")
    return client


# More than a program has: one that makes limiters of what its users send must not fill the memory.
_LIMITERS = 4096


class Limiters:
    """The limiters of a client, made once for each name, policy and prefetch, and kept.

    There is room for 4,096. A program that asks for more is warned once; then the one that was not used for longest
    makes room, and is made again when it is needed. What it counts is not in here.
    """

    def __init__(self, client: Any, scope: str | None, enforce: bool) -> None:  # noqa: ANN401
        warned = False

        @lru_cache(maxsize=_LIMITERS)
        def made(name: str, policy: str, prefetch: int | None = None) -> Any:  # noqa: ANN401
            nonlocal warned
            if not warned and made.cache_info().currsize >= _LIMITERS:
                warned = True
                warn(
                    f"more than {_LIMITERS} limiters of different names and policies are in use, lately {name!r}: "
                    "they are made again each time. Give the limit a fixed name, and put what users send into the key",
                    stacklevel=3,
                )
            return packaged(client.limiter(name, policy, scope, enforce, prefetch))

        self.get = made


class Charge(NamedTuple):
    """What a limit charges for a request."""

    name: str
    policy: str
    key: Whom
    cost: int = 1
    prefetch: int | None = None


Limit = TypeVar("Limit")


@dataclass
class Combined(Generic[Limit]):
    """What one or several limits charge together: they have one name and one key."""

    charge: Charge
    limits: list[Limit]


def combined(charges: Iterable[tuple[Charge, Limit]]) -> list[Combined[Limit]]:
    """The charges of one call, each key of a name once: limits of one name with several policies are one of all
    rules."""
    found: dict[tuple[str, Whom], Combined[Limit]] = {}
    for charge, limit in charges:
        whom = (charge.name, charge.key)
        if (there := found.get(whom)) is None:
            found[whom] = Combined(charge, [limit])
            continue
        if there.charge.policy != charge.policy:
            rules = ";".join(dict.fromkeys([*there.charge.policy.split(";"), *charge.policy.split(";")]))
            there.charge = there.charge._replace(policy=rules, prefetch=None)
        there.charge = there.charge._replace(cost=max(there.charge.cost, charge.cost))
        there.limits.append(limit)
    return list(found.values())


class Proxies:
    """Whose word about a client's address counts: see `quotalock.client_address`."""

    def __init__(self, trusted: Iterable[str] = (), header: str = "X-Forwarded-For", ipv6_prefix: int = 64) -> None:
        self.trusted = [trusted] if isinstance(trusted, str) else list(trusted)
        self.header = header.lower()
        self.ipv6_prefix = ipv6_prefix
        # What can't be is told of when the application starts.
        self.address("192.0.2.1", [])

    def address(self, peer: str | None, forwarded: list[str]) -> str:
        """The client's address as a key."""
        return _native.client_address(peer, forwarded, self.trusted, ipv6_prefix=self.ipv6_prefix)


class Answer:
    """What a client is told of a decision: header fields, and of a refusal the status and the body."""

    def __init__(self, decision: Decided, legacy: bool, expose: bool = False) -> None:
        self.refused = not decision.allowed
        self.decision = decision
        self._legacy = legacy
        self._expose = expose

    # Asked for once, as a rule; and before Python 3.12 a cached property takes a lock, which costs more than they do.
    @property
    def headers(self) -> dict[str, str]:
        """The header fields."""
        return self.decision.headers(legacy=self._legacy)

    @cached_property
    def problem(self) -> Mapping[str, Any]:
        """What a refusal says."""
        return self.decision.problem() if self.refused else {}

    @property
    def status(self) -> int:
        """The status of a refusal; 200 if there is none."""
        return int(self.problem["status"]) if self.refused else 200

    @property
    def reason(self) -> str:
        """The phrase of the status."""
        return HTTPStatus(self.status).phrase

    @cached_property
    def body(self) -> bytes:
        """The body of a refusal."""
        return json.dumps(self.problem).encode()

    @property
    def refusal_headers(self) -> dict[str, str]:
        """All headers of a refusal."""
        fields = {**self.headers, "Content-Type": PROBLEM_TYPE, "Content-Length": str(len(self.body))}
        return {**fields, EXPOSE: exposing} if (exposing := self.exposing("")) else fields

    def exposing(self, there: str) -> str:
        """The value of `Access-Control-Expose-Headers`, with what is there already; empty if nothing is exposed."""
        return exposed(there, self._legacy) if self._expose else ""


EXPOSE = "Access-Control-Expose-Headers"
_FIELDS = ("RateLimit", "RateLimit-Policy", "Retry-After")
_LEGACY_FIELDS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


def exposed(there: str, legacy: bool) -> str:
    """The fields that scripts of another origin may read: those that are there already, and ours."""
    names = [name for part in there.split(",") if (name := part.strip())]
    known = {name.lower() for name in names}
    ours = [*_FIELDS, *(_LEGACY_FIELDS if legacy else ())]
    return ", ".join([*names, *(name for name in ours if "*" not in known and name.lower() not in known)])


PROBLEM_TYPE = "application/problem+json"
