"""The native half of `quotalock`."""

from asyncio import Future
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, TypedDict, final

from typing_extensions import NotRequired, Self

from ._errors import NotAcquired

_Algorithm = Literal["fixed-window", "calendar-window", "sliding-window", "token-bucket", "sliding-log"]
_MetricKind = Literal["counter", "gauge", "histogram"]
_HeaderSyntax = Literal["draft-11", "none"]
_LockState = Literal["released", "held", "uncertain", "lost"]
_OnError = Literal["raise", "open", "closed", "local"]
_Outcome = Literal["held", "sold_out", "buyer_limit", "not_open", "ended"]
_Source = Literal["redis", "memory", "lease", "local", "open", "closed", "deny-cache"]
_Unsettled = Literal["spent", "returned"]
_WhenAway = Literal["raise", "load"]

# The body of a refusal (RFC 9457). `violated-policies` names the rules that deny, as the header fields do.
_Problem = TypedDict(
    "_Problem",
    {"type": str, "title": str, "status": int, "detail": str, "violated-policies": list[str]},
)

class _Sample(TypedDict):
    """A number of a counter or a gauge, or a histogram, with the labels that say of what."""

    labels: dict[str, str]
    value: NotRequired[int]
    buckets: NotRequired[list[tuple[float, int]]]
    sum: NotRequired[float]
    count: NotRequired[int]

class _Metric(TypedDict):
    """One thing that is counted."""

    name: str
    help: str
    kind: _MetricKind
    samples: list[_Sample]

__all__ = [
    "Cache",
    "Claimed",
    "Client",
    "CombinedDecision",
    "Decision",
    "Holder",
    "Inspection",
    "LedgerEntry",
    "Limiter",
    "Loading",
    "Lock",
    "LoopDriver",
    "Loss",
    "Once",
    "PasswordQuestion",
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
    "__version__",
    "check_function",
    "check_json",
    "client_address",
    "get",
    "metrics",
    "prometheus",
    "put",
    "quorum_lock",
    "set_time",
    "settle_threads",
    "tell_decision",
    "tell_decisions",
    "tell_lost",
]

__version__: str

