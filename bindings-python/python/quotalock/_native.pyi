"""The native half of `quotalock`. Written from api/surface.toml by `python3 tools/api`."""

from asyncio import Future
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, TypedDict, final

from typing_extensions import NotRequired, Self

from ._errors import NotAcquired

_Algorithm = Literal["fixed-window", "calendar-window", "sliding-window", "token-bucket", "sliding-log"]
_HeaderSyntax = Literal["draft-11", "none"]
_LockState = Literal["released", "held", "uncertain", "lost"]
_MetricKind = Literal["counter", "gauge", "histogram"]
_OnError = Literal["raise", "open", "closed", "local"]
_Source = Literal["redis", "memory", "lease", "local", "open", "closed", "deny-cache"]
_TakeOutcome = Literal["held", "sold_out", "buyer_limit", "not_open", "ended"]
_Unsettled = Literal["spent", "returned"]
_WhenAway = Literal["raise", "load"]

# The body of a refusal (RFC 9457). `violated-policies` names the rules that deny, as the header fields do.
_Problem = TypedDict(
    "_Problem",
    {"type": str, "title": str, "status": int, "detail": str, "violated-policies": list[str]},
)

class _Sample(TypedDict):
    """A number of a counter or a gauge, or a histogram, with its labels."""

    labels: dict[str, str]
    value: NotRequired[int]
    buckets: NotRequired[list[tuple[float, int]]]
    sum: NotRequired[float]
    count: NotRequired[int]

