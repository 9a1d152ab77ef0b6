"""One class per kind of error; `code` is the same text in every language and never changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from ._native import Decision


class QuotalockError(Exception):
    """Anything that Quotalock raises. The message names the value, key or host, and what to do."""

    code: ClassVar[str]


class InvalidArgument(QuotalockError, ValueError):
    """A value that can never be right: an empty key, a negative cost, an invalid URL."""

    code = "invalid_argument"


class InvalidPolicy(QuotalockError, ValueError):
    """A policy that does not parse, or has an impossible amount, period or unit."""

    code = "invalid_policy"


class Unavailable(QuotalockError, ConnectionError):
    """Redis could not be reached, went away, or refused to work for now."""

    code = "unavailable"


class Timeout(QuotalockError, TimeoutError):
    """No answer came in time."""

    code = "timeout"


class WrongType(QuotalockError):
    """The key in Redis holds another Redis type."""

    code = "wrong_type"


class NewerVersion(QuotalockError):
    """A newer version of Quotalock wrote the value of the key."""

    code = "newer_version"


class CrossSlot(QuotalockError):
    """The keys of one call lie in different slots of a cluster."""

    code = "cross_slot"


class NotPermitted(QuotalockError, PermissionError):
    """Redis refused the password, the user or a command."""

    code = "not_permitted"


class RateLimited(QuotalockError):
    """`require` was denied; `decision` says by what, and when to try again."""

    code = "limited"
    decision: Decision

    def __init__(self, message: str, decision: Decision) -> None:
        super().__init__(message)
        self.decision = decision

    def __reduce__(self) -> tuple[type[RateLimited], tuple[str, Decision]]:
        return type(self), (str(self), self.decision)


class NotAcquired(QuotalockError):
    """A lock was not acquired in time."""

    code = "not_acquired"


class Lost(QuotalockError):
    """A lock was lost."""

    code = "lost"


class LoadFailed(QuotalockError):
    """A loader of this value failed a short time ago."""

    code = "load_failed"


class Closed(QuotalockError):
    """The client was closed."""

    code = "closed"


class Internal(QuotalockError):
    """A fault of Quotalock's own."""

    code = "internal"


BY_CODE: dict[str, type[QuotalockError]] = {kind.code: kind for kind in QuotalockError.__subclasses__()}

for _class in (QuotalockError, *BY_CODE.values()):
    _class.__module__ = "quotalock"