@final
class Client:
    """A client of one Redis, or of this process' memory (`memory://`). Threads may share it, and forked processes may
    continue to use it. Making one does no I/O: it connects at the first call, and again in each forked process.

    `url` is `redis://`, `rediss://`, `unix://` or `memory://`; without one `QUOTALOCK_URL` of the environment is taken,
    else `redis://127.0.0.1:6379`. All clients of `memory://` in a process share it; `memory://name` is one of its own,
    gone when the last of its clients is closed or collected. `prefix` begins every Redis key. `timeout` is what a call
    may take in seconds, connecting included. `on_error` says what a limiter answers when Redis cannot: `raise`, `open`
    (admit), `closed` (deny) or `local` (the same policy, in this process' memory). `request_memory` is how long a call
    with a request id is remembered, in seconds: 1 ms to a day, and never less than the `timeout`.

    `password` is a function that returns the password, where the URL gives none. It is called in a thread that waits
    for Redis: when a connection first logs in, and again when the server refuses what it returned. What it raises, the
    call raises. With `quotalock.aio` it may be a coroutine function. The client keeps it.

    After Redis has denied a call, this process answers the same one itself until it can be admitted, for
    `deny_cache_max` seconds at most: up to 60; 0 asks every time.

    `on_decision(decision, key)` is called after each decision that charges or denies, on the thread whose call it was,
    before that call returns or raises `RateLimited`. `on_lost(lock)` is called when a lock of this client turns out to
    be lost, on the thread that looks at it, extends or releases it; with `quotalock.aio` by the loop, at once. Both are
    plain functions; what they raise goes to `sys.unraisablehook` and changes nothing.

    With `report` this process tells Redis once a second, in the background, what the client's limiters decided, and
    which keys they denied most often: for `quotalock top`. What has no room or cannot be sent is dropped and counted.

    Raises `InvalidArgument` for a URL, prefix, timeout, `on_error`, `request_memory` or `deny_cache_max` that is not
    valid.
    """

    def __new__(
        cls,
        url: str | None = None,
        prefix: str = "ql",
        timeout: float = 0.5,
        on_error: _OnError = "raise",
        request_memory: float = 60.0,
        password: Callable[[], str | Awaitable[str]] | None = None,
        deny_cache_max: float = 1.0,
        on_decision: Callable[[Decision, str | bytes | int], object] | None = None,
        on_lost: Callable[[Lock], object] | None = None,
        report: bool = False,
    ) -> Self: ...
    def limiter(
        self,
        name: str,
        policy: str | Rule | Iterable[Rule],
        scope: str | bytes | None = None,
        enforce: bool = True,
        lease: int | None = None,
    ) -> Limiter:
        """Makes a limiter: a name, part of its Redis keys, and a policy, as text (`"10/minute;100/hour"`), as a `Rule`
        or as several.

        Limiters of one `scope` have all their keys in one slot of a cluster, where `consume_all` needs them. With
        `enforce=False` every call passes, and `Decision.would_deny` tells which would have been denied; those were
        charged nothing. Use it to try a policy on real traffic.

        With a `lease` the limiter takes up to so many permits from Redis at once (2 to the smallest capacity of the
        policy) and spends them in this process without a call. Sliding windows and logs refuse one.

        Raises `InvalidPolicy`, and `InvalidArgument` for an empty or too long name or scope.
        """

    def consume_all(
        self,
        charges: Iterable[tuple[Limiter, str | bytes | int] | tuple[Limiter, str | bytes | int, int]],
        request_id: str | bytes | None = None,
    ) -> CombinedDecision:
        """Charges several keys, each by its own limiter, if all of them admit it, else none: one atomic call.

        Each charge is `(limiter, key)` or `(limiter, key, cost)`, a cost 1 unless given. 1 to 100 of them, no key twice
        for one limiter, all limiters made by this client. In a cluster they need a common `scope`, else this raises
        `CrossSlot`. A `request_id` is remembered under the first key; see `Limiter`.
        """

    def lock(
        self,
        name: str | bytes,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
    ) -> Lock:
        """Makes a handle for a mutex: a lease that one handle has at a time, and that ends by itself. Does no I/O.

        * `ttl`: how many seconds a grant lasts unless it is renewed (10 ms to 7 days).
        * `wait`: how many seconds `acquire` and `with` wait unless you say otherwise; 0 asks once.
        * `fair`: waiters are served in order of arrival.
        * `renew`: a thread of this process renews it at a third of its ttl, while the handle lives, for `max_hold`
          seconds at most, so that a stuck holder does not block the others forever.
        * `token_above`: every fencing token is larger than this (0 to 2^52).
        * `label`: what `inspect` shows of the holder beside its host and process (up to 128 bytes).
        * `replicas_ack`: how many replicas must have a grant before it counts, and `ack_timeout` how many seconds an
          acquisition waits for them.

        Raises `InvalidArgument` for a name that is empty or over 1 KiB, and for options out of bounds.
        """

    def lock_all(
        self,
        names: Iterable[str | bytes],
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
    ) -> Lock:
        """Makes a handle for several mutexes (1 to 100) that are granted all or none, in one call: no order of names
        can deadlock. In a cluster they must lie in one slot, else acquiring raises `CrossSlot`. The options are those
        of `lock`.
        """

    def semaphore(
        self,
        name: str | bytes,
        permits: int,
        weight: int = 1,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
    ) -> Lock:
        """Makes a handle for `weight` of a semaphore's `permits` (1 to 2^31 - 1; at most 1,024 holders at once).
        Everybody who uses the semaphore must give the same `permits`. The options are those of `lock`."""

    def read_lock(
        self,
        name: str | bytes,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
    ) -> Lock:
        """Makes a handle for the reading side of a read-write lock: up to 1,024 readers at once, none beside a writer
        or after one that waits. The options are those of `lock`."""

    def write_lock(
        self,
        name: str | bytes,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
    ) -> Lock:
        """Makes a handle for the writing side of a read-write lock: alone. The options are those of `lock`."""

    def adopt(self, text: str, renew: bool = True, name: str | bytes | None = None) -> Lock:
        """Makes a handle of what `Lock.handover` wrote, in this process or another one, in any language, and takes the
        lease over: it has the ttl, the label and the fencing token of the giver, and is renewed for as long as the
        giver's `max_hold` left. Only one adopts. With a name, a text of another lock is refused, and that lock is not
        touched.

        Raises `Lost` if the lease is over, was adopted before, or is on another server; `InvalidArgument` for a text
        that is none, is damaged, or comes from a client with another prefix."""

    def _adopt(self, text: str, renew: bool = True, name: str | bytes | None = None) -> tuple[Lock, bool]: ...
    def stock(
        self,
        name: str | bytes,
        scope: str | bytes | None = None,
        ledger_cap: int = 100_000,
        retention: float = 2_592_000.0,
    ) -> Stock:
        """Makes a handle for the units of a sale, by its name (1 to 1,024 bytes). `Stock.open` makes the sale itself.

        `scope` is what several stocks share so that a cluster can take from them at once; all handles of a sale have
        the same. The ledger keeps about `ledger_cap` entries (1,000 to 10^8). A sale is kept for `retention` seconds (a
        minute to 36,500 days; half of that for certain) after its end, its last hold and the last call that wrote.
        Both count when the sale is opened.
        """

    def take_all(
        self,
        takes: Iterable[tuple[Stock, int]],
        buyer: str | bytes,
        hold: float = 600.0,
        request_id: str | bytes | None = None,
    ) -> TakenAll:
        """Holds units of several stocks for one buyer, or of none: tuples `(stock, quantity)`, 1 to 100 stocks of this
        client, none twice; else as `Stock.take`. `confirm_all` sells all of them or none. In a cluster the stocks need
        a common `scope`; else it raises `CrossSlot`."""

    def confirm_all(self, reservations: Iterable[tuple[Stock, str]]) -> bool:
        """Sells what several reservations hold, or nothing if one of them is over: tuples `(stock, id)`, 1 to 100; else
        as `Stock.confirm`."""

    def cancel_all(self, reservations: Iterable[tuple[Stock, str]]) -> bool:
        """Returns what several reservations hold to their stocks. Those that hold return even if others are over: True
        if all of them held, or had been cancelled."""

    def extend_all(self, reservations: Iterable[tuple[Stock, str]], hold: float = 600.0) -> bool:
        """Lengthens several holds, or none if one of them is over; else as `Stock.extend`."""

    def once(self, name: str, ttl: float = 86_400.0, lease: float = 10.0, error_ttl: float = 0.0) -> Once:
        """Makes a `Once`: work that is done once for each id and remembered for `ttl` seconds (1 ms to 3,650 days).

        If a caller dies while it runs the function, the next caller runs it after `lease` seconds (10 ms to an hour).
        The lease is not renewed, so make it longer than the function takes. The error of a function is remembered for
        `error_ttl` seconds (up to an hour); with 0 the next caller runs it at once.
        """

    def cache(
        self,
        name: str,
        fresh: float = 60.0,
        stale: float = 0.0,
        lease: float = 10.0,
        negative: float | None = None,
        error_ttl: float = 1.0,
        beta: float = 1.0,
        when_away: _WhenAway = "raise",
    ) -> Cache:
        """Makes a cache. A value is fresh for `fresh` seconds (1 ms to 3,650 days), and for `stale` seconds after that
        it is served while one caller loads a new one.

        A loader keeps the others from loading for `lease` seconds (10 ms to an hour). The answer that there is no value
        is fresh for `negative` seconds (None: as `fresh`; 0: not stored). For `error_ttl` seconds (up to an hour) after
        a loader failed nobody else loads. `beta` (0: never, to 100) is how eagerly a value is refreshed before it is
        stale. When Redis cannot answer, `when_away` says whether to `raise` or to `load`, as if there were no cache. If
        it goes away during a load, `raise` raises although there is a value, and `load` returns the value.
        """

    def close(self) -> None:
        """Releases the locks and permits that it holds, within the client's timeout, and closes the connections. Later
        calls raise `Closed`, and what was held is `lost`; closing twice does nothing."""

    @property
    def server(self) -> str:
        """The host and port, socket path or `memory://`; never a password."""

    @property
    def prefix(self) -> str:
        """What every Redis key starts with."""

    def _give_back(self) -> Future[bool] | None:
        """Closes the client for its callers; the future is done when what it held was given back, None: nothing was."""

    def _carry(self, loading: Loading) -> Future[None]:
        """Does a step of a load; the future is done at its end."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
    def _for_loops(self) -> Client: ...
    def _limit(self, name: str, key: str | bytes | int, policy: str | Rule | Iterable[Rule], cost: int = 1) -> Decision:
        """Consumes from a limiter of this name and policy, which is kept for the next call."""

@final
class Limiter:
    """Decides for keys by one policy; made by `Client.limiter`. Threads may share it.

    A key is a `str`, taken as UTF-8, or `bytes`: 1 to 1,024 of them. A cost is 0 to 2^52. Every call raises
    `InvalidArgument` for a bad key or number before anything is sent, and `Unavailable`, `Timeout`, `NotPermitted`,
    `WrongType` and `Closed` as they say; the first two only if the client's `on_error` is `raise`.

    With a `request_id` (a `str` or `bytes` of 1 to 256 bytes, such as a UUID) a call is charged once: the same id for
    the same key gets the first answer again while it is remembered (the client's `request_memory`), also when the first
    reply was lost. A denied call charged nothing, so it is decided again.
    """

    @property
    def name(self) -> str:
        """The name given."""

    @property
    def policy(self) -> str:
        """The policy in its canonical form."""

    @property
    def scope(self) -> str | bytes | None:
        """The scope as it was given; None without one."""

    @property
    def enforce(self) -> bool:
        """Whether the policy is enforced."""

    @property
    def lease(self) -> int | None:
        """How many permits it takes from Redis at once at most; None if each call asks."""

    def _name_is_known(self) -> None: ...
    def consume(self, key: str | bytes | int, cost: int = 1, request_id: str | bytes | None = None) -> Decision:
        """Charges `cost` to every rule if all admit it, else to none. A cost of 0 only looks; one above a limit is
        always denied."""

    def consume_up_to(self, key: str | bytes | int, most: int) -> Decision:
        """Charges as much as is admitted now, up to `most` (1 to 2^52); the decision's `cost` tells how much. Denied if
        that is nothing: then the answer is that of a cost of 1."""

    def reserve(
        self, key: str | bytes | int, estimate: int, ttl: float, unsettled: _Unsettled = "spent"
    ) -> Reservation:
        """Charges `estimate` (1 to 2^52) as `consume` does, and holds it for `ttl` seconds (1 ms to 36,500 days): until
        then `Reservation.settle` replaces it by the actual amount. One that nobody settles ends by itself: `unsettled`
        says whether the estimate is `spent` or `returned` then.

        The reservation is false if the call was denied: then nothing is held, and `decision` says why. If this raises
        because the reply was lost, the estimate may be held until its end.
        """

    def reservation(self, key: str | bytes | int, id: str) -> Reservation:
        """The reservation of this id, which `reserve` made here or in another process. Does not ask Redis whether there
        is one."""

    def _reserve(
        self, key: str | bytes | int, estimate: int, ttl: float, unsettled: str
    ) -> tuple[Reservation, Future[Decision]]: ...
    def peek(self, key: str | bytes | int, cost: int = 1) -> Decision:
        """Returns what `consume` would return, and never writes."""

    def require(self, key: str | bytes | int, cost: int = 1) -> Decision:
        """As `consume`, but a denial raises `RateLimited`, which carries the decision."""

    def wait(self, key: str | bytes | int, timeout: float, cost: int = 1) -> Decision:
        """As `consume`, and after a denial sleeps as `retry_after` says and tries again, for at most `timeout` seconds.
        Ends with a denial at once when the next chance comes after the timeout."""

    def refund(self, key: str | bytes | int, amount: int, request_id: str | bytes | None = None) -> Decision:
        """Gives back `amount` (1 to 2^52) of what was consumed; no rule falls below zero. Returns what a peek right
        after it would return."""

    def block(self, key: str | bytes | int, duration: float) -> Decision:
        """Denies everything for `duration` seconds (1 ms to 36,500 days), in place of an earlier block. Returns what a
        peek right after it would return. Raises whatever `on_error` says: a block that was not stored must not look
        like one.
        """

    def reset(self, key: str | bytes | int) -> bool:
        """Forgets everything about `key`, including a block and reservations; True if there was anything. Raises
        whatever `on_error` says."""

    def redis_key(self, key: str | bytes | int) -> bytes:
        """The Redis key that holds the state of `key`."""

@final
class Decision:
    """The answer of a limiter for one key; as a bool, whether the call was admitted. Durations are seconds.

    With several rules `limit`, `remaining`, `retry_after` and `reset_after` are those of the rule that binds: of the
    rules that deny the one with the longest `retry_after`, else the one with the least remaining.
    """

    @property
    def name(self) -> str:
        """The name of the limiter."""

    @property
    def allowed(self) -> bool:
        """Whether the call was admitted. A denied call was charged nothing."""

    @property
    def would_deny(self) -> bool:
        """Whether the policy denies, and only `enforce=False` lets the call pass: it was charged nothing."""

    @property
    def limit(self) -> int:
        """The limit of the rule that binds."""

    @property
    def remaining(self) -> int:
        """What could be consumed now; 0 while the key is blocked."""

    @property
    def retry_after(self) -> float | None:
        """After how many seconds the same call would be admitted if nobody else called: 0 when admitted, None when
        never."""

    @property
    def reset_after(self) -> float:
        """After how many seconds the rule that binds is as new and a block is over; `rules` has the other rules."""

    @property
    def cost(self) -> int:
        """The cost that was asked for; of `consume_up_to` what was taken."""

    @property
    def source(self) -> _Source:
        """Who answered: `redis`, `deny-cache` (this process, by what Redis denied a moment ago), `memory`, or `local`,
        `open` or `closed` while Redis cannot."""

    @property
    def healed(self) -> bool:
        """Whether a damaged or foreign value at the key was replaced."""

    @property
    def rules(self) -> tuple[RuleDecision, ...]:
        """The answer of each rule, in the order of the policy."""

    def headers(self, syntax: _HeaderSyntax = "draft-11", legacy: bool = False) -> dict[str, str]:
        """The header fields of an answer to the request that was decided, in their order.

        `RateLimit-Policy` and `RateLimit` have an item for each rule (draft-ietf-httpapi-ratelimit-headers-11), unless
        `syntax` is `none`. `legacy` adds `X-RateLimit-Limit`, `-Remaining` and `-Reset` (seconds from now) of the rule
        that binds. A denial has `Retry-After`: whole seconds, rounded up, at least 1; if the call can never be
        admitted, the longest period of the rules that say so."""

    def problem(self) -> _Problem:
        """The body of the answer to the request that was denied, as RFC 9457 has it (`application/problem+json`): its
        `status` is 429, or 503 if Redis could not be asked and `on_error="closed"` denied.

        Raises `InvalidArgument` if the call was allowed."""

    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @staticmethod
    def _unpickle(pickled: tuple[Any, ...]) -> Decision: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class CombinedDecision:
    """The answer about several keys, charged all or none; as a bool, whether all were admitted."""

    @property
    def allowed(self) -> bool:
        """Whether all were admitted, and charged. If not, none was."""

    @property
    def would_deny(self) -> bool:
        """Whether a limiter that is not enforced denies."""

    @property
    def binding(self) -> int:
        """The index in `decisions` of the one that binds: of the rules that deny the one with the longest
        `retry_after`, else the one with the least remaining."""

    @property
    def retry_after(self) -> float | None:
        """After how many seconds the same call would be admitted if nobody else called: 0 when admitted, None when
        never."""

    @property
    def source(self) -> _Source:
        """Who answered: `redis`, `memory`, or `local`, `open` or `closed` while Redis cannot."""

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decision about each key, in the order given."""

    def headers(self, syntax: _HeaderSyntax = "draft-11", legacy: bool = False) -> dict[str, str]:
        """The header fields of an answer to the request that was decided, in their order.

        `RateLimit-Policy` and `RateLimit` have an item for each rule (draft-ietf-httpapi-ratelimit-headers-11), unless
        `syntax` is `none`. `legacy` adds `X-RateLimit-Limit`, `-Remaining` and `-Reset` (seconds from now) of the rule
        that binds. A denial has `Retry-After`: whole seconds, rounded up, at least 1; if the call can never be
        admitted, the longest period of the rules that say so."""

    def problem(self) -> _Problem:
        """The body of the answer to the request that was denied, as RFC 9457 has it (`application/problem+json`): its
        `status` is 429, or 503 if Redis could not be asked and `on_error="closed"` denied.

        Raises `InvalidArgument` if the call was allowed."""

    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    @staticmethod
    def _unpickle(pickled: tuple[Any, ...]) -> CombinedDecision: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Reservation:
    """An amount held by `Limiter.reserve`; as a bool, whether it was admitted (True if made by `Limiter.reservation`,
    which does not ask Redis). Any process that knows its limiter, key and id can settle it."""

    @property
    def key(self) -> str | bytes | int:
        """The key as it was given."""

    @property
    def id(self) -> str:
        """The id: 32 hexadecimal digits."""

    @property
    def decision(self) -> Decision | None:
        """The answer of `reserve`; None if this was made by `Limiter.reservation`."""

    def settle(self, actual: int) -> bool:
        """Replaces the estimate by the `actual` amount (0 to 2^52). An excess is given back to the rules that still
        count it; a shortfall is charged, whatever the limit. False if the reservation had ended, or was settled with
        another amount: then nothing changed.

        Settling again with the same amount is True and changes nothing, so you may repeat it after an error. Raises
        whatever `on_error` says.
        """

    def cancel(self) -> bool:
        """Gives the whole estimate back: `settle` with 0."""

    def _decided(self, decision: Decision) -> None: ...
    def __bool__(self) -> bool: ...

@final
class Lock:
    """A handle for a lock; made by `Client.lock` and its neighbours. One caller acquires it at a time, and can do so
    again after its release; it is not re-entrant. Any thread may read, extend and release it.

        with client.lock("sku:42", ttl=30.0, wait=5.0) as lock:
            ...  # lock.token is for the resource, which refuses smaller ones

    `with` acquires or raises `NotAcquired`, which says who holds it. At its end it releases; if the lock was lost in
    the meantime and the body raised nothing, it raises `Lost`. If the body raises, you get that exception, even if the
    release fails.

    The handle knows its deadline by this process' own clock: `ttl` from before the request was sent, less 1 % and 2 ms.
    Past it the lock is lost, whatever Redis says. A forked child does not hold what its parent holds. A handle that is
    dropped while it holds is released in the background if `renew` is on; otherwise it ends with its ttl. When the
    process ends, it may be released, and ends with its ttl at the latest.

    Calls that ask Redis raise `Unavailable`, `Timeout`, `NotPermitted`, `WrongType` and `Closed`, whatever `on_error`
    says.
    """

    @property
    def names(self) -> tuple[str | bytes, ...]:
        """The names as they were given."""

    @property
    def redis_keys(self) -> tuple[bytes, ...]:
        """The Redis keys, one for each name."""

    @property
    def ttl(self) -> float:
        """The ttl in seconds."""

    @property
    def token(self) -> int | None:
        """The fencing token of the grant, larger than that of every grant of the name before; None if it was never
        acquired, or is released. It stays after a loss."""

    @property
    def state(self) -> _LockState:
        """What the handle knows, without asking Redis: `released` (or never acquired), `held`, `uncertain` (held, but
        the last renewal failed) or `lost`."""

    @property
    def held(self) -> bool:
        """Whether it is held for certain now."""

    @property
    def remaining(self) -> float:
        """For how many seconds it is held for certain; 0 if it is not."""

    @property
    def lost(self) -> Loss:
        """An event, like a `threading.Event`, that is set when the present grant is lost. It belongs to that grant, so
        get it after each acquisition. If nothing is held, it is never set."""

    def acquire(self, wait: float | None = None) -> bool:
        """Acquires it, waiting for at most `wait` seconds (None: as the handle was made): True if it is held now.

        Waiting does not poll: the process' thread listens for all waiters. If a signal handler raises (Ctrl-C), the
        wait ends and nothing is held. Raises `InvalidArgument` if this handle holds the lock, or is being acquired.
        """

    def release(self) -> bool:
        """Releases it: True if it was held until now, False if it was lost or is not held. Renewal stops at once. If
        the release fails, it is sent again in the background until Redis answers, or the lease is over."""

    def extend(self, ttl: float | None = None) -> bool:
        """Extends the lease to at least `ttl` seconds (None: the lock's own) from now: False if it was lost. It never
        shortens."""

    def handover(self) -> str:
        """Writes the lease down as a short text, by which another process adopts it (`Client.adopt`), and ends this
        handle: it is released, renews no more, and its `release` is False. Asks nothing.

        Nobody renews until the lock is adopted, so the text must arrive within what `remaining` says. Whoever has the
        text can take the lease: treat it as a secret. It holds no password.

        Raises `Lost` unless the lock is held for certain now; `InvalidArgument` for a lock over several servers."""

    def assert_held(self) -> None:
        """Raises `Lost` unless it is held for certain now. Does not ask Redis."""

    def raise_floor(self, floor: int) -> None:
        """Makes every later token larger than `floor` (0 to 2^52): for a resource that has seen a larger token than the
        lock gave. Does not ask Redis."""

    def inspect(self) -> Inspection:
        """Who holds it (of several names, the first), and how many wait for it."""

    def force_release(self) -> int:
        """Takes it away from all holders, and returns how many there were. For operators: the holders learn of it as a
        loss when they next renew or extend."""

    def _abandon(self) -> None:
        """Ends an acquisition whose caller has gone, and gives back what it got."""

    def _not_acquired(self) -> NotAcquired:
        """The exception for an acquisition that was not granted."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Loss:
    """Tells whether one grant of a lock was lost: the one that was held when you got `Lock.lost`. As a bool, whether it
    is lost."""

    def is_set(self) -> bool:
        """Whether it is lost. In a forked child it is: the lock is its parent's."""

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for at most `timeout` seconds (None: without an end) until it is lost: True if it is; False if the time
        is over or the lock was released."""

    def _future(self) -> Future[bool]:
        """A future of the running loop for how the grant ends: True if it was lost. Of a client for loops."""

    def __bool__(self) -> bool: ...

@final
class Stock:
    """The units of a sale; made by `Client.stock`. It does not oversell as long as Redis forgets nothing.

        sale = client.stock("sale:42")
        sale.open(5_000, per_buyer=2)
        taken = sale.take("user:42", hold=300.0)
        if taken.reservation:
            ...  # let the buyer pay
            sale.confirm(taken.reservation.id)

    What is not confirmed before its hold is over returns to stock at the next call that writes. In every state that
    anyone can see, `available + held + sold` is the number of all units. Calls raise `Unavailable`, `Timeout`,
    `NotPermitted`, `WrongType` and `Closed`, whatever `on_error` says, and are repeated after a lost reply within the
    client's timeout: nothing is taken or sold twice.
    """

    @property
    def name(self) -> str | bytes:
        """The name as it was given."""

    @property
    def scope(self) -> str | bytes | None:
        """The scope as it was given; None without one."""

    @property
    def redis_keys(self) -> tuple[bytes, ...]:
        """The Redis keys: hash, holds, ledger."""

    def open(
        self,
        quantity: int,
        per_buyer: int | None = None,
        ends: float | None = None,
        prizes: Iterable[str | bytes] | None = None,
    ) -> bool:
        """Opens the sale with `quantity` units (1 to 2^52): True if this call opened it, False if it is open with the
        same numbers; then nothing changes. Raises `InvalidArgument` if it is open with others.

        `per_buyer` is the most units that one buyer holds and has bought. `ends` is when takes end, in seconds since
        the epoch by the server's clock; confirming stays possible. `prizes` are as many payloads as units (1 to 1,024
        bytes each, 10,000 at most), such as coupon codes: each reservation gets its own, in this order.
        """

    def close(self) -> bool:
        """Ends the sale now, for good: True if this call did, False if it had ended before. Takes are refused as
        `ended`; what is held can still be confirmed, cancelled and extended. The sale is kept for its `retention` after
        the last of its holds has ended, or from now; until then its name is taken. Raises `InvalidArgument` if it is
        not open."""

    def restock(
        self,
        quantity: int,
        prizes: Iterable[str | bytes] | None = None,
        request_id: str | bytes | None = None,
    ) -> int:
        """Adds `quantity` units to an open sale and returns how many units there are now, including sold ones. A sale
        with prizes needs as many more. With a `request_id` they are added once for it while it is remembered, at least
        a day."""

    def take(
        self,
        buyer: str | bytes,
        quantity: int = 1,
        hold: float = 600.0,
        request_id: str | bytes | None = None,
    ) -> Taken:
        """Holds `quantity` units for a buyer (1 to 1,024 bytes) for `hold` seconds (1 ms to 30 days), or says why not.

        With a `request_id`, which belongs to this stock and buyer, units are taken once for it: the same id gets the
        first reservation again, whatever happened to it, while it is remembered: as long as the hold, or the client's
        `request_memory` if that is longer. A refused call is decided again.
        """

    def confirm(self, id: str) -> bool:
        """Sells what a reservation holds: True, also if it was confirmed before (that is remembered for a day at
        least); False, and nothing is sold, if the hold was over or cancelled. Raises `InvalidArgument` for an id of
        another stock."""

    def cancel(self, id: str) -> bool:
        """Returns what a reservation holds to stock: True, also if it was cancelled before and that is remembered;
        False if the hold was over or confirmed."""

    def extend(self, id: str, hold: float = 600.0) -> bool:
        """Makes a hold last for at least `hold` seconds from now; it never becomes shorter. False if it was over,
        confirmed or cancelled."""

    def status(self) -> StockStatus:
        """The numbers of the sale."""

    def reservations(self, cursor: str | None = None, count: int = 100) -> StockPage:
        """Lists up to `count` (1 to 1,000) holds that are not over in the order in which they end: the first of them,
        or those from the `next` of the page before. What is extended meanwhile may be seen twice; nothing is left
        out."""

    def ledger(self, after: str | None = None, count: int = 100) -> list[LedgerEntry]:
        """Reads up to `count` (1 to 1,000) entries of the ledger, those after the entry with the id `after`, or from
        the first that is kept. If you store the last id together with your own changes, you read every entry at least
        once."""

@final
class Taken:
    """The answer of `Stock.take`; as a bool, whether the units are held."""

    @property
    def outcome(self) -> _Outcome:
        """`held`, `sold_out`, `buyer_limit`, `not_open` or `ended`."""

    @property
    def reservation(self) -> StockReservation | None:
        """What is held; None unless the outcome is `held`."""

    @property
    def available(self) -> int:
        """How many units are available after it."""

    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class TakenAll:
    """The answer of `Client.take_all`; as a bool, whether all the units are held. If not, none is."""

    @property
    def outcome(self) -> _Outcome:
        """`held`, or why the first stock that refuses does: `sold_out`, `buyer_limit`, `not_open` or `ended`."""

    @property
    def refused(self) -> int | None:
        """The index of the stock that refuses, from 0; None if none does."""

    @property
    def reservations(self) -> tuple[StockReservation, ...]:
        """What is held of each stock, in the order given; empty unless the outcome is `held`."""

    @property
    def available(self) -> tuple[int, ...]:
        """How many units of each stock are available after it, in the order given."""

    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class StockReservation:
    """Units of a stock that are held for a buyer."""

    @property
    def id(self) -> str:
        """The id, with which any process can confirm, cancel or extend it."""

    @property
    def quantity(self) -> int:
        """How many units."""

    @property
    def buyer(self) -> bytes:
        """The buyer."""

    @property
    def prizes(self) -> tuple[bytes, ...]:
        """The prizes of the units; empty if the sale has none."""

    @property
    def until(self) -> float:
        """When the hold ends, in seconds since the epoch by the server's clock."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class StockPage:
    """Some reservations of a stock: the answer of `Stock.reservations`."""

    @property
    def reservations(self) -> tuple[StockReservation, ...]:
        """The reservations, in the order in which they end."""

    @property
    def next(self) -> str | None:
        """The cursor of the next page; None if there is none."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class StockStatus:
    """The numbers of a sale: the answer of `Stock.status`. `available + held + sold` are `quantity`; all 0 if it is not
    open."""

    @property
    def phase(self) -> str:
        """`not_open`, `open` or `ended`."""

    @property
    def quantity(self) -> int:
        """All units there are."""

    @property
    def available(self) -> int:
        """Those that can be taken."""

    @property
    def held(self) -> int:
        """Those of reservations that are neither confirmed nor cancelled nor returned."""

    @property
    def sold(self) -> int:
        """Those of confirmed reservations."""

    @property
    def buyers(self) -> int:
        """How many buyers hold or have bought."""

    @property
    def per_buyer(self) -> int | None:
        """The most units of one buyer; None: no limit."""

    @property
    def ends(self) -> float | None:
        """When takes end, in seconds since the epoch by the server's clock, or when it was closed; None: never."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class LedgerEntry:
    """One change of a sale, with the numbers after it, so that a program that replays the ledger can check itself."""

    @property
    def id(self) -> str:
        """The id to continue reading after."""

    @property
    def number(self) -> int:
        """Its number in the sale, from 1 without a gap: one that is missing is no longer kept."""

    @property
    def kind(self) -> str:
        """`opened`, `restocked`, `held`, `confirmed`, `cancelled`, `expired`, `extended` or `closed`."""

    @property
    def reservation(self) -> str | None:
        """The id of the reservation; None for an opening, a restock and a closing, and for units that expired since
        somebody deleted the key of their holds."""

    @property
    def buyer(self) -> bytes | None:
        """The buyer; None without a reservation."""

    @property
    def quantity(self) -> int:
        """How many units."""

    @property
    def time(self) -> float:
        """When, in seconds since the epoch by the server's clock."""

    @property
    def available(self) -> int:
        """Units available after it."""

    @property
    def held(self) -> int:
        """Units held after it."""

    @property
    def sold(self) -> int:
        """Units sold after it."""

    @property
    def prizes(self) -> tuple[bytes, ...]:
        """The prizes of what was held or confirmed; empty if the sale has none."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Once:
    """What is done once for each id; made by `Client.once`.

        orders = client.once("orders")
        receipt = orders.run("order:42", lambda: charge(order))

    Ids are 1 to 1,024 bytes. Calls raise `Unavailable`, `Timeout`, `NotPermitted`, `WrongType` and `Closed`, whatever
    `on_error` says: better not done than done twice.
    """

    @property
    def name(self) -> str:
        """The name given."""

    def claim(self, id: str | bytes, value: str | bytes | None = None) -> Claimed:
        """Claims an id: whether this caller is the first, and what the first gave (up to 64 MiB). While a `run` of the
        id runs, nobody is the first."""

    def release(self, id: str | bytes) -> bool:
        """Forgets an id, whoever claimed it, so the next caller is the first: True if there was one. A function that
        runs for it continues, but its result is not stored."""

    def run(
        self, id: str | bytes, function: Callable[[], str | bytes | None], wait: float | None = None
    ) -> bytes | None:
        """What `function()` returned for this id: bytes, text as UTF-8, or None. The first caller runs it; the others
        get its result, and wait for it for at most `wait` seconds (None: 5 more than the lease), then raise `Timeout`.

        If it raises, its caller gets the exception. Others run it again, unless the error is remembered: then they get
        `LoadFailed`. If its caller dies, the next one runs it after the lease.
        """

    def redis_key(self, id: str | bytes) -> bytes:
        """The Redis key of an id."""

    def _begin(self, id: str | bytes, wait: float | None) -> Loading:
        """A load of the result, for a loop."""

@final
class Claimed:
    """The answer of `Once.claim`; as a bool, whether this caller is the first."""

    @property
    def first(self) -> bool:
        """Whether this caller is the first."""

    @property
    def value(self) -> bytes | None:
        """The value of the first caller; None if there is none, or no result yet."""

    @property
    def running(self) -> bool:
        """Whether a function is running for the id, without a result yet."""

    @property
    def remaining(self) -> float:
        """The seconds until the claim ends, or the lease of the running function."""

    @property
    def age(self) -> float:
        """How many seconds ago it was claimed."""

    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Cache:
    """A cache that never stampedes; made by `Client.cache`. On a miss one caller loads the value, in whatever process.

        pages = client.cache("pages", fresh=60.0, stale=600.0)
        page = pages.get("home", lambda: render("home"))

    Keys are 1 to 1,024 bytes, values up to 64 MiB. Calls raise `Unavailable`, `Timeout`, `NotPermitted`, `WrongType`
    and `Closed`, whatever `on_error` says; with `when_away="load"` a `get` loads in place of the first two.
    """

    @property
    def name(self) -> str:
        """The name given."""

    def get(
        self, key: str | bytes | int, load: Callable[[], str | bytes | None], wait: float | None = None
    ) -> bytes | None:
        """The value of `key`, or what `load()` makes of it: bytes, text as UTF-8, or None if there is none.

        On a miss, while another caller loads, this waits for at most `wait` seconds (None: 5 more than the lease), then
        raises `Timeout`. A stale value is served at once, except to the one caller that loads a new one. If `load`
        raises, its caller gets the exception; others raise `LoadFailed` for a short time, or get the stale value. A
        `load` must not get its own key: it would wait for itself.
        """

    def get_many(
        self,
        keys: Iterable[str | bytes],
        load: Callable[[list[Any]], Mapping[Any, str | bytes | None]],
        wait: float | None = None,
    ) -> dict[str | bytes, bytes | None]:
        """The values of 1 to 1,000 keys, none twice, in one call; `load(missing)` gets a list of the missing ones and
        returns a mapping. Keys that it leaves out have no value, keys that it adds are ignored.

        After that it waits for keys that others load, and loads them one by one if those fail. If the last load of a
        key failed a short time ago, it raises `LoadFailed` after it has stored what it loaded. In a cluster the keys
        may lie in any slots; the call then takes a round trip for each slot.
        """

    def get_json(self, key: str | bytes | int, load: Callable[[], Any], wait: float | None = None) -> Any:  # noqa: ANN401
        """As `get`, with a value that is stored as JSON. The caller that loads gets it back from JSON too. None is no
        value.

        Raises `InvalidArgument` for what another language cannot read: more than 512 lists and dicts within each other,
        or half of a surrogate pair."""

    def peek(self, key: str | bytes | int) -> Seen | None:
        """What is there, fresh or stale, without loading or waiting; None if there is nothing."""

    def put(self, key: str | bytes | int, value: str | bytes | None) -> bool:
        """Stores a value that you already have; None means that there is none. It counts as newer than whatever is
        being loaded."""

    def invalidate(self, key: str | bytes | int) -> bool:
        """Forgets a key: what was loaded, or is being loaded now, is no longer served. True if there was a value."""

    def redis_key(self, key: str | bytes | int) -> bytes:
        """The Redis key of a key."""

    def _get(self, key: str | bytes | int, wait: float | None) -> Loading:
        """A load of the value, for a loop."""

    def _get_many(self, keys: Iterable[str | bytes], wait: float | None) -> tuple[list[str | bytes], Loading]:
        """The keys, and a load of their values, for a loop."""

@final
class Seen:
    """What a cache has: the answer of `Cache.peek`."""

    @property
    def value(self) -> bytes | None:
        """The value; None if it is known that there is none."""

    @property
    def stale(self) -> bool:
        """Whether it is not fresh any more."""

    @property
    def age(self) -> float:
        """How old it is in seconds."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Loading:
    """One load. `_next` says what is to be done: None is a step for `Client._carry`."""

    def _next(self) -> tuple[bytes | None, ...] | list[int] | None:
        """What is next: a tuple of the values, which are all; a list of the places of the keys whose values are to be
        made; or None, for what is to be carried out."""

    def _loaded(self, values: list[Any]) -> None:
        """Takes what was made for the places, which is then to be carried out."""

    def _failed(self, error: str) -> None:
        """Takes why nothing was made, which is then to be carried out."""

    def _leave(self) -> None:
        """Frees the way for others, from whichever thread, without a loop."""

