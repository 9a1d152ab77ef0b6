"""What the packages for web frameworks have in common: whom a request is counted for, and what is answered."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from http import HTTPStatus
from typing import Any, TypeGuard, TypeVar

from . import _native, aio
from ._errors import InvalidArgument

# What a key function may give, and what a limiter is given.
Key = str | bytes | int
Whom = str | bytes
Decided = _native.Decision | _native.CombinedDecision
Client = TypeVar("Client", _native.Client, aio.Client)

# What only looks at policies, so that one that can't be is told of when the application starts.
_nowhere = _native.Client("memory://quotalock-looks-at-policies")


def checked_policy(policy: object, where: str, lease: int | None = None) -> str:
    """A policy as text, several joined; raises what is wrong with it or its lease, and where it stands."""
    texts = [policy] if isinstance(policy, str) else policy
    if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
        raise InvalidArgument(f'{where}: a limit is a text such as "10/minute;100/hour", or a list of them: {policy!r}')
    try:
        return _parsed(";".join(texts), lease)
    except ValueError as error:
        raise type(error)(f"{where}: {error}") from None


def _parse(policy: str, lease: int | None) -> str:
    """A policy as the core writes it."""
    return _nowhere.limiter("policy", policy, lease=lease).policy


_parsed: Callable[[str, int | None], str] = lru_cache(maxsize=1024)(_parse)


def checked_key(key: object, where: str) -> Whom:
    """Whom a key function named; raises for nobody, which must be neither unlimited nor one key for all."""
    if _names_somebody(key):
        return key
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key)
    raise InvalidArgument(f"{where} gave {key!r} as the key: it must be a text, bytes or a whole number, and not empty")


def asked_key(function: Callable[..., Key], *given: object, **named: object) -> Whom:
    """Whom a key function names; see `checked_key`."""
    key = function(*given, **named)
    return key if _names_somebody(key) else checked_key(key, name_of(function))


async def awaited_key(function: Callable[..., Key | Awaitable[Key]], given: object) -> Whom:
    """As `asked_key`, of a function that may be awaited."""
    key = function(given)
    if _names_somebody(key):
        return key
    return checked_key(await key if inspect.isawaitable(key) else key, name_of(function))


def _names_somebody(key: object) -> TypeGuard[Whom]:
    # As nearly every key: then nothing more is to be found out for each request.
    return isinstance(key, (str, bytes)) and bool(key)


def checked_function(function: Any, what: str, where: str) -> Any:  # noqa: ANN401
    """A function, or None; raises for anything else."""
    if function is not None and not callable(function):
        raise InvalidArgument(f"{where}: {what} is a function, not {function!r}")
    return function


def checked_cost(cost: Any, where: str) -> Any:  # noqa: ANN401
    """What a request counts, or a function that tells it; raises for less than 1, by which nobody would be refused."""
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


def name_of(function: object) -> str:
    """What messages call a function."""
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', repr(function))}"


class Limiters:
    """The limiters of a client, made once for each name, policy and lease."""

    def __init__(self, client: Any, scope: str | None, enforce: bool) -> None:  # noqa: ANN401
        @lru_cache(maxsize=4096)
        def made(name: str, policy: str, lease: int | None = None) -> Any:  # noqa: ANN401
            return client.limiter(name, policy, scope, enforce, lease)

        self.get = made


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

    def __init__(self, decision: Decided, legacy: bool) -> None:
        self.refused = not decision.allowed
        self.decision = decision
        self._legacy = legacy

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
        return {**self.headers, "Content-Type": PROBLEM_TYPE, "Content-Length": str(len(self.body))}


PROBLEM_TYPE = "application/problem+json"
