"""The key of a request: what a key function returned, checked."""

from __future__ import annotations

import inspect
import json
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeGuard

from ._errors import InvalidArgument
from ._names import name_of

# What a key function may return, and what a limiter is given.
Key = str | bytes | int
Whom = str | bytes

# The bound of the core, in bytes.
LONGEST = 1024
# What reading a request that is not as expected raises: a missing field, no body, JSON of another shape.
_SPOILT = (LookupError, TypeError, ValueError, AttributeError)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_logger = logging.getLogger("quotalock")


class BadKey(InvalidArgument):
    """A request from which no key can be made: it has to be answered with 400, never admitted and never with 500."""

    status = 400

    @property
    def problem(self) -> dict[str, Any]:
        """The body of the answer (RFC 9457). It does not repeat what the client sent."""
        detail = "What this request is limited by is missing, empty, too long or no text."
        return {"type": "about:blank", "title": "Bad Request", "status": self.status, "detail": detail}

    @property
    def body(self) -> bytes:
        """The body as JSON."""
        return json.dumps(self.problem).encode()

    @property
    def headers(self) -> dict[str, str]:
        """The header fields of the answer."""
        return {"Content-Type": "application/problem+json", "Content-Length": str(len(self.body))}


def checked_key(key: object, where: str) -> Whom:
    """Returns a key for the core: a text without control characters or bytes, of 1 to 1,024 bytes; a whole number as
    its text. Raises `BadKey` for anything else: no key must be neither unlimited nor one key for all."""
    if _is_plain(key):
        return key
    if isinstance(key, int) and not isinstance(key, bool) and key.bit_length() <= 256:
        return str(key)
    if isinstance(key, bytes) and 0 < len(key) <= LONGEST:
        return key
    if isinstance(key, str) and key and not _CONTROL.search(key) and _length(key) <= LONGEST:
        return key
    wanted = f"a text without control characters, bytes or a whole number, of 1 to {LONGEST} bytes"
    raise _bad(f"{where} returned {_shown(key)} as the key: it must be {wanted}")


def asked_key(function: Callable[..., Key], *given: object, **named: object) -> Whom:
    """The key that a function returns; see `checked_key`. If it fails to read the request, that is a `BadKey` too."""
    key = read_key(function, *given, **named)
    return key if _is_plain(key) else checked_key(key, name_of(function))


def read_key(function: Callable[..., object], *given: object, **named: object) -> object:
    """What a key function returns, unchecked. If it fails to read the request, that is a `BadKey`."""
    try:
        return function(*given, **named)
    except _SPOILT as error:
        raise _unread(function, error) from error


async def awaited_key(function: Callable[..., Key | Awaitable[Key]], given: object) -> Whom:
    """As `asked_key`, for a function that may be awaited."""
    try:
        key = function(given)
        if inspect.isawaitable(key):
            key = await key
    except _SPOILT as error:
        raise _unread(function, error) from error
    return key if _is_plain(key) else checked_key(key, name_of(function))


def _is_plain(key: object) -> TypeGuard[str]:
    # As nearly every key is. A character has four bytes at most.
    return isinstance(key, str) and 0 < len(key) <= LONGEST // 4 and key.isprintable()


def _length(key: str) -> int:
    try:
        return len(key.encode())
    except UnicodeEncodeError:
        return LONGEST + 1


def _shown(key: object) -> str:
    shown = ascii(key) if isinstance(key, (str, bytes, int, float, type(None))) else f"a {type(key).__name__}"
    return shown if len(shown) <= 64 else f"{shown[:60]}…"


def _unread(function: Callable[..., object], error: Exception) -> BadKey:
    if isinstance(error, BadKey):
        return error
    return _bad(f"{name_of(function)} raised {type(error).__name__}: {_shown(str(error))}")


def _bad(message: str) -> BadKey:
    # A key function that never works would look like clients that send nonsense.
    _logger.warning("a request is answered with 400: %s", message)
    return BadKey(message)