@final
class Inspection:
    """Who holds a lock and how many wait for it: the answer of `Lock.inspect`."""

    @property
    def token(self) -> int:
        """The last fencing token given; 0 if none is remembered."""

    @property
    def waiters(self) -> int:
        """How many wait, as the server knows it: one of each process."""

    @property
    def holders(self) -> tuple[Holder, ...]:
        """The holders, in the order of their grants."""

    @property
    def healed(self) -> bool:
        """Whether the key holds a value that is not a lock of Quotalock's: it counts as none."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Holder:
    """A holder of a lock."""

    @property
    def host(self) -> str:
        """The host it runs on; empty if it did not say."""

    @property
    def pid(self) -> int:
        """Its process there."""

    @property
    def label(self) -> str:
        """The label that it gave."""

    @property
    def token(self) -> int:
        """Its fencing token."""

    @property
    def permits(self) -> int:
        """How many permits it has."""

    @property
    def since(self) -> float:
        """When it was granted, in seconds since the epoch by the server's clock."""

    @property
    def until(self) -> float:
        """When it ends unless it is renewed, by the same clock."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class RuleDecision:
    """What one rule of a policy says; as a bool, whether this rule admits by itself. Durations are seconds."""

    @property
    def allowed(self) -> bool:
        """Whether this rule admits by itself."""

    @property
    def limit(self) -> int:
        """The most that the rule admits at once: its capacity."""

    @property
    def remaining(self) -> int:
        """What this rule would let be consumed now."""

    @property
    def retry_after(self) -> float | None:
        """After how many seconds this rule would admit the same call: 0 now, None never."""

    @property
    def reset_after(self) -> float:
        """After how many seconds this rule is as new."""

    @property
    def algorithm(self) -> _Algorithm:
        """How the rule counts."""

    @property
    def quota(self) -> int:
        """How much the rule admits per period."""

    @property
    def period(self) -> float:
        """The period in seconds."""

    @property
    def capacity(self) -> int:
        """The most that the rule admits at once: the quota, but for a token bucket that says another capacity."""

    @staticmethod
    def _unpickle(pickled: tuple[Any, ...]) -> RuleDecision: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Rule:
    """One limit as an object: at most `limit` (1 to 2^52) per `period` seconds (1 ms to 36,500 days, in whole
    milliseconds), counted by `algorithm` (`fixed-window`, `calendar-window`, `sliding-window`, `token-bucket` or
    `sliding-log`).
    `capacity`, for a token bucket only, is the most that may be consumed at once (1 to 2^52); None is the limit.

    Raises `InvalidPolicy` for what is out of these bounds.
    """

    def __new__(
        cls, limit: int, period: float, algorithm: str = "fixed-window", capacity: int | None = None
    ) -> Self: ...
    @property
    def limit(self) -> int:
        """The amount per period."""

    @property
    def period(self) -> float:
        """The period in seconds."""

    @property
    def algorithm(self) -> str:
        """How the rule counts, such as `fixed-window`."""

    @property
    def capacity(self) -> int:
        """The most that may be consumed at once: the limit, unless another capacity was given."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs__(self) -> tuple[int, float, str, int | None]: ...