class _Metric(TypedDict):
    """A counter, a gauge or a histogram."""

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
    """A client of one Redis, or of a store in the memory of this process (`memory://`). Creating a client does no I/O:
    the client connects at its first call, and again in each forked process.

    Threads may share a client, and forked processes may continue to use it.

    * `url`: the URL of the server: `redis://[user:password@]host[:port][/database]`, `rediss://`, `unix://`,
      `redis+cluster://`, `redis+sentinel://`, `memory://` or `memory://name` (default: None, the environment variable
      `QUOTALOCK_URL`, otherwise `redis://127.0.0.1:6379`). `memory://` is a store in the memory of this process, which
      all its clients share. `memory://name` is a separate store, which is removed when the last of its clients is
      closed.
    * `prefix`: the first part of every Redis key, without braces (default: `ql`).
    * `timeout`: the longest time that a call may take, including the connection to Redis (1 ms to 1 hour; default: 500
      ms).
    * `on_error`: the answer of a limiter while Redis cannot answer: an error (`raise`), an allowed call (`open`), a
      denied call (`closed`), or the decision of the same policy in the memory of this process (`local`) (default:
      `raise`).
    * `request_memory`: how long a call with a request id is remembered; never shorter than `timeout` (1 ms to 1 day;
      default: 60 s).
    * `password`: a function that returns the password, if the URL has none. Quotalock calls the function when a
      connection first logs in, and again when the server refuses the password. Calls to Redis wait for the function. If
      the function raises, they fail with its error. The function is called in a thread that waits for Redis. With
      `quotalock.aio` it may be a coroutine function. The client keeps a reference to it.
    * `deny_cache_max`: the longest time for which this process remembers a denial (0 ms to 1 minute; default: 1 s).
      After Redis has denied a call, the process denies the same call without asking Redis, until the call could be
      allowed. With 0, every call asks Redis.
    * `on_decision`: a function that is called after each decision that charges or denies, by any limiter of this
      client, right before the call ends. It gets the decision and the key as it was given. It is not called for calls
      that only read the state, fail or are aborted. An error in the function does not affect the call. The function is
      called on the thread of the call. An error in it goes to `sys.unraisablehook`.
    * `on_lost`: a function that is called when a lock of this client is found to be lost, once for each grant. It gets
      the handle. An error in it is treated like one in `on_decision`. The function is called on the thread that reads,
      extends or releases the lock. With `quotalock.aio` the loop calls it at once.
    * `report`: whether this process sends a report to Redis once per second, in the background, for `quotalock top`
      (default: False). The report has the number of decisions of each limiter, and the keys that were denied most
      often. Decisions that do not fit or that are not sent are dropped, and their number is reported.

    Raises `InvalidArgument` for an invalid URL or option; no error shows a password.
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
    @property
    def server(self) -> str:
        """The host and port, socket path or `memory://` of the server, never with a password."""

    @property
    def prefix(self) -> str:
        """The first part of every Redis key."""

    def limiter(
        self,
        name: str,
        policy: str | Rule | Iterable[Rule],
        scope: str | bytes | None = None,
        enforce: bool = True,
        prefetch: int | None = None,
    ) -> Limiter:
        """Makes a limiter.

        * `name`: the name, which is a part of the Redis keys. Objects of the same kind with the same name and prefix
          share their state.
        * `policy`: the rules of the limiter, such as `10/minute;100/hour`.
        * `scope`: the hash tag of all keys of the limiter, 1 to 1,024 bytes (default: None, each key is its own hash
          tag). In a cluster, all keys with one scope are in the same slot, so `Client.consume_all` can charge keys of
          several limiters with that scope.
        * `enforce`: whether the policy is enforced (default: True). With False, every call is allowed. A call that the
          policy would deny has `Decision.would_deny` set, and is not charged. Use this to try a policy on real traffic.
        * `prefetch`: the largest number of permits that the limiter takes from Redis at once, from 2 to the smallest
          capacity of the policy (default: None, each call asks Redis). Calls of this process then spend these permits
          without asking Redis. `sliding-window` and `sliding-log` do not support this option.

        Raises `InvalidArgument` for an empty or too long name or scope, and an invalid `prefetch`; `InvalidPolicy` for
        an invalid policy.
        """

    def consume_all(
        self,
        charges: Iterable[tuple[Limiter, str | bytes | int] | tuple[Limiter, str | bytes | int, int]],
        request_id: str | bytes | None = None,
    ) -> CombinedDecision:
        """Charges several keys in one atomic call, each with its own limiter and cost. If one limiter denies, no key is
        charged. A key may occur only once for each limiter. In a cluster, the limiters need a common `scope`.

        * `charges`: at most 100 charges: for each a limiter of this client, a key, and a cost from 1 to 2^52, which you
          can omit if it is 1.
        * `request_id`: an id that makes the call safe to repeat, as in `Limiter.consume`. It belongs to this set of
          keys, in any order: use another id for other keys.

        Raises `InvalidArgument` for an invalid charge; `CrossSlot` for limiters without a common scope in a cluster.
        """

    def lock(
        self,
        name: str | bytes,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3_600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
    ) -> Lock:
        """Makes a handle for a mutex, which only one handle holds at a time. A grant is a lease: it ends by itself
        after its `ttl`, unless it is renewed. This call does not ask Redis.

        * `name`: the name: 1 to 1,024 bytes of any value.
        * `ttl`: how long a grant lasts if it is not renewed (10 ms to 7 days; default: 30 s).
        * `wait`: how long an acquisition waits by default (0 ms to 36,500 days; default: 0 ms). With 0, it asks Redis
          once and does not wait.
        * `fair`: whether waiters are served in order of arrival (default: False).
        * `renew`: whether a thread of Quotalock renews the grant after each third of its ttl, even while the caller is
          busy (default: True). With False, the lock ends at its deadline, and a dropped handle is not released earlier.
        * `max_hold`: the longest time for which the lock is renewed, so that a holder that hangs does not block the
          others forever (default: 1 hour).
        * `token_above`: every fencing token is larger than this (0 to 2^52; default: 0).
        * `label`: a text about the holder that `Lock.inspect` shows next to its host and process: up to 128 bytes of
          UTF-8, without control characters (default: empty).
        * `replicas_ack`: how many replicas must confirm a grant before it counts (0 to 2^32 - 1; default: 0). With 0,
          no replica is asked. On `memory://`, which has no replicas, only 0 is valid.
        * `ack_timeout`: how long an acquisition waits for the replicas (1 ms to 1 minute; default: 100 ms).

        Raises `InvalidArgument` for an empty name, one over 1,024 bytes, or an invalid option.
        """

    def lock_all(
        self,
        names: Iterable[str | bytes],
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3_600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
    ) -> Lock:
        """Makes a handle for several mutexes. One call acquires all of them or none, so callers cannot deadlock,
        whatever the order of the names. In a cluster, the names must be in one slot; otherwise the acquisition fails
        with `CrossSlot`.

        * `names`: at most 100 names, without duplicates.

        The other options are those of `lock`.

        Raises `InvalidArgument` for invalid names or options.
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
        max_hold: float = 3_600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
    ) -> Lock:
        """Makes a handle for a semaphore that has `permits` permits. The handle acquires `weight` of them. At most
        1,024 handles hold permits at once. All users of a semaphore must give the same `permits`.

        * `name`: the name: 1 to 1,024 bytes of any value.
        * `permits`: the number of permits of the semaphore: the same number wherever this semaphore is used (1 to 2^31
          - 1).
        * `weight`: how many permits to acquire, all or none; at most all permits of the semaphore (1 to 2^31 - 1;
          default: 1).

        The other options are those of `lock`.

        Raises `InvalidArgument` for an invalid name, number or option.
        """

    def read_lock(
        self,
        name: str | bytes,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3_600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
    ) -> Lock:
        """Makes a handle for reading under a read-write lock. Up to 1,024 readers hold the lock at once. While a writer
        holds it or waits for it, no new reader gets the lock.

        * `name`: the name: 1 to 1,024 bytes of any value.

        The other options are those of `lock`.

        Raises `InvalidArgument` for an invalid name or option.
        """

    def write_lock(
        self,
        name: str | bytes,
        ttl: float = 30.0,
        wait: float = 0.0,
        fair: bool = False,
        renew: bool = True,
        max_hold: float = 3_600.0,
        token_above: int = 0,
        label: str = "",
        replicas_ack: int = 0,
        ack_timeout: float = 0.1,
    ) -> Lock:
        """Makes a handle for writing under a read-write lock. Only one writer holds the lock at a time, without
        readers.

        * `name`: the name: 1 to 1,024 bytes of any value.

        The other options are those of `lock`.

        Raises `InvalidArgument` for an invalid name or option.
        """

    def adopt(self, text: str, renew: bool = True, name: str | bytes | None = None) -> Lock:
        """Takes over a lock from the text that `Lock.handover` returned, in any process or language. The new handle has
        the ttl, the label and the fencing token of the first handle. Only one process can adopt a lock. The lock is
        renewed for the rest of the first holder's `max_hold`.

        * `renew`: whether the lock is renewed in the background (default: True).
        * `name`: the name that the lock must have (default: None, any lock). The text of a lock with another name is
          refused, and that lock is not changed.

        Raises `Lost` if the lease has ended, or the lock was adopted before or is on another server; `InvalidArgument`
        for a text that is damaged or is not from `Lock.handover`, and for a text from a client with another prefix.
        """

    def stock(
        self,
        name: str | bytes,
        scope: str | bytes | None = None,
        ledger_cap: int = 100_000,
        retention: float = 2_592_000.0,
    ) -> Stock:
        """Makes a handle for the units of a sale. This call does not ask Redis; `Stock.open` opens the sale.

        * `name`: the name: 1 to 1,024 bytes of any value.
        * `scope`: the hash tag of all keys of the stock, 1 to 1,024 bytes (default: None, each stock is its own hash
          tag). In a cluster, all stocks with one scope are in the same slot, so one `Client.take_all` can take from
          several of them. The scope is a part of the keys, so all handles of a sale must have the same scope.
        * `ledger_cap`: how many entries the ledger keeps, approximately (1,000 to 100,000,000; default: 100,000). The
          value is fixed when the sale is opened.
        * `retention`: about how long the sale and its ledger are kept; they are never removed before half of this time
          (1 minute to 36,500 days; default: 30 days). The time begins at the latest of three moments: the end of the
          sale, the end of its last hold, and the last call that wrote. The value is fixed when the sale is opened.

        Raises `InvalidArgument` for an empty name, one over 1,024 bytes, or an invalid option.
        """

    def take_all(
        self,
        takes: Iterable[tuple[Stock, int]],
        buyer: str | bytes,
        hold: float = 600.0,
        request_id: str | bytes | None = None,
    ) -> TakenAll:
        """Holds units of several stocks for one buyer in one atomic call: all the units, or none. Each stock has an
        ordinary reservation, which can also be confirmed or cancelled alone. In a cluster, the stocks need a common
        `scope`.

        * `takes`: at most 100 stocks of this client, without duplicates, each with a quantity.
        * `buyer`: the buyer: 1 to 1,024 bytes.
        * `hold`: how long the units are held (1 ms to 30 days; default: 10 minutes).
        * `request_id`: an id that makes the call safe to repeat: 1 to 256 bytes. It belongs to the buyer and the stock.
          With `Client.take_all`, use a new id for each basket.

        Raises `InvalidArgument` for an invalid stock, quantity or buyer; `CrossSlot` for stocks without a common scope
        in a cluster.
        """

    def confirm_all(self, reservations: Iterable[tuple[Stock, str]]) -> bool:
        """Sells the units of several reservations in one atomic call. If one of the reservations has ended or was
        cancelled, nothing is sold, and the call returns False. Otherwise it works like `Stock.confirm`.

        * `reservations`: at most 100 pairs of a stock and a reservation id, without duplicates.

        Raises `InvalidArgument` for an invalid reservation; `CrossSlot` for stocks without a common scope in a cluster.
        """

    def cancel_all(self, reservations: Iterable[tuple[Stock, str]]) -> bool:
        """Returns the units of several reservations to their stocks in one atomic call, except those that have ended or
        were confirmed. Returns True if the units of all the reservations were returned.

        * `reservations`: at most 100 pairs of a stock and a reservation id, without duplicates.

        Raises `InvalidArgument` for an invalid reservation; `CrossSlot` for stocks without a common scope in a cluster.
        """

    def extend_all(self, reservations: Iterable[tuple[Stock, str]], hold: float = 600.0) -> bool:
        """Extends several holds in one atomic call. If one of the holds has ended, or was confirmed or cancelled, none
        is extended, and the call returns False. Otherwise it works like `Stock.extend`.

        * `reservations`: at most 100 pairs of a stock and a reservation id, without duplicates.
        * `hold`: how long the units are held, from now (1 ms to 30 days; default: 10 minutes).

        Raises `InvalidArgument` for an invalid reservation; `CrossSlot` for stocks without a common scope in a cluster.
        """

    def once(self, name: str, ttl: float = 86_400.0, lease: float = 10.0, error_ttl: float = 0.0) -> Once:
        """Makes a `Once` handle, for work that is done once for each id, across all processes.

        * `name`: the name, which is a part of the Redis keys. Objects of the same kind with the same name and prefix
          share their state.
        * `ttl`: how long a claim or a result is remembered (1 ms to 3,650 days; default: 1 day).
        * `lease`: how long one caller runs the function alone (10 ms to 1 hour; default: 10 s). If this caller dies,
          the next caller runs the function when the lease ends. The lease is not renewed, so make it longer than the
          function takes.
        * `error_ttl`: how long the error of a run is remembered (0 ms to 1 hour; default: 0 ms). With 0, the next
          caller runs the function at once.

        Raises `InvalidArgument` for an empty name, one over 1,024 bytes, or an invalid option.
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
        """Makes a cache. On a miss, only one caller across all processes loads the value.

        * `name`: the name, which is a part of the Redis keys. Objects of the same kind with the same name and prefix
          share their state.
        * `fresh`: how long a value is fresh (1 ms to 3,650 days; default: 60 s).
        * `stale`: how long a stale value is still served after `fresh`, while one caller loads a new value (0 ms to
          3,650 days; default: 0 ms).
        * `lease`: how long one caller loads alone (10 ms to 1 hour; default: 10 s). The lease is not renewed: if a load
          takes longer, another caller loads too, and the value of the load that began last is kept.
        * `negative`: how long None, the result of a loader that found no value, is fresh (0 ms to 3,650 days; default:
          None, the value of `fresh`). With 0, None is not stored.
        * `error_ttl`: how long the error of a loader is remembered (0 ms to 1 hour; default: 1 s). During this time no
          other caller loads.
        * `beta`: how early a value is refreshed before it is stale, from 0 (never) to 100 (default: 1.0). A larger
          number refreshes earlier.
        * `when_away`: the behaviour of a `get` while Redis cannot answer: with `raise` it fails, with `load` it runs
          the loader as if there were no cache (default: `raise`). If Redis goes down during a load, `get` cannot store
          the loaded value: with `raise` it fails even then, with `load` it returns the value.

        Raises `InvalidArgument` for an empty name, one over 1,024 bytes, or an invalid option.
        """

    def close(self) -> None:
        """Releases the locks and permits of the client, within its `timeout`, and closes the connections. Later calls
        fail with `Closed`, and handles that held a lock are `lost`. A second `close` does nothing.
        """

    def _adopt(self, text: str, renew: bool = True, name: str | bytes | None = None) -> tuple[Lock, bool]: ...
    def _limit(self, name: str, key: str | bytes | int, policy: str | Rule | Iterable[Rule], cost: int = 1) -> Decision:
        """Consumes from a limiter of this name and policy, which is kept for the next call."""

    def _for_loops(self) -> Client: ...
    def _give_back(self) -> Future[bool] | None:
        """Closes the client for its callers; the future is done when what it held was given back, None: nothing was."""

    def _carry(self, loading: Loading) -> Future[None]:
        """Does a step of a load; the future is done at its end."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Limiter:
    """A limiter, which decides for each key by one policy. `Client.limiter` makes it.

    A key is 1 to 1,024 bytes; text is encoded as UTF-8. All calls can fail with `Unavailable`, `Timeout`,
    `NotPermitted`, `WrongType`, `NewerVersion` and `Closed`, and with `InvalidArgument` before anything is sent.
    `Unavailable` and `Timeout` occur only if the client's `on_error` is `raise`, unless the method states otherwise.

    Threads may share a limiter. A call with a `request_id` (1 to 256 bytes, such as a UUID) is charged only once, even
    if the first reply was lost: while the id is remembered (for the client's `request_memory`), the same id for the
    same key gets the first answer again. A denied call charged nothing, so it is decided again.
    """

    @property
    def name(self) -> str:
        """The name given."""

    @property
    def policy(self) -> str:
        """The policy in its canonical form."""

    @property
    def scope(self) -> str | bytes | None:
        """The scope given; None without one."""

    @property
    def enforce(self) -> bool:
        """Whether the policy is enforced."""

    @property
    def prefetch(self) -> int | None:
        """The largest number of permits that the limiter takes from Redis at once; None if each call asks Redis."""

    def consume(self, key: str | bytes | int, cost: int = 1, request_id: str | bytes | None = None) -> Decision:
        """Charges `cost` to every rule if all rules allow it, otherwise to none. A call with the cost 0 only reads the
        state. A cost above a limit is always denied.

        * `cost`: the cost of the call (0 to 2^52; default: 1). A call with the cost 0 only reads the state.
        * `request_id`: an id that makes the call safe to repeat: 1 to 256 bytes, such as a UUID. While the id is
          remembered, a call with the same id and key returns the first answer and is not charged again. A denial is not
          remembered: the next call with its id is decided again.
        """

    def consume_up_to(self, key: str | bytes | int, most: int) -> Decision:
        """Charges as much as the rules allow now, up to `most`. `Decision.cost` is the amount that was charged. If the
        rules allow nothing, the call is denied, with the decision that `consume` would return for a cost of 1.

        * `most`: the largest amount to charge (1 to 2^52).
        """

    def reserve(
        self, key: str | bytes | int, estimate: int, ttl: float, unsettled: _Unsettled = "spent"
    ) -> Reservation:
        """Charges `estimate` in the same way as `consume`, and holds it until `Reservation.settle` replaces it by the
        actual amount, or until `ttl` ends. If the call is denied, nothing is held; `Reservation.decision` has the
        answer. If the reply is lost, the estimate may stay held until `ttl` ends.

        * `estimate`: the estimated cost (1 to 2^52).
        * `ttl`: the longest time for which the estimate is held (1 ms to 36,500 days).
        * `unsettled`: the treatment of an estimate that is not settled within `ttl`: it stays charged (`spent`), or it
          is given back (`returned`) (default: `spent`).
        """

    def reservation(self, key: str | bytes | int, id: str) -> Reservation:
        """Returns a handle for the reservation with this id, which `reserve` made in this process or another one. This
        call does not ask Redis whether the reservation exists.

        Raises `InvalidArgument` for an invalid key, or an id that is not 32 hexadecimal digits.
        """

    def peek(self, key: str | bytes | int, cost: int = 1) -> Decision:
        """Decides like `consume`, but charges and writes nothing. `Decision.remaining` is the amount that could be
        consumed now.
        """

    def require(self, key: str | bytes | int, cost: int = 1) -> Decision:
        """Works like `consume`, but raises an error if the call is denied.

        Raises `RateLimited` if the call is denied; the error has the decision.
        """

    def wait(self, key: str | bytes | int, timeout: float, cost: int = 1) -> Decision:
        """Works like `consume`, but after a denial it sleeps for `Decision.retry_after` and tries again. If the call
        cannot be allowed within `timeout`, it returns the denial at once.

        * `timeout`: the longest time to wait (0 ms to 36,500 days).
        """

    def refund(self, key: str | bytes | int, amount: int, request_id: str | bytes | None = None) -> Decision:
        """Gives back `amount` of the consumed cost; the count of a rule does not fall below zero. Returns the new state
        of the key, as a `peek` does.

        * `amount`: the amount to give back (1 to 2^52).
        * `request_id`: an id that makes the call safe to repeat: 1 to 256 bytes. While the id is remembered, a second
          call with the same id and key gives nothing back.
        """

    def block(self, key: str | bytes | int, duration: float) -> Decision:
        """Denies all calls of `key` for `duration`, and replaces an earlier block. Returns the new state of the key, as
        a `peek` does. If Redis cannot store the block, the call fails, whatever `on_error` is.

        * `duration`: how long calls are denied, from now (1 ms to 36,500 days).

        Raises `Unavailable` if Redis cannot store it.
        """

    def reset(self, key: str | bytes | int) -> bool:
        """Removes all state of `key`: counts, a block and reservations. Returns True if anything was stored. If Redis
        cannot answer, the call fails, whatever `on_error` is.
        """

    def redis_key(self, key: str | bytes | int) -> bytes:
        """Returns the Redis key that holds the state of `key`: `<prefix>:limit:<name>:{<key>}`, or with a scope
        `<prefix>:limit:<name>:{<scope>}:{<key>}`.
        """

    def _reserve(
        self, key: str | bytes | int, estimate: int, ttl: float, unsettled: str
    ) -> tuple[Reservation, Future[Decision]]: ...
    def _name_is_known(self) -> None: ...

