"""Stocks whose calls are awaited."""

from __future__ import annotations

from ._plain import Stock as PlainStock


class Stock(PlainStock, made_by="Client.stock"):
    """The units of a sale; made by `Client.stock`. The methods are those of `quotalock.Stock`.

    If a call is cancelled after Redis was asked, it may be done: what a take held returns when its hold is over.
    """

    __slots__ = ()