def client_address(
    peer: str | None, forwarded: str | Iterable[str] | None, trusted: Iterable[str], ipv6_prefix: int = 64
) -> str:
    """The address of the client that sent a request, as a text to be used as a key.

    `peer` is the address of the socket; None or an empty text is a Unix socket. `forwarded` is the value of
    `X-Forwarded-For` or `Forwarded` (RFC 7239), or one for each line of it. `trusted` lists the proxies: addresses,
    networks (`10.0.0.0/8`), and the words `loopback`, `private` and `unix`.

    The header counts only if the peer is trusted. It is read from its right end, and the first address that is not
    trusted is the client's: what stands further left was written by that client. What is no address ends the reading;
    then it is that of the proxy which sent it. An IPv6 address stands for the network of its first `ipv6_prefix` bits
    (32 to 128), such as `2001:db8:1:2::/64`.

    Raises `InvalidArgument` for what is no address or network, for one that means everybody, and if there is no address
    at all: a Unix socket, and nothing in the header."""

def metrics() -> list[_Metric]:
    """What was counted until now, by this process and those that count with it; nothing where `QUOTALOCK_METRICS=off`.

    A dict for each metric: its `name` as Prometheus is to call it, a `help` in one sentence, its `kind` (`counter`,
    `gauge` or `histogram`), and `samples`: dicts with `labels` and a `value`; of a histogram in place of that `buckets`
    (pairs of a bound in seconds and how many took no longer; the last bound is infinite), `sum` in seconds and `count`.
    What never happened is left out. No key shows: labels are the names of limiters, stocks, caches and servers."""