@final
class Decision:
    """The answer of a limiter for one key. With several rules, `limit`, `remaining`, `retry_after` and `reset_after`
    are those of the binding rule: the denying rule with the longest `retry_after`, or if none denies, the rule with the
    least `remaining`.

    As a bool, a decision is true if the call was allowed. Durations are in seconds.
    """

    @property
    def name(self) -> str:
        """The name of the limiter."""

    @property
    def allowed(self) -> bool:
        """Whether the call is allowed. A denied call is not charged."""

    @property
    def would_deny(self) -> bool:
        """Whether the call is allowed only because of `enforce=False`: the policy would deny it, and it was not
        charged.
        """

    @property
    def limit(self) -> int:
        """The limit of the binding rule."""

    @property
    def remaining(self) -> int:
        """The amount that can be consumed after this call; 0 while the key is blocked."""

    @property
    def retry_after(self) -> float | None:
        """The number of seconds until the same call would be allowed, if there are no other calls. 0 if the policy
        allowed the call, None if it can never be allowed.
        """

    @property
    def reset_after(self) -> float:
        """The number of seconds until the binding rule has its whole limit again, and a block has ended. `rules` has
        the other rules.
        """

    @property
    def cost(self) -> int:
        """The cost of the call; with `Limiter.consume_up_to`, the amount that was taken."""

    @property
    def source(self) -> _Source:
        """The source of the answer: `redis`, `memory`, `lease` (prefetched permits) or `deny-cache` (a recent denial by
        Redis that this process remembers). While Redis cannot answer: `local`, `open` or `closed`.
        """

    @property
    def healed(self) -> bool:
        """Whether the call replaced a value at the key that was damaged, or that another program wrote."""

    @property
    def rules(self) -> tuple[RuleDecision, ...]:
        """The answer of each rule, in the order of the policy."""

    def headers(self, syntax: _HeaderSyntax = "draft-11", legacy: bool = False) -> dict[str, str]:
        """Returns the header fields for the response, in their order. If the call was denied, they include
        `Retry-After`, in whole seconds, rounded up, at least 1. If the cost is above a limit, so that waiting never
        helps, `Retry-After` is the period of the rule with that limit (the longest, if there are several).

        * `syntax`: the format of the quota fields (default: `draft-11`). `draft-11` returns `RateLimit-Policy` and
          `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11, with an item for each rule; `none` leaves them out.
        * `legacy`: whether `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` (in seconds from now)
          of the binding rule are added (default: False).
        """

    def problem(self) -> _Problem:
        """Returns the body of the response to a denied request, in the format of RFC 9457 (`application/problem+json`).
        Its `status` is 429, or 503 if Redis could not be asked and `on_error="closed"` denied the call.

        Raises `InvalidArgument` if the call was allowed.
        """

    @staticmethod
    def _unpickle(pickled: tuple[Any, ...]) -> Decision: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class CombinedDecision:
    """The answer of `Client.consume_all` about several keys. All keys are charged, or none.

    As a bool, the answer is true if all charges were allowed.
    """

    @property
    def allowed(self) -> bool:
        """Whether all charges are allowed. If not, no key was charged."""

    @property
    def would_deny(self) -> bool:
        """Whether a limiter with `enforce=False` would deny."""

    @property
    def binding(self) -> int:
        """The index in `decisions` of the binding decision: the denial with the longest `retry_after`, or if there is
        no denial, the decision with the least `Decision.remaining`.
        """

    @property
    def retry_after(self) -> float | None:
        """The number of seconds until the same call would be allowed, if there are no other calls. 0 if the policy
        allowed the call, None if it can never be allowed.
        """

    @property
    def source(self) -> _Source:
        """The source of the answer: `redis`, `memory`, `lease` (prefetched permits) or `deny-cache` (a recent denial by
        Redis that this process remembers). While Redis cannot answer: `local`, `open` or `closed`.
        """

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decision about each key, in the order given."""

    def headers(self, syntax: _HeaderSyntax = "draft-11", legacy: bool = False) -> dict[str, str]:
        """Returns the header fields for the response, in their order. If the call was denied, they include
        `Retry-After`, in whole seconds, rounded up, at least 1. If the cost is above a limit, so that waiting never
        helps, `Retry-After` is the period of the rule with that limit (the longest, if there are several).

        * `syntax`: the format of the quota fields (default: `draft-11`). `draft-11` returns `RateLimit-Policy` and
          `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11, with an item for each rule; `none` leaves them out.
        * `legacy`: whether `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` (in seconds from now)
          of the binding rule are added (default: False).
        """

    def problem(self) -> _Problem:
        """Returns the body of the response to a denied request, in the format of RFC 9457 (`application/problem+json`).
        Its `status` is 429, or 503 if Redis could not be asked and `on_error="closed"` denied the call.

        Raises `InvalidArgument` if the call was allowed.
        """

    @staticmethod
    def _unpickle(pickled: tuple[Any, ...]) -> CombinedDecision: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Reservation:
    """An amount held by `Limiter.reserve`. Any process that knows its limiter, key and id can settle it.

    As a bool, a reservation is true if its estimate was allowed, or if `Limiter.reservation` made it, which does not
    ask Redis.
    """

    @property
    def key(self) -> str | bytes | int:
        """The key as it was given."""

    @property
    def id(self) -> str:
        """The id: 32 hexadecimal digits."""

    @property
    def decision(self) -> Decision | None:
        """The answer of `Limiter.reserve`; None if `Limiter.reservation` made this handle."""

    def settle(self, actual: int) -> bool:
        """Replaces the estimate by the `actual` amount. If the estimate was too high, the difference is given back to
        the rules that still count it. If it was too low, the difference is charged, even above the limit. Returns False
        and changes nothing if the reservation had ended, or was settled with another amount.

        After an error you can repeat the call with the same amount: if the first call took effect, the second one
        returns True and changes nothing. This is remembered for ten seconds, but not after the end of the reservation's
        `ttl`.

        * `actual`: the actual cost (0 to 2^52).

        Raises `Unavailable` if Redis cannot answer, whatever `on_error` is.
        """

    def cancel(self) -> bool:
        """Gives back the whole estimate, like `settle` with 0.

        Raises `Unavailable` if Redis cannot answer, whatever `on_error` is.
        """

    def _decided(self, decision: Decision) -> None: ...
    def __bool__(self) -> bool: ...

@final
class Lock:
    """A handle for a lock. `Client.lock` and similar methods make it. Only one caller at a time can use a handle, and
    it can be acquired again after its release. A handle is not re-entrant.

    A lock is a lease: it ends by itself if it is not renewed. `state`, `held` and `remaining` are computed with the
    clock of the process: the deadline is `ttl` after the request was sent, less 1 % and 2 ms. After the deadline the
    lock is lost, even if Redis still has it. To be safe from a holder that continues after a pause, let the resource
    refuse every fencing `token` smaller than the largest that it has seen. A forked child does not hold the locks of
    its parent.

    Calls that ask Redis can fail with `Unavailable`, `Timeout`, `NotPermitted`, `WrongType`, `NewerVersion` and
    `Closed`, whatever `on_error` is.

        with client.lock("sku:42", ttl=30.0, wait=5.0) as lock:
            ...  # lock.token is for the resource, which refuses smaller ones

    `with` acquires the lock, or raises `NotAcquired`, which names the holder. At the end of the block, it releases the
    lock. If the lock was lost in the meantime and the block raised nothing, `with` raises `Lost`. If the block raises,
    you get that exception, even if the release fails.

    Any thread may read, extend and release a handle. If a handle that holds the lock is dropped, the lock is released
    in the background if `renew` is on; otherwise it ends with its ttl. When the process ends, the lock is released if
    there is time, and ends with its ttl at the latest.
    """

    @property
    def names(self) -> tuple[str | bytes, ...]:
        """The names as they were given."""

    @property
    def redis_keys(self) -> tuple[bytes, ...]:
        """The Redis keys, one for each name: `<prefix>:lock:{<name>}`, for a semaphore `<prefix>:sem:{<name>}`, for a
        read-write lock `<prefix>:rw:{<name>}`.
        """

    @property
    def ttl(self) -> float:
        """How long a grant lasts if it is not renewed, in seconds."""

    @property
    def token(self) -> int | None:
        """The fencing token of the grant, larger than the token of every earlier grant of the name. None if the lock
        was never acquired, or is released. The token stays readable after a loss.
        """

    @property
    def state(self) -> _LockState:
        """The state as the handle knows it, without asking Redis: `released` (or never acquired), `held`, `uncertain`
        (held, but the last renewal failed) or `lost`.
        """

    @property
    def held(self) -> bool:
        """Whether the lock is certainly held now."""

    @property
    def remaining(self) -> float:
        """The number of seconds for which the lock is certainly held, if it is not renewed. 0 if the lock is not
        held.
        """

    @property
    def lost(self) -> Loss:
        """An event, like a `threading.Event`, that is set when the current grant is lost. Each grant has its own event,
        so read this property again after each acquisition. If the handle holds nothing, the event is never set.
        """

    def acquire(self, wait: float | None = None) -> bool:
        """Acquires the lock. Returns True if the lock is held now, and False if it was not granted within `wait`.
        Except for quorum locks, a waiting caller does not poll Redis. If the wait ends without a grant, the caller
        holds nothing and leaves the queue. If a signal handler raises (Ctrl-C), the wait ends and nothing is held.

        * `wait`: the longest time to wait (0 ms to 36,500 days; default: None, the `wait` of the handle). With 0, the
          call asks Redis once and does not wait.

        Raises `InvalidArgument` if this handle already holds the lock, or another call is acquiring it; `CrossSlot` for
        names in several slots of a cluster.
        """

    def release(self) -> bool:
        """Releases the lock. Returns True if the lock was held until now, and False if it was lost or is not held. If
        the release fails, the lock ends with its ttl at the latest. Renewal stops at once. A failed release is sent
        again in the background until Redis answers, or the lease has ended.

        Raises `Unavailable` if Redis cannot answer.
        """

    def extend(self, ttl: float | None = None) -> bool:
        """Extends the lease to at least `ttl` from now, and never shortens it. Returns False if the lock was lost.

        * `ttl`: how long the lease lasts, from now (10 ms to 7 days; default: None, the ttl of the lock).

        Raises `Unavailable` if Redis cannot answer.
        """

    def handover(self) -> str:
        """Returns a short text with which another process can take over the lock (`Client.adopt`). This handle then
        counts as released: the lock is no longer renewed, and `release` returns False. This call does not ask Redis.

        The lease is not renewed until the lock is adopted, so the lock must be adopted within the time that `remaining`
        returned before this call. Anyone who has the text can take over the lock, so treat the text as a secret. It
        contains no password.

        Raises `Lost` if it is not certain that the lock is held; `InvalidArgument` for a quorum lock.
        """

    def assert_held(self) -> None:
        """Fails unless the lock is certainly held now. This call does not ask Redis.

        Raises `Lost` if it is not certain that the lock is held.
        """

    def raise_floor(self, floor: int) -> None:
        """Makes every later fencing token of this handle larger than `floor`. Use it if the resource has seen a larger
        token than the lock returned. This call does not ask Redis.

        * `floor`: the largest token that the resource has seen (0 to 2^52).

        Raises `InvalidArgument` for a `floor` outside its bounds.
        """

    def inspect(self) -> Inspection:
        """Returns the holders of the lock, and how many processes wait for it. With several names or servers, the
        answer is about the first one.
        """

    def force_release(self) -> int:
        """Takes the lock away from all holders, and returns how many holders there were. This is for operators: a
        holder notices the loss when it next renews, extends or releases.
        """

    def _abandon(self) -> None:
        """Ends an acquisition whose caller has gone, and gives back what it got."""

    def _not_acquired(self) -> NotAcquired:
        """The exception for an acquisition that was not granted."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Stock:
    """A handle for the units of a sale. `Client.stock` makes it. The sale does not oversell as long as Redis loses no
    data.

    Units that are not confirmed before their hold ends return to the stock at the next call that writes. At any time,
    `available + held + sold` is the number of all units. If a reply is lost, the client repeats the call within its
    timeout, and nothing is taken, sold or added twice. All calls can fail with `Unavailable`, `Timeout`,
    `NotPermitted`, `WrongType`, `NewerVersion` and `Closed`, whatever `on_error` is.

        sale = client.stock("sale:42")
        sale.open(5_000, per_buyer=2)
        taken = sale.take("user:42", hold=300.0)
        if taken.reservation:
            ...  # let the buyer pay
            sale.confirm(taken.reservation.id)
    """

    @property
    def name(self) -> str | bytes:
        """The name as it was given."""

    @property
    def scope(self) -> str | bytes | None:
        """The scope given; None without one."""

    @property
    def redis_keys(self) -> tuple[bytes, ...]:
        """The three Redis keys of the sale: `<prefix>:stock:{<name>}` (with a scope
        `<prefix>:stock:{<scope>}:{<name>}`), and the same key with `:holds` and with `:ledger` at its end.
        """

    def open(
        self,
        quantity: int,
        per_buyer: int | None = None,
        ends: float | None = None,
        prizes: Iterable[str | bytes] | None = None,
    ) -> bool:
        """Opens the sale. Returns True if this call opened the sale. If the sale is already open with the same numbers
        and prizes, returns False and changes nothing.

        * `quantity`: the number of units (1 to 2^52).
        * `per_buyer`: the largest number of units for one buyer, held and bought units together (1 to 2^52; default:
          None, no limit).
        * `ends`: the end of the sale, in seconds since the epoch by the server's clock (default: None, never). After
          it, nothing can be taken, but holds can still be confirmed.
        * `prizes`: a prize for each unit, such as a coupon code or a seat: 1 to 1,024 bytes each, at most 10,000 in one
          call. `Stock.restock` adds more. Reservations get the prizes in this order.

        Raises `InvalidArgument` if the sale is open with other numbers or prizes; the message names them.
        """

    def close(self) -> bool:
        """Ends the sale now and for good. Returns True if this call ended the sale, and False if it had ended before.
        Later takes are refused with the outcome `ended`. Units that are held can still be confirmed, cancelled and
        extended. The sale is kept for its `retention`, which begins when its last hold ends, or now if there are no
        holds. As long as it is kept, its name cannot be used again.

        Raises `InvalidArgument` if the sale was never opened.
        """

    def restock(
        self, quantity: int, prizes: Iterable[str | bytes] | None = None, request_id: str | bytes | None = None
    ) -> int:
        """Adds units to a sale, even after its end, and returns the number of all units, including sold ones. A sale
        with prizes needs a prize for each new unit.

        * `quantity`: the number of units (1 to 2^52).
        * `prizes`: a prize for each new unit, if the sale has prizes.
        * `request_id`: an id that makes the call safe to repeat: 1 to 256 bytes. The id is remembered for at least a
          day. In this time, a second call with the same id adds nothing and returns the first answer.

        Raises `InvalidArgument` if the sale was never opened, or for a wrong number of prizes.
        """

    def take(
        self, buyer: str | bytes, quantity: int = 1, hold: float = 600.0, request_id: str | bytes | None = None
    ) -> Taken:
        """Holds units for a buyer. If the take is refused, nothing is held, and `Taken.outcome` is the reason. Units
        that are not confirmed in time return to the stock.

        A call with the same request id and buyer returns the first reservation again, even if that reservation has
        ended. The id is remembered as long as the hold, or for the client's `request_memory` if that is longer. A
        refusal is not remembered: the next call with its id is decided again.

        * `buyer`: the buyer: 1 to 1,024 bytes.
        * `quantity`: how many units to take, all or none (1 to 2^52; default: 1). A call takes at most 1,000 units with
          prizes.
        * `hold`: how long the units are held (1 ms to 30 days; default: 10 minutes).
        * `request_id`: an id that makes the call safe to repeat: 1 to 256 bytes. It belongs to the buyer and the stock.
          With `Client.take_all`, use a new id for each basket.

        Raises `InvalidArgument` for an invalid buyer or number.
        """

    def confirm(self, id: str) -> bool:
        """Sells the units of a reservation. Returns True if the units are sold, even if an earlier call confirmed the
        reservation (this is remembered for at least a day). If the hold had ended or was cancelled, returns False and
        sells nothing. A hold can be confirmed even after the end of the sale.

        Raises `InvalidArgument` for an id of another stock.
        """

    def cancel(self, id: str) -> bool:
        """Returns the units of a reservation to the stock. The result is True, even if an earlier call cancelled the
        reservation, as long as that is remembered. The result is False if the hold had ended or was confirmed.

        Raises `InvalidArgument` for an id of another stock.
        """

    def extend(self, id: str, hold: float = 600.0) -> bool:
        """Extends a hold to at least `hold` from now, and never shortens it. Returns False if the hold had ended, or
        was confirmed or cancelled.

        * `hold`: how long the units are held, from now (1 ms to 30 days; default: 10 minutes).

        Raises `InvalidArgument` for an id of another stock.
        """

    def status(self) -> StockStatus:
        """Returns the numbers of the sale. The call also writes: it first puts the units of up to 256 expired holds
        back into the stock.
        """

    def reservations(self, cursor: str | None = None, count: int = 100) -> StockPage:
        """Lists open holds in the order in which they end. No open hold is left out, but a hold that is extended in the
        meantime may appear twice.

        * `cursor`: the `StockPage.next` of the previous page (default: None, the first page).
        * `count`: the largest number of reservations to return (1 to 1,000; default: 100).

        Raises `InvalidArgument` for an invalid cursor or count.
        """

    def ledger(self, after: str | None = None, count: int = 100) -> list[LedgerEntry]:
        """Returns entries of the ledger, in order. To miss no entry, store the id of the last entry that you read in
        the same transaction as your own changes, and read the entries before the ledger removes them.

        * `after`: the `LedgerEntry.id` of the last entry that you have read (default: None, the call begins with the
          oldest entry that is kept). The call returns the entries after it.
        * `count`: the largest number of entries to return (1 to 1,000; default: 100).

        Raises `InvalidArgument` for an invalid id or count.
        """

@final
class Taken:
    """The answer of `Stock.take`.

    As a bool, the answer is true if the units are held.
    """

    @property
    def outcome(self) -> _TakeOutcome:
        """The outcome: `held`, `sold_out`, `buyer_limit`, `not_open` or `ended`."""

    @property
    def reservation(self) -> StockReservation | None:
        """The units that are held; None unless the outcome is `held`."""

    @property
    def available(self) -> int:
        """How many units are available after the take."""

    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class TakenAll:
    """The answer of `Client.take_all`. Either all the units are held, or none.

    As a bool, the answer is true if all the units are held.
    """

    @property
    def outcome(self) -> _TakeOutcome:
        """The outcome. If the take was refused, it is the outcome of the first stock that refused."""

    @property
    def refused(self) -> int | None:
        """The index of the first stock that refused, from 0; None if no stock refused."""

    @property
    def reservations(self) -> tuple[StockReservation, ...]:
        """The units that are held of each stock, in the order given; empty unless the outcome is `held`."""

    @property
    def available(self) -> tuple[int, ...]:
        """How many units of each stock are available after the take, in the order given."""

    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class StockReservation:
    """Units of a stock that are held for a buyer."""

    @property
    def id(self) -> str:
        """The id, with which any process can confirm, cancel or extend the reservation. The id is printable and cannot
        be guessed.
        """

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
    """The numbers of a sale: the answer of `Stock.status`. `available + held + sold` is `quantity`. All numbers are 0
    if the phase is `not_open`.
    """

    @property
    def phase(self) -> str:
        """The phase: `not_open`, `open` or `ended`. In the phase `ended`, holds can still be confirmed."""

    @property
    def quantity(self) -> int:
        """The number of all units."""

    @property
    def available(self) -> int:
        """Units that can be taken."""

    @property
    def held(self) -> int:
        """Units of reservations that are not confirmed, cancelled or returned."""

    @property
    def sold(self) -> int:
        """Units of confirmed reservations."""

    @property
    def buyers(self) -> int:
        """How many buyers hold or have bought units."""

    @property
    def per_buyer(self) -> int | None:
        """The largest number of units for one buyer; None if there is no limit."""

    @property
    def ends(self) -> float | None:
        """The end of the sale, or the time at which it was closed, in seconds since the epoch by the server's clock;
        None if the sale has no end.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class LedgerEntry:
    """One change of a sale, with the numbers after the change. A program that replays the ledger can compare its own
    numbers with them.
    """

    @property
    def id(self) -> str:
        """The id of the entry. Give the last one as `after` to read the next entries."""

    @property
    def number(self) -> int:
        """The number of the entry in the sale, from 1 without a gap. A missing number means that its entry is no longer
        kept.
        """

    @property
    def kind(self) -> str:
        """The change: `opened`, `restocked`, `held`, `confirmed`, `cancelled`, `expired`, `extended` or `closed`."""

    @property
    def reservation(self) -> str | None:
        """The id of the reservation; None for an opening, a restock and a closing, and for units that came back after
        another program deleted the Redis key with the holds.
        """

    @property
    def buyer(self) -> bytes | None:
        """The buyer; None without a reservation."""

    @property
    def quantity(self) -> int:
        """How many units the change is about; 0 for a closing."""

    @property
    def time(self) -> float:
        """The time of the change, in seconds since the epoch by the server's clock."""

    @property
    def available(self) -> int:
        """Units available after the change."""

    @property
    def held(self) -> int:
        """Units held after the change."""

    @property
    def sold(self) -> int:
        """Units sold after the change."""

    @property
    def prizes(self) -> tuple[bytes, ...]:
        """The prizes of the units that were held or confirmed; empty if the sale has none."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Once:
    """A handle for work that is done once for each id. `Client.once` makes it. An id is 1 to 1,024 bytes.

    All calls can fail with `Unavailable`, `Timeout`, `NotPermitted`, `WrongType`, `NewerVersion` and `Closed`, whatever
    `on_error` is, because the work might otherwise be done twice.

        orders = client.once("orders")
        receipt = orders.run("order:42", lambda: charge(order))
    """

    @property
    def name(self) -> str:
        """The name given."""

    def claim(self, id: str | bytes, value: str | bytes | None = None) -> Claimed:
        """Claims an id. `Claimed.first` shows whether this caller is the first, and `Claimed.value` is the value of the
        first caller. If the reply is lost, the client asks again, and the claim stays with this caller. While a `run`
        of the id is in progress, `Claimed.first` is False for every caller.

        * `id`: the id of the work: 1 to 1,024 bytes.
        * `value`: the value that later callers get: any bytes, at most 64 MiB.

        Raises `InvalidArgument` for an invalid id or value.
        """

    def release(self, id: str | bytes) -> bool:
        """Removes an id, even if another caller claimed it. The next caller is then the first. Returns True if the id
        was stored. A function that runs for the id continues, but its result is not stored.

        * `id`: the id of the work: 1 to 1,024 bytes.
        """

    def run(
        self, id: str | bytes, function: Callable[[], str | bytes | None], wait: float | None = None
    ) -> bytes | None:
        """Returns the result of the first run for this id. If there is no result and no run in progress, this call runs
        `function`, and the other callers wait for the result.

        If the function fails, the caller that ran it gets the error. The next caller runs the function again, unless
        the error is still remembered (`error_ttl`). If the process that runs the function dies, the next caller runs it
        when the lease has ended, so the function must be safe to run twice.

        * `id`: the id of the work: 1 to 1,024 bytes.
        * `function`: a function that returns the result: up to 64 MiB of bytes, text (stored as UTF-8), or None.
        * `wait`: the longest time to wait for another caller's result (0 ms to 36,500 days; default: None, the lease
          plus 5,000 ms, so that callers wait longer than the lease of a caller that died). After it, the call fails
          with `Timeout`.

        Raises `Timeout` if the result did not come in time; `LoadFailed` if the function failed a moment ago and the
        error is remembered.
        """

    def redis_key(self, id: str | bytes) -> bytes:
        """Returns the Redis key of an id: `<prefix>:once:<name>:{<id>}`.

        * `id`: the id of the work: 1 to 1,024 bytes.
        """

    def _begin(self, id: str | bytes, wait: float | None) -> Loading:
        """A load of the result, for a loop."""

@final
class Claimed:
    """The answer of `Once.claim`.

    As a bool, the answer is true if this caller is the first.
    """

    @property
    def first(self) -> bool:
        """Whether this caller is the first."""

    @property
    def value(self) -> bytes | None:
        """The value of the first caller; None if that caller gave none, or its function has no result yet."""

    @property
    def running(self) -> bool:
        """Whether a function is running for the id, without a result yet."""

    @property
    def remaining(self) -> float:
        """The number of seconds until the claim ends, or until the lease of the running function ends."""

    @property
    def age(self) -> float:
        """How many seconds ago the id was claimed."""

    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Cache:
    """A cache without stampedes (many callers that load the same value at once). `Client.cache` makes it. On a miss,
    only one caller across all processes loads the value. When a value is stale, and sometimes a little earlier, one
    caller loads a new value, and the others get the old one.

    A key is 1 to 1,024 bytes. A value is up to 64 MiB, or None, which means that there is no value. All calls can fail
    with `Unavailable`, `Timeout`, `NotPermitted`, `WrongType`, `NewerVersion` and `Closed`, whatever `on_error` is.
    With `when_away="load"`, a `get` runs its loader while Redis is down, instead of failing.

        pages = client.cache("pages", fresh=60.0, stale=600.0)
        page = pages.get("home", lambda: render("home"))
    """

    @property
    def name(self) -> str:
        """The name given."""

    def get(
        self, key: str | bytes | int, load: Callable[[], str | bytes | None], wait: float | None = None
    ) -> bytes | None:
        """Returns the value of `key`, fresh or stale. If it is this caller's turn to load, the call runs `load`, stores
        the value and returns it. On a miss while another caller loads, the call waits for that value. If `load` fails,
        the caller that ran it gets the error, and for `error_ttl` the other callers get the stale value or
        `LoadFailed`. `load` must not get the same key from the cache, because it would wait for itself.

        * `key`: the key: 1 to 1,024 bytes.
        * `wait`: the longest time to wait for another caller's result (0 ms to 36,500 days; default: None, the lease
          plus 5,000 ms, so that callers wait longer than the lease of a caller that died). After it, the call fails
          with `Timeout`.

        Raises `Timeout` if the value did not come in time; `LoadFailed` if a loader failed a short time ago.
        """

    def get_many(
        self,
        keys: Iterable[str | bytes],
        load: Callable[[list[Any]], Mapping[Any, str | bytes | None]],
        wait: float | None = None,
    ) -> dict[str | bytes, bytes | None]:
        """Returns the values of several keys, in their order, with one call to Redis for up to 250 keys and 1 MiB.
        `load` gets the missing keys that no other caller loads. A key that `load` leaves out has no value; a key that
        it adds is ignored. Then the call waits for the keys that other callers load, and if such a load fails, it loads
        those keys one by one. In a cluster, the keys may be in any slots, and each slot takes a round trip.

        * `keys`: at most 1,000 keys, without duplicates.
        * `wait`: the longest time to wait for another caller's result (0 ms to 36,500 days; default: None, the lease
          plus 5,000 ms, so that callers wait longer than the lease of a caller that died). After it, the call fails
          with `Timeout`.

        Raises `Timeout` if a value did not come in time; `LoadFailed` if the last load of a key failed a short time
        ago; the values that this call has loaded are stored nevertheless.
        """

    def get_json(self, key: str | bytes | int, load: Callable[[], Any], wait: float | None = None) -> Any:  # noqa: ANN401
        """Works like `get`, with a value that is stored as JSON. Every caller, including the one that loads, gets the
        decoded JSON. None means that there is no value.

        * `wait`: the longest time to wait for another caller's result (0 ms to 36,500 days; default: None, the lease
          plus 5,000 ms, so that callers wait longer than the lease of a caller that died). After it, the call fails
          with `Timeout`.

        Raises `InvalidArgument` for a value that another language cannot read: more than 512 nested lists and objects,
        or half of a surrogate pair; `Timeout` if the value did not come in time; `LoadFailed` if a loader failed a
        short time ago.
        """

    def peek(self, key: str | bytes | int) -> Seen | None:
        """Returns the value of a key, fresh or stale, without loading or waiting; None if there is no value."""

    def put(self, key: str | bytes | int, value: str | bytes | None) -> bool:
        """Stores a value that you already have. It counts as newer than the value of any load that is running.

        * `value`: the value, up to 64 MiB. None means that there is no value; if `negative` is 0, this is not stored,
          and the call only removes the old value.

        Raises `InvalidArgument` for an invalid value.
        """

    def invalidate(self, key: str | bytes | int) -> bool:
        """Removes the value of a key. A value that is being loaded now is not stored. Returns True if there was a
        value.
        """

    def redis_key(self, key: str | bytes | int) -> bytes:
        """Returns the Redis key of `key`: `<prefix>:cache:<name>:{<key>}`."""

    def _get(self, key: str | bytes | int, wait: float | None) -> Loading:
        """A load of the value, for a loop."""

    def _get_many(self, keys: Iterable[str | bytes], wait: float | None) -> tuple[list[str | bytes], Loading]:
        """The keys, and a load of their values, for a loop."""

@final
class Seen:
    """A value that `Cache.peek` found."""

    @property
    def value(self) -> bytes | None:
        """The value; None if the cache has stored that there is no value."""

    @property
    def stale(self) -> bool:
        """Whether the value is no longer fresh."""

    @property
    def age(self) -> float:
        """How old the value is, in seconds."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Inspection:
    """The holders of a lock, and how many processes wait for it: the answer of `Lock.inspect`."""

    @property
    def token(self) -> int:
        """The fencing token of the last grant; 0 if none is remembered."""

    @property
    def waiters(self) -> int:
        """How many processes wait. The server counts one waiter for each process."""

    @property
    def holders(self) -> tuple[Holder, ...]:
        """The holders, in the order of their grants."""

    @property
    def healed(self) -> bool:
        """Whether the key holds a value that is not a lock of Quotalock. Such a value counts as no lock, and the next
        grant replaces it.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Holder:
    """A holder of a lock."""

    @property
    def host(self) -> str:
        """The host that the holder runs on; empty if it is not known."""

    @property
    def pid(self) -> int:
        """The process id on that host; 0 if it is not known."""

    @property
    def label(self) -> str:
        """The label that the holder gave."""

    @property
    def token(self) -> int:
        """The holder's fencing token."""

    @property
    def permits(self) -> int:
        """How many permits the holder has."""

    @property
    def since(self) -> float:
        """When the lock was granted, in seconds since the epoch by the server's clock."""

    @property
    def until(self) -> float:
        """When the lease ends if it is not renewed, by the same clock."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class RuleDecision:
    """The answer of one rule of a policy.

    As a bool, it is true if this rule alone allows the call. Durations are in seconds.
    """

    @property
    def allowed(self) -> bool:
        """Whether this rule alone allows the call."""

    @property
    def limit(self) -> int:
        """The largest amount that this rule allows at once: its capacity."""

    @property
    def remaining(self) -> int:
        """The amount that this rule would allow now."""

    @property
    def retry_after(self) -> float | None:
        """The number of seconds until this rule would allow the same call: 0 if it allows the call now, None if
        never.
        """

    @property
    def reset_after(self) -> float:
        """The number of seconds until this rule has its whole limit again."""

    @property
    def algorithm(self) -> _Algorithm:
        """How this rule counts."""

    @property
    def quota(self) -> int:
        """How much this rule allows per period."""

    @property
    def period(self) -> float:
        """The period in seconds."""

    @property
    def capacity(self) -> int:
        """The largest amount that this rule allows at once: the quota, except for a token bucket with another
        capacity.
        """

    @staticmethod
    def _unpickle(pickled: tuple[Any, ...]) -> RuleDecision: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Rule:
    """One rule of a policy: at most `limit` per `period`.

    * `limit`: the amount per period (1 to 2^52). With `sliding-log`, it is at most 2^39. A token bucket that would take
      decades to fill is invalid.
    * `period`: the period, in whole milliseconds (1 ms to 36,500 days).
    * `algorithm`: how the rule counts: `fixed-window`, `calendar-window`, `sliding-window`, `token-bucket` or
      `sliding-log` (default: `fixed-window`).
    * `capacity`: the largest amount that may be consumed at once (1 to 2^52; default: None, the limit). Only a token
      bucket has this parameter.

    Raises `InvalidArgument` for an argument that is not a number; `InvalidPolicy` for a number outside its bounds.
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
        """The largest amount that may be consumed at once (default: the limit)."""

    def __hash__(self) -> int: ...
    def __getnewargs__(self) -> tuple[int, float, str, int | None]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

def quorum_lock(
    clients: Iterable[Client],
    name: str | bytes,
    ttl: float = 30.0,
    wait: float = 0.0,
    renew: bool = True,
    max_hold: float = 3_600.0,
    token_above: int = 0,
    label: str = "",
) -> Lock:
    """Makes a handle for a quorum lock: a mutex over several independent servers. The lock is held if more than half of
    the servers granted it within its ttl, so it survives the loss of fewer than half of them. This call does not ask
    Redis. The handle works as long as all its clients are open.

    Each server has a twentieth of the `ttl` to answer. Callers that wait ask again every 10 to 50 ms. A server that
    started less than a ttl ago and has no append-only file has no vote.

    * `clients`: 3 to 15 clients, each with its own server. An odd number is better.
    * `name`: the name: 1 to 1,024 bytes of any value.

    The other options are those of `Client.lock`.

    Raises `InvalidArgument` in the same cases as `Client.lock`, for too few or too many clients, and for a client that
    is given twice.
    """

def client_address(
    peer: str | None, forwarded: str | Iterable[str] | None, trusted: Iterable[str], ipv6_prefix: int = 64
) -> str:
    """Returns the address of the client that sent a request, as a text that can be the key of a limiter.

    The header is used only if `peer` is trusted. Its entries are read from right to left, and the first address that is
    not trusted is the result. The client with that address may have invented the entries further left. Reading stops at
    an entry that is not an address; the result is then the address of the proxy that sent this entry. For an IPv6
    address, the result is its network, such as `2001:db8:1:2::/64`.

    * `peer`: the address of the other end of the connection. None or an empty text means a Unix socket.
    * `forwarded`: the value of the header `X-Forwarded-For` or `Forwarded` (RFC 7239). If the request has the header
      several times, a list of all values.
    * `trusted`: the proxies to trust: addresses, networks (`10.0.0.0/8`), and the words `loopback`, `private` and
      `unix`.
    * `ipv6_prefix`: how many leading bits of an IPv6 address identify a client (32 to 128; default: 64). With 128, the
      result is the whole address.

    Raises `InvalidArgument` for an invalid address or network, for a network that contains all addresses, and if there
    is no address: `peer` is a Unix socket, and the header has none.
    """

def metrics() -> list[_Metric]:
    """Returns the metrics of this process, and of the processes that share its counters. The list is empty with
    `QUOTALOCK_METRICS=off`.

    Each metric has the `name` that Prometheus shows, a `help` text of one sentence, its `kind` (`counter`, `gauge` or
    `histogram`), and `samples`. A sample has `labels` and a `value`. A sample of a histogram has no `value`, but a
    `sum` in seconds, a `count`, and `buckets`: pairs of a bound in seconds and the number of durations up to that
    bound, where the last bound is infinite. Metrics that were never counted are left out. Labels contain names of
    limiters, stocks, caches and servers, but no keys.
    """

def prometheus() -> str:
    """Returns the `metrics` as a text that Prometheus reads. Serve it as `text/plain; version=0.0.4; charset=utf-8`."""

def set_time(client: Client, micros: int | None) -> None:
    """Sets the time, in microseconds since the epoch (from 1973 to 2^52), at which every later call of this client is
    decided, also on a real server; None goes back to the server's clock. Other clients of the same server or memory
    keep theirs.
    """

def put(client: Client, redis_key: str | bytes | int, kind: str, value: str | bytes) -> bool:
    """Replaces the value at a raw Redis key: `string` puts the value without a TTL, `list` a list of another program,
    `persist` removes the TTL of what is there.
    """

def get(client: Client, redis_key: str | bytes | int) -> tuple[bytes, int | None] | None:
    """Reads the value at a raw Redis key, and the milliseconds until it expires (None: no TTL); None without a key."""

@final
class Loss:
    """Whether one grant of a lock was lost: the one that was held when you got `Lock.lost`. As a bool, whether it
    is lost."""

    def is_set(self) -> bool:
        """Whether it is lost. In a forked child it is: the lock is its parent's."""

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for at most `timeout` seconds (None: without an end) until it is lost: True if it is; False if the time
        has ended or the lock was released."""

    def _future(self) -> Future[bool]:
        """A future of the running loop for how the grant ends: True if it was lost. Of a client for loops."""

    def __bool__(self) -> bool: ...

@final
class Loading:
    """One load. `_next` says what is to be done: None is a step for `Client._carry`."""

    def _next(self) -> tuple[bytes | None, ...] | list[int] | None:
        """The next step: a tuple of the values, which are all; a list of the places of the keys whose values are to be
        made; or None, for what is to be carried out."""

    def _loaded(self, values: list[Any]) -> None:
        """Takes what was made for the places, which is then to be carried out."""

    def _failed(self, error: str) -> None:
        """Takes why nothing was made, which is then to be carried out."""

    def _leave(self) -> None:
        """Frees the way for others, from whichever thread, without a loop."""

@final
class PasswordQuestion:
    """A call that waits for a password, on a loop. It fails if this is dropped without an answer."""

    def _answer(self, told: object) -> None:
        """Answers it by what the function returned."""

    def _fail(self, raised: BaseException) -> None:
        """Answers it by what the function raised."""

@final
class LoopDriver:
    """Carries the calls of one client on one loop."""

    def _turn(self) -> None:
        """Reads, writes and expires what is due. The loop calls it when the socket is ready."""

    def _ring(self) -> None:
        """Does the same. The loop's timer calls it."""

    def _flush(self) -> None:
        """Sends the calls of a tick; called by the loop after that tick."""

    def _settled(self, future: Future[Any]) -> None:
        """Takes a call back if its caller cancelled it; called by the loop when the call's future is done."""

    def _retire(self) -> None:
        """Leaves the loop, then hangs up; called by the loop."""

def settle_threads() -> None:
    """Keeps other threads out of the native code for a moment; called by the interpreter when it ends."""

def check_function(what: str, given: object) -> None:
    """Refuses what cannot be called, before a caller waits for it: `TypeError`."""

def tell_decision(
    function: Callable[[Decision, str | bytes | int], object], decision: Decision, key: str | bytes | int
) -> None:
    """Calls `on_decision` for a decision that charged or denied. Its error goes to `sys.unraisablehook`."""

def tell_decisions(
    function: Callable[[Decision, str | bytes | int], object],
    decision: CombinedDecision,
    keys: list[str | bytes | int],
) -> None:
    """As `tell_decision`, for each of several decisions that charged or denied."""

def tell_lost(function: Callable[[Any], object], lock: object) -> None:
    """Calls `on_lost` for a lock. Its error goes to `sys.unraisablehook`."""

def check_json(text: str) -> None:
    """Refuses JSON that another language cannot read back, before it is stored: `InvalidArgument`."""
