"""Rate limits, locks, stocks and caches that cannot get stuck, on Redis.

    import quotalock

    client = quotalock.Client("redis://127.0.0.1:6379")
    checkout = client.limiter("checkout", "10/minute;100/hour")
    if not checkout.consume("user:42"):
        ...  # say 429
    with client.lock("sku:42", wait=5.0) as lock:
        ...  # alone, for as long as lock.held
    page = client.cache("pages", fresh=60.0).get("home", lambda: "<h1>home</h1>")  # one loads, the others get it
    receipt = client.once("payments").run("order:1", lambda: "receipt")  # once for each id
    taken = client.stock("sale:42").take("user:42")  # never more than there are

Calls block without the GIL, and threads may share everything. `quotalock.aio` has the same names for asyncio,
`quotalock.testing` what tests need. Durations are seconds.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import testing as testing
from ._errors import (
    Closed,
    CrossSlot,
    Internal,
    InvalidArgument,
    InvalidPolicy,
    LoadFailed,
    Lost,
    NewerVersion,
    NotAcquired,
    NotPermitted,
    QuotalockError,
    RateLimited,
    Timeout,
    Unavailable,
    WrongType,
)
from ._native import (
    Cache,
    Claimed,
    Client,
    CombinedDecision,
    Decision,
    Holder,
    Inspection,
    LedgerEntry,
    Limiter,
    Lock,
    Once,
    Reservation,
    Rule,
    RuleDecision,
    Seen,
    Stock,
    StockPage,
    StockReservation,
    StockStatus,
    Taken,
    TakenAll,
    client_address,
    metrics,
    prometheus,
    quorum_lock,
)
from ._native import __version__ as __version__

__all__ = [
    "Cache",
    "Claimed",
    "Client",
    "Closed",
    "CombinedDecision",
    "CrossSlot",
    "Decision",
    "Holder",
    "Inspection",
    "Internal",
    "InvalidArgument",
    "InvalidPolicy",
    "LedgerEntry",
    "Limiter",
    "LoadFailed",
    "Lock",
    "Lost",
    "NewerVersion",
    "NotAcquired",
    "NotPermitted",
    "Once",
    "QuotalockError",
    "RateLimited",
    "Reservation",
    "Rule",
    "RuleDecision",
    "Seen",
    "Stock",
    "StockPage",
    "StockReservation",
    "StockStatus",
    "Taken",
    "TakenAll",
    "Timeout",
    "Unavailable",
    "WrongType",
    "client_address",
    "limit",
    "metrics",
    "prometheus",
    "quorum_lock",
]


def limit(name: str, key: str | bytes | int, policy: str | Rule | Iterable[Rule], cost: int = 1) -> Decision:
    """Limits in one line, with a client of the environment's (`QUOTALOCK_URL`) that is made at the first call.

    Charges `cost` to `key` under the limiter `name` and `policy`, and answers as `Limiter.consume` does.
    """
    return _of_environment()._limit(name, key, policy, cost)


_default: Client | None = None


def _of_environment() -> Client:
    global _default
    _default = _default or Client()
    return _default