def prometheus() -> str:
    """The same as text that Prometheus reads: serve it as `text/plain; version=0.0.4; charset=utf-8`."""

def quorum_lock(
    clients: Iterable[Client],
    name: str | bytes,
    ttl: float = 30.0,
    wait: float = 0.0,
    renew: bool = True,
    max_hold: float = 3600.0,
    token_above: int = 0,
    label: str = "",
) -> Lock:
    """Makes a handle for a mutex over several independent servers, one for each of `clients` (3 to 15, better an odd
    number): held if most of them granted it within its ttl, so it survives the loss of the others. Does no I/O.

    The options are those of `Client.lock`. Each server has a twentieth of the `ttl` to answer. Waiters ask again every
    10 to 50 ms. A server that was started less than a `ttl` ago and keeps no append-only file has no vote.

    Raises `InvalidArgument` as `Client.lock`, for too few or too many clients, and for one that is given twice.
    """

@final
class PasswordQuestion:
    """Somebody waits for a password, on a loop. Dropped without an answer, it tells them so."""

    def _answer(self, told: object) -> None:
        """Answers it by what the function returned."""

    def _fail(self, raised: BaseException) -> None:
        """Answers it by what the function raised."""

@final
class LoopDriver:
    """Carries the calls of one client on one loop."""

    def _turn(self) -> None:
        """Reads, writes and expires what is due; called by the loop when the socket is ready, and when it is time."""

    def _flush(self) -> None:
        """Sends the calls of a tick; called by the loop after that tick."""

    def _settled(self, future: Future[Any]) -> None:
        """Takes a call back if its caller cancelled it; called by the loop when the call's future is done."""

    def _retire(self) -> None:
        """Leaves the loop, then hangs up; called by the loop."""

