"""Values as JSON, for `Cache.get_json`."""

from __future__ import annotations

import json
from typing import Any

from ._native import check_json

# What every language reads back as it was: no NaN.
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encode(value: object) -> str | None:
    """The JSON of a value; None stays None: there is no value."""
    if value is None:
        return None
    text = _encoder.encode(value)
    check_json(text)
    return text


def decode(octets: bytes | None) -> Any:  # noqa: ANN401
    """The value of JSON."""
    return None if octets is None else json.loads(octets)