def settle_threads() -> None:
    """Keeps other threads out of the native code for a moment; called by the interpreter when it ends."""

def check_function(what: str, given: object) -> None:
    """Refuses what cannot be called, before anybody waits for it: `TypeError`."""

def tell_decision(
    function: Callable[[Decision, str | bytes | int], object], decision: Decision, key: str | bytes | int
) -> None:
    """Tells `on_decision` of a decision that charged or denied. What it raises goes to `sys.unraisablehook`."""

def tell_decisions(
    function: Callable[[Decision, str | bytes | int], object],
    decision: CombinedDecision,
    keys: list[str | bytes | int],
) -> None:
    """As `tell_decision`, of each of several decisions that charged or denied."""

def tell_lost(function: Callable[[Any], object], lock: object) -> None:
    """Tells `on_lost` of a lock. What it raises goes to `sys.unraisablehook`."""

def check_json(text: str) -> None:
    """Refuses JSON that another language cannot read back, before it is stored: `InvalidArgument`."""

def set_time(client: Client, micros: int | None) -> None:
    """Sets the time, in microseconds since the epoch (from 1973 to 2^52), at which every later call of this client is
    decided, also on a real server; None goes back to the server's clock. Other clients of the same server or memory
    keep theirs."""

def put(client: Client, redis_key: str | bytes | int, kind: str, value: str | bytes) -> bool:
    """Replaces what stands at a raw Redis key: `string` puts the value without a TTL, `list` a list of another program,
    `persist` takes away the TTL of what is there."""

def get(client: Client, redis_key: str | bytes | int) -> tuple[bytes, int | None] | None:
    """Reads what stands at a raw Redis key: the value and the milliseconds left (None: no TTL); None without a key."""
