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
    """A client of one Redis, or of this process' memory (`memory://`). Making one does no I/O: it connects at the first
    call, and again in each forked process.

    Threads may share it, and forked processes may continue to use it.

    * `url`: `redis://[user:password@]host[:port][/database]`, `rediss://`, `unix://`, `redis+cluster://`,
      `redis+sentinel://` or `memory://`, which all clients of this process share, or `memory://name`, which is removed
      when the last of its clients is closed (default: None, `QUOTALOCK_URL` of the environment, then
      `redis://127.0.0.1:6379`).
    * `prefix`: the first part of every Redis key; no braces (default: `ql`).
    * `timeout`: the time that a call may take, connecting included (1 ms to 1 hour; default: 500 ms).
    * `on_error`: the answer of a limiter when Redis cannot answer: an error (`raise`), yes (`open`), no (`closed`), or
      what the same policy decides in this process' memory (`local`) (default: `raise`).
    * `request_memory`: how long a call with a request id is remembered, and at least as long as the timeout (1 ms to 1
      day; default: 60 s).
    * `password`: a function that returns the password, if the URL has none. It is called when a connection first logs
      in, and again when the server refuses the password. Calls wait for it, and if it raises, they fail with its error.
      It is called in a thread that waits for Redis; with `quotalock.aio` it may be a coroutine function. The client
      keeps it.
    * `deny_cache_max`: after Redis has denied a call, this process denies the same call itself until it can be
      admitted, for at most this time; 0 asks Redis every time (0 ms to 1 minute; default: 1 s).
    * `on_decision`: a function that is called after each decision of this client's limiters that charges or denies,
      with the key as it was given, right before the call ends. Not for calls that only look, fail or are aborted. An
      error of the function does not affect the call. It is called on the thread of the call; its error goes to
      `sys.unraisablehook`.
    * `on_lost`: a function that is called when a lock of this client is found to be lost, once for each grant;
      otherwise as `on_decision`. It is called on the thread that reads, extends or releases the lock; with
      `quotalock.aio` by the loop, at once.
    * `report`: whether this process reports to Redis once per second, in the background, what the client's limiters
      decided, and which keys they denied most often, for `quotalock top` (default: False). Decisions that have no room
      or cannot be sent are dropped and counted.

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
        """The host and port, socket path or `memory://` that this client talks to; never a password."""

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

        * `name`: part of its Redis keys: all of one kind, name and prefix share their state.
        * `policy`: the rules that it decides by, such as `10/minute;100/hour`.
        * `scope`: the hash tag that all keys of the limiter share (1 to 1,024 bytes): they are in one slot of a
          cluster, and `Client.consume_all` can charge them together with those of other limiters of that scope
          (default: None, each key is its own).
        * `enforce`: whether the policy is enforced (default: True). If not, every call is allowed, and
          `Decision.would_deny` marks those that would have been denied, which are not charged. Use it to try a policy
          on real traffic.
        * `prefetch`: how many permits are taken from Redis at once at most, to be spent in this process without a call:
          2 to the smallest capacity of the policy. Sliding windows and logs do not support it (default: None, each call
          asks Redis).

        Raises `InvalidArgument` for an empty or too long name or scope, and an invalid `prefetch`; `InvalidPolicy` for
        an invalid policy.
        """

    def consume_all(
        self,
        charges: Iterable[tuple[Limiter, str | bytes | int] | tuple[Limiter, str | bytes | int, int]],
        request_id: str | bytes | None = None,
    ) -> CombinedDecision:
        """Charges several keys, each by its own limiter and with its own cost, if all of them admit it, else none: one
        atomic call. No key may occur twice for one limiter. In a cluster the limiters need a common `scope`.

        * `charges`: at most 100, each with a limiter of this client, a key, and a cost if it is not 1 (1 to 2^52).
        * `request_id`: charges once for this id, which is remembered under the first key.

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
        """Makes a handle for a mutex: a lease that one handle has at a time, and that ends by itself. Does not ask
        Redis.

        * `name`: 1 to 1,024 bytes of anything.
        * `ttl`: how long a grant lasts if it is not renewed (10 ms to 7 days; default: 30 s).
        * `wait`: how long an acquisition waits by default; 0 asks once (0 ms to 36,500 days; default: 0 ms).
        * `fair`: whether waiters are served in order of arrival (default: False).
        * `renew`: whether a grant is renewed at a third of its ttl by a thread of Quotalock, even while the caller is
          busy (default: True). If not, the lock ends at its deadline, even if the handle is dropped.
        * `max_hold`: how long it is renewed at most, so that a holder that hangs does not block the others forever
          (default: 1 hour).
        * `token_above`: every fencing token is larger than this (0 to 2^52; default: 0).
        * `label`: the text that `Lock.inspect` shows of the holder next to its host and process: up to 128 bytes of
          UTF-8, no control characters (default: empty).
        * `replicas_ack`: how many replicas must have a grant before it counts; 0 asks none (0 to 2^32 - 1; default: 0).
          On `memory://`, which has no replicas, only 0 is valid.
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
        """Makes a handle for several mutexes that are granted all or none, in one call: no order of names can deadlock.
        In a cluster the names must be in one slot, else acquiring fails with `CrossSlot`.

        * `names`: at most 100, none twice.

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
        """Makes a handle for `weight` of a semaphore's `permits`; at most 1,024 hold it at once. All users of a
        semaphore must give the same `permits`.

        * `name`: 1 to 1,024 bytes of anything.
        * `permits`: the same number wherever this semaphore is used (1 to 2^31 - 1).
        * `weight`: how many permits to take, all or none; at most as many as there are (1 to 2^31 - 1; default: 1).

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
        """Makes a handle to read under a read-write lock: up to 1,024 readers hold it at once, but none while a writer
        holds it or waits.

        * `name`: 1 to 1,024 bytes of anything.

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
        """Makes a handle to write under a read-write lock: one writer holds it alone.

        * `name`: 1 to 1,024 bytes of anything.

        The other options are those of `lock`.

        Raises `InvalidArgument` for an invalid name or option.
        """

    def adopt(self, text: str, renew: bool = True, name: str | bytes | None = None) -> Lock:
        """Takes over a lock that `Lock.handover` gave away, in any process or language. The new handle has the ttl, the
        label and the fencing token of the first. Only one process can adopt a lock. It is renewed for the rest of the
        first holder's `max_hold`.

        * `renew`: whether it is renewed in the background (default: True).
        * `name`: the name that the lock must have: the text of another lock is refused, and that lock is not changed
          (default: None, any lock).

        Raises `Lost` if the lease has ended, was adopted before, or is on another server; `InvalidArgument` for a text
        of another kind, a damaged one, or one of a client with another prefix.
        """

    def stock(
        self,
        name: str | bytes,
        scope: str | bytes | None = None,
        ledger_cap: int = 100_000,
        retention: float = 2_592_000.0,
    ) -> Stock:
        """Makes a handle for the units of a sale. Does not ask Redis; `Stock.open` makes the sale itself.

        * `name`: 1 to 1,024 bytes of anything.
        * `scope`: the hash tag that all keys of the stock share: stocks of one scope are in one slot of a cluster, and
          `Client.take_all` can take from them together (default: None, each stock is its own). It is part of the keys,
          so all handles of a sale must have the same scope.
        * `ledger_cap`: how many entries the ledger keeps, approximately (1,000 to 100,000,000; default: 100,000). Fixed
          when the sale is opened.
        * `retention`: how long the sale and its ledger are kept, and at least for half of it, after its end, its last
          hold and the last call that wrote (1 minute to 36,500 days; default: 30 days). Fixed when the sale is opened.

        Raises `InvalidArgument` for an empty name, one over 1,024 bytes, or an invalid option.
        """

    def take_all(
        self,
        takes: Iterable[tuple[Stock, int]],
        buyer: str | bytes,
        hold: float = 600.0,
        request_id: str | bytes | None = None,
    ) -> TakenAll:
        """Holds units of several stocks for one buyer, or of none: one atomic call. Each reservation is an ordinary one
        of its stock. In a cluster the stocks need a common `scope`.

        * `takes`: at most 100 stocks of this client, none twice, each with a quantity.
        * `buyer`: 1 to 1,024 bytes.
        * `hold`: how long they are held (1 ms to 30 days; default: 10 minutes).
        * `request_id`: takes once for this id, which belongs to the buyer and the stock; of several stocks, to the
          first by their Redis keys.

        Raises `InvalidArgument` for an invalid stock, quantity or buyer; `CrossSlot` for stocks without a common scope
        in a cluster.
        """

    def confirm_all(self, reservations: Iterable[tuple[Stock, str]]) -> bool:
        """Sells the units of several reservations in one atomic call, or nothing (False) if one of them has ended.
        Otherwise as `Stock.confirm`.

        * `reservations`: at most 100, none twice, each a stock and an id.

        Raises `InvalidArgument` for an invalid reservation; `CrossSlot` for stocks without a common scope in a cluster.
        """

    def cancel_all(self, reservations: Iterable[tuple[Stock, str]]) -> bool:
        """Gives the units of several reservations back to their stocks, in one atomic call, even if some of them have
        ended. Returns True if none had ended or was confirmed.

        * `reservations`: at most 100, none twice, each a stock and an id.

        Raises `InvalidArgument` for an invalid reservation; `CrossSlot` for stocks without a common scope in a cluster.
        """

    def extend_all(self, reservations: Iterable[tuple[Stock, str]], hold: float = 600.0) -> bool:
        """Lengthens several holds, or none (False) if one of them has ended: one atomic call. Otherwise as
        `Stock.extend`.

        * `reservations`: at most 100, none twice, each a stock and an id.
        * `hold`: 1 ms to 30 days; default: 10 minutes.

        Raises `InvalidArgument` for an invalid reservation; `CrossSlot` for stocks without a common scope in a cluster.
        """

    def once(self, name: str, ttl: float = 86_400.0, lease: float = 10.0, error_ttl: float = 0.0) -> Once:
        """Makes a `Once`: work that is done once for each id, across all processes.

        * `name`: part of its Redis keys: all of one kind, name and prefix share their state.
        * `ttl`: how long a claim or a result is remembered (1 ms to 3,650 days; default: 1 day).
        * `lease`: how long the others wait for a caller that dies (10 ms to 1 hour; default: 10 s). It is not renewed,
          so make it longer than the function runs.
        * `error_ttl`: how long the error of a run is remembered; with 0 the next caller runs the function at once (0 ms
          to 1 hour; default: 0 ms).

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
        """Makes a cache: on a miss, one caller across all processes loads the value.

        * `name`: part of its Redis keys: all of one kind, name and prefix share their state.
        * `fresh`: how long a value is fresh (1 ms to 3,650 days; default: 60 s).
        * `stale`: how long it is served after that while one caller loads a new one (0 ms to 3,650 days; default: 0
          ms).
        * `lease`: how long a loader keeps the others from loading (10 ms to 1 hour; default: 10 s). It is not renewed:
          a loader that takes longer is joined by another, and the newer value wins.
        * `negative`: how long the answer that there is no value is fresh; 0 does not store it (0 ms to 3,650 days;
          default: None, as `fresh`).
        * `error_ttl`: how long the error of a loader is remembered, and no other caller loads (0 ms to 1 hour; default:
          1 s).
        * `beta`: how early values are refreshed before they are stale: 0 (never) to 100 (default: 1.0).
        * `when_away`: the behaviour of a `get` when Redis cannot answer: fail (`raise`), or `load` as if there were no
          cache (default: `raise`). If Redis goes down during a load, `raise` fails even though the value was loaded,
          and `load` returns the value.

        Raises `InvalidArgument` for an empty name, one over 1,024 bytes, or an invalid option.
        """

    def close(self) -> None:
        """Releases the locks and permits of the client, within its `timeout`, and closes the connections. Later calls
        fail with `Closed`, and handles that held a lock are `lost`. Closing twice does nothing.
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
    """Decides for keys by one policy; made by `Client.limiter`.

    A key is text, taken as UTF-8, or bytes: 1 to 1,024 of them. All calls can fail with `Unavailable`, `Timeout`,
    `NotPermitted`, `WrongType`, `NewerVersion` and `Closed`, and with `InvalidArgument` before anything is sent; the
    first two only if the client's `on_error` is `raise`, unless the method says otherwise.

    Threads may share it. With a `request_id` (1 to 256 bytes, such as a UUID) a call is charged once: the same id for
    the same key gets the first answer again while it is remembered (the client's `request_memory`), even when the first
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
        """The scope given; None without one."""

    @property
    def enforce(self) -> bool:
        """Whether the policy is enforced."""

    @property
    def prefetch(self) -> int | None:
        """How many permits it takes from Redis at once at most; None if each call asks."""

    def consume(self, key: str | bytes | int, cost: int = 1, request_id: str | bytes | None = None) -> Decision:
        """Charges `cost` to every rule if all rules admit it, otherwise to none. A cost of 0 only looks; a cost above a
        limit is always denied.

        * `cost`: how much the call uses; 0 only looks (0 to 2^52; default: 1).
        * `request_id`: charges once for this id.
        """

    def consume_up_to(self, key: str | bytes | int, most: int) -> Decision:
        """Charges as much as is admitted now, up to `most`; `Decision.cost` shows how much. If nothing is admitted, the
        call is denied, with the answer for a cost of 1.

        * `most`: 1 to 2^52.
        """

    def reserve(
        self, key: str | bytes | int, estimate: int, ttl: float, unsettled: _Unsettled = "spent"
    ) -> Reservation:
        """Charges `estimate` as `consume` does, and holds it until `Reservation.settle` replaces it by the actual
        amount, or `ttl` has passed. Nothing is held if the call was denied, as `Reservation.decision` shows. If the
        reply is lost, the estimate may be held until its end.

        * `estimate`: 1 to 2^52.
        * `ttl`: how long the estimate is held at most (1 ms to 36,500 days).
        * `unsettled`: how an estimate ends that is not settled by then: it counts as `spent`, or is `returned`
          (default: `spent`).
        """

    def reservation(self, key: str | bytes | int, id: str) -> Reservation:
        """The reservation of this id, which `reserve` made here or in another process. Does not ask Redis whether it
        exists.

        Raises `InvalidArgument` for a bad key, or an id that is not 32 hexadecimal digits.
        """

    def peek(self, key: str | bytes | int, cost: int = 1) -> Decision:
        """Returns what `consume` would return, and never writes."""

    def require(self, key: str | bytes | int, cost: int = 1) -> Decision:
        """As `consume`, but a denial is an error.

        Raises `RateLimited` if the call is denied; it carries the decision.
        """

    def wait(self, key: str | bytes | int, timeout: float, cost: int = 1) -> Decision:
        """As `consume`, but after a denial it sleeps for `Decision.retry_after` and tries again. If the call cannot be
        admitted within `timeout`, it returns the denial at once.

        * `timeout`: how long to wait at most (0 ms to 36,500 days).
        """

    def refund(self, key: str | bytes | int, amount: int, request_id: str | bytes | None = None) -> Decision:
        """Gives back `amount` of what was consumed; no rule falls below zero. Returns what a `peek` right after it
        would return.

        * `amount`: 1 to 2^52.
        * `request_id`: gives back once for this id.
        """

    def block(self, key: str | bytes | int, duration: float) -> Decision:
        """Denies all calls for `duration`; replaces an earlier block. Returns what a `peek` right after it would
        return. If the block cannot be stored, this fails, whatever `on_error` is.

        * `duration`: 1 ms to 36,500 days.

        Raises `Unavailable` if Redis cannot store it.
        """

    def reset(self, key: str | bytes | int) -> bool:
        """Removes everything about `key`, including a block and reservations; True if anything was stored. If Redis
        cannot answer, this fails, whatever `on_error` is.
        """

    def redis_key(self, key: str | bytes | int) -> bytes:
        """The Redis key that holds the state of `key`: `<prefix>:limit:<name>:{<key>}`, with a scope
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

    As a bool, whether the call was admitted. Durations are seconds.
    """

    @property
    def name(self) -> str:
        """The name of the limiter."""

    @property
    def allowed(self) -> bool:
        """Whether the call was admitted. A denied call is not charged."""

    @property
    def would_deny(self) -> bool:
        """Whether the policy denies the call, which is allowed only because of `enforce=False`. It was not charged."""

    @property
    def limit(self) -> int:
        """The limit of the binding rule."""

    @property
    def remaining(self) -> int:
        """How much could be consumed now; 0 while the key is blocked."""

    @property
    def retry_after(self) -> float | None:
        """After how many seconds the same call would be admitted if nothing else called: 0 when admitted, None when
        never.
        """

    @property
    def reset_after(self) -> float:
        """In how many seconds the binding rule is full again and a block has ended; `rules` has the other rules."""

    @property
    def cost(self) -> int:
        """The cost of the call; with `Limiter.consume_up_to`, the amount that was taken."""

    @property
    def source(self) -> _Source:
        """The source of the answer: `redis`, `memory`, `lease` (prefetched permits), `deny-cache` (this process, by
        what Redis denied a moment ago), or, while Redis cannot answer, `local`, `open` or `closed`.
        """

    @property
    def healed(self) -> bool:
        """Whether a damaged or foreign value at the key was replaced."""

    @property
    def rules(self) -> tuple[RuleDecision, ...]:
        """The answer of each rule, in the order of the policy."""

    def headers(self, syntax: _HeaderSyntax = "draft-11", legacy: bool = False) -> dict[str, str]:
        """The header fields for the response, in their order. A denial has `Retry-After`: whole seconds, rounded up, at
        least 1. If the call can never be admitted, it is the longest period of the rules that can never admit it.

        * `syntax`: how quotas are written: `draft-11` is `RateLimit-Policy` and `RateLimit` of
          draft-ietf-httpapi-ratelimit-headers-11, with an item for each rule; `none` leaves them out (default:
          `draft-11`).
        * `legacy`: whether `X-RateLimit-Limit`, `-Remaining` and `-Reset` (seconds from now) of the rule that binds are
          added (default: False).
        """

    def problem(self) -> _Problem:
        """The body of the response to a denied request, by RFC 9457 (`application/problem+json`). Its `status` is 429,
        or 503 if Redis could not be asked and `on_error="closed"` denied.

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
    """The answer of `Client.consume_all` about several keys, charged all or none.

    As a bool, whether all were admitted.
    """

    @property
    def allowed(self) -> bool:
        """Whether all were admitted. If not, none was charged."""

    @property
    def would_deny(self) -> bool:
        """Whether a limiter that is not enforced denies."""

    @property
    def binding(self) -> int:
        """The index in `decisions` of the binding one: the one that denies with the longest `retry_after`, or if none
        denies, the one with the least `Decision.remaining`.
        """

    @property
    def retry_after(self) -> float | None:
        """After how many seconds the same call would be admitted if nothing else called: 0 when admitted, None when
        never.
        """

    @property
    def source(self) -> _Source:
        """The source of the answer: `redis`, `memory`, `lease` (prefetched permits), `deny-cache` (this process, by
        what Redis denied a moment ago), or, while Redis cannot answer, `local`, `open` or `closed`.
        """

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decision about each key, in the order given."""

    def headers(self, syntax: _HeaderSyntax = "draft-11", legacy: bool = False) -> dict[str, str]:
        """The header fields for the response, in their order. A denial has `Retry-After`: whole seconds, rounded up, at
        least 1. If the call can never be admitted, it is the longest period of the rules that can never admit it.

        * `syntax`: how quotas are written: `draft-11` is `RateLimit-Policy` and `RateLimit` of
          draft-ietf-httpapi-ratelimit-headers-11, with an item for each rule; `none` leaves them out (default:
          `draft-11`).
        * `legacy`: whether `X-RateLimit-Limit`, `-Remaining` and `-Reset` (seconds from now) of the rule that binds are
          added (default: False).
        """

    def problem(self) -> _Problem:
        """The body of the response to a denied request, by RFC 9457 (`application/problem+json`). Its `status` is 429,
        or 503 if Redis could not be asked and `on_error="closed"` denied.

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

    As a bool, whether it was admitted (True if made by `Limiter.reservation`, which does not ask Redis).
    """

    @property
    def key(self) -> str | bytes | int:
        """The key as it was given."""

    @property
    def id(self) -> str:
        """The id: 32 hexadecimal digits."""

    @property
    def decision(self) -> Decision | None:
        """The answer of `Limiter.reserve`; None if this was made by `Limiter.reservation`."""

    def settle(self, actual: int) -> bool:
        """Replaces the estimate by the `actual` amount. An excess is given back to the rules that still count it; a
        shortfall is charged, even above the limit. Returns False and changes nothing if the reservation had ended, or
        was settled with another amount. You can repeat it after an error: with the same amount it returns True and
        changes nothing, for ten seconds or until the reservation's `ttl` ends if that is sooner.

        * `actual`: 0 to 2^52.

        Raises `Unavailable` if Redis cannot answer, whatever `on_error` is.
        """

    def cancel(self) -> bool:
        """Gives the whole estimate back: `settle` with 0.

        Raises `Unavailable` if Redis cannot answer, whatever `on_error` is.
        """

    def _decided(self, decision: Decision) -> None: ...
    def __bool__(self) -> bool: ...

@final
class Lock:
    """A handle for a lock; made by `Client.lock` and similar methods. One caller at a time can acquire it, and can
    acquire it again after its release. It is not re-entrant.

    A lock is a lease: it ends by itself when it is not renewed. `state`, `held` and `remaining` are computed with the
    clock of the process: the deadline is `ttl` after the request was sent, less 1 % and 2 ms. After the deadline the
    lock is lost, even if Redis still has it. To be safe from a holder that was paused, let the resource refuse every
    fencing `token` smaller than the largest that it has seen. A forked child does not hold the locks of its parent.

    Calls that ask Redis can fail with `Unavailable`, `Timeout`, `NotPermitted`, `WrongType`, `NewerVersion` and
    `Closed`, whatever `on_error` is.

        with client.lock("sku:42", ttl=30.0, wait=5.0) as lock:
            ...  # lock.token is for the resource, which refuses smaller ones

    `with` acquires or raises `NotAcquired`, which names the holder. At its end it releases; if the lock was lost in the
    meantime and the body raised nothing, it raises `Lost`. If the body raises, you get that exception, even if the
    release fails.

    Any thread may read, extend and release it. A handle that is dropped while it holds is released in the background if
    `renew` is on; otherwise it ends with its ttl. When the process ends, it may be released, and ends with its ttl at
    the latest.
    """

    @property
    def names(self) -> tuple[str | bytes, ...]:
        """The names as they were given."""

    @property
    def redis_keys(self) -> tuple[bytes, ...]:
        """The Redis keys, one for each name: `<prefix>:lock:{<name>}`, of a semaphore `<prefix>:sem:{<name>}`, of a
        read-write lock `<prefix>:rw:{<name>}`.
        """

    @property
    def ttl(self) -> float:
        """How long a grant lasts unless it is renewed, in seconds."""

    @property
    def token(self) -> int | None:
        """The fencing token of the grant, larger than that of every grant of the name before; None if it was never
        acquired, or is released. It stays after a loss.
        """

    @property
    def state(self) -> _LockState:
        """The state as the handle knows it, without asking Redis: `released` (or never acquired), `held`, `uncertain`
        (held, but the last renewal failed) or `lost`.
        """

    @property
    def held(self) -> bool:
        """Whether it is held for certain now."""

    @property
    def remaining(self) -> float:
        """For how many seconds it is held for certain unless it is renewed; 0 if it is not."""

    @property
    def lost(self) -> Loss:
        """An event, like a `threading.Event`, that is set when the present grant is lost. It belongs to that grant, so
        get it after each acquisition. If nothing is held, it is never set.
        """

    def acquire(self, wait: float | None = None) -> bool:
        """Acquires it: True if it is held now, False if it was not granted in time. Waiting does not poll. A wait that
        ends without the lock leaves nothing behind. If a signal handler raises (Ctrl-C), the wait ends and nothing is
        held.

        * `wait`: how long to wait at most; 0 asks once (0 ms to 36,500 days; default: None, as the handle was made).

        Raises `InvalidArgument` if this handle holds the lock, or is being acquired; `CrossSlot` for names in several
        slots of a cluster.
        """

    def release(self) -> bool:
        """Releases it: True if it was held until now, False if it was lost or is not held. If the release fails, the
        lock ends with its ttl at the latest. Renewal stops at once. A failed release is sent again in the background
        until Redis answers, or the lease has ended.

        Raises `Unavailable` if Redis cannot answer.
        """

    def extend(self, ttl: float | None = None) -> bool:
        """Extends the lease to at least `ttl` from now: False if it was lost. It never shortens.

        * `ttl`: 10 ms to 7 days; default: None, the lock's own.

        Raises `Unavailable` if Redis cannot answer.
        """

    def handover(self) -> str:
        """Writes the lease down as a short text, by which another process adopts it (`Client.adopt`), and ends this
        handle: it is released, no longer renewed, and its `release` is False. Does not ask Redis.

        The lease is not renewed until the lock is adopted, so the text must arrive within what `remaining` shows.
        Anyone who has the text can take the lease: treat it as a secret. It contains no password.

        Raises `Lost` unless the lock is held for certain now; `InvalidArgument` for a lock over several servers.
        """

    def assert_held(self) -> None:
        """Fails unless it is held for certain now. Does not ask Redis.

        Raises `Lost` if it is not.
        """

    def raise_floor(self, floor: int) -> None:
        """Makes every later token larger than `floor`: for a resource that has seen a larger token than the lock gave.
        Does not ask Redis.

        * `floor`: 0 to 2^52.

        Raises `InvalidArgument` for a floor out of these bounds.
        """

    def inspect(self) -> Inspection:
        """The holders of the lock (of several names, the first), and how many callers wait for it."""

    def force_release(self) -> int:
        """Takes it away from all holders, and returns how many there were. For operators: the holders learn of it as a
        loss when they next renew, extend or release.
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
    """The units of a sale; made by `Client.stock`. It does not oversell as long as Redis loses no data.

    Units that are not confirmed before their hold ends return to stock at the next call that writes. At any time
    `available + held + sold` is the number of all units. Calls are repeated after a lost reply within the client's
    timeout: nothing is taken, sold or added twice. All of them can fail with `Unavailable`, `Timeout`, `NotPermitted`,
    `WrongType`, `NewerVersion` and `Closed`, whatever `on_error` is.

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
        """The Redis keys: hash, holds and ledger. `<prefix>:stock:{<name>}`, with a scope
        `<prefix>:stock:{<scope>}:{<name>}`, then the same with `:holds` and `:ledger`.
        """

    def open(
        self,
        quantity: int,
        per_buyer: int | None = None,
        ends: float | None = None,
        prizes: Iterable[str | bytes] | None = None,
    ) -> bool:
        """Opens the sale: True if this call opened it, False if it is open with the same numbers and prizes; then
        nothing changes.

        * `quantity`: 1 to 2^52.
        * `per_buyer`: the most units that one buyer holds and has bought (1 to 2^52; default: None, no limit).
        * `ends`: when takes end, in seconds since the epoch by the server's clock (default: None, never). Confirming
          stays possible.
        * `prizes`: a payload for each unit (a coupon code, a seat), of which each reservation gets its own in this
          order: 1 to 1,024 bytes each, at most 10,000 at once, more by `Stock.restock`.

        Raises `InvalidArgument` if it is open with others, which are named.
        """

    def close(self) -> bool:
        """Ends the sale now and for good: True if this call ended it, False if it had ended before. Takes are refused
        as `ended`; units that are held can still be confirmed, cancelled and extended. The sale is kept for its
        `retention` after the last of its holds has ended, or from now; until then its name cannot be used again.

        Raises `InvalidArgument` if it was never opened.
        """

    def restock(
        self, quantity: int, prizes: Iterable[str | bytes] | None = None, request_id: str | bytes | None = None
    ) -> int:
        """Adds units to a sale, even after its end, and returns the number of all units, including sold ones. A sale
        with prizes needs a prize for each new unit.

        * `quantity`: 1 to 2^52.
        * `prizes`: one for each unit, if the sale has prizes.
        * `request_id`: adds once for this id (1 to 256 bytes) while it is remembered, at least a day.

        Raises `InvalidArgument` if it was never opened, or for a wrong number of prizes.
        """

    def take(
        self, buyer: str | bytes, quantity: int = 1, hold: float = 600.0, request_id: str | bytes | None = None
    ) -> Taken:
        """Holds units for a buyer; if it cannot, `Taken.outcome` has the reason. Units that are not confirmed in time
        return to stock.

        The same request id for the same buyer returns the first reservation again, even if it has ended, while it is
        remembered: as long as the hold, or the client's `request_memory` if that is longer. A refused call is decided
        again.

        * `buyer`: 1 to 1,024 bytes.
        * `quantity`: how many units, all or none; of units with prizes at most 1,000 (1 to 2^52; default: 1).
        * `hold`: how long they are held (1 ms to 30 days; default: 10 minutes).
        * `request_id`: takes once for this id, which belongs to the buyer and the stock; of several stocks, to the
          first by their Redis keys.

        Raises `InvalidArgument` for an invalid buyer or number.
        """

    def confirm(self, id: str) -> bool:
        """Sells the units of a reservation. Returns True, even if it was confirmed before (which is remembered for at
        least a day); False if the hold had ended or was cancelled, and then sells nothing. It works after the end of
        the sale too.

        Raises `InvalidArgument` for an id of another stock.
        """

    def cancel(self, id: str) -> bool:
        """Gives the units of a reservation back to the stock. Returns True, even if it was cancelled before, as long as
        that is remembered; False if the hold had ended or was confirmed.

        Raises `InvalidArgument` for an id of another stock.
        """

    def extend(self, id: str, hold: float = 600.0) -> bool:
        """Makes a hold last for at least `hold` from now, and never shortens it; False if it had ended, or was
        confirmed or cancelled.

        * `hold`: 1 ms to 30 days; default: 10 minutes.

        Raises `InvalidArgument` for an id of another stock.
        """

    def status(self) -> StockStatus:
        """The numbers of the sale."""

    def reservations(self, cursor: str | None = None, count: int = 100) -> StockPage:
        """Lists open holds in the order in which they end. It leaves out none, but a hold that is extended meanwhile
        may be listed twice.

        * `cursor`: the `StockPage.next` of the page before (default: None, the first page).
        * `count`: how many at most (1 to 1,000; default: 100).

        Raises `InvalidArgument` for an invalid cursor or count.
        """

    def ledger(self, after: str | None = None, count: int = 100) -> list[LedgerEntry]:
        """Reads entries of the ledger, in order. If you store the last id together with your own changes, you read
        every entry at least once, as long as the ledger keeps them.

        * `after`: the `LedgerEntry.id` of the entry before (default: None, from the first that is kept).
        * `count`: how many at most (1 to 1,000; default: 100).

        Raises `InvalidArgument` for an invalid id or count.
        """

@final
class Taken:
    """The answer of `Stock.take`.

    As a bool, whether the units are held.
    """

    @property
    def outcome(self) -> _TakeOutcome:
        """The outcome: `held`, `sold_out`, `buyer_limit`, `not_open` or `ended`."""

    @property
    def reservation(self) -> StockReservation | None:
        """The units that are held; None unless the outcome is `held`."""

    @property
    def available(self) -> int:
        """How many units are available after it."""

    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class TakenAll:
    """The answer of `Client.take_all`. If not all the units are held, none is.

    As a bool, whether all the units are held.
    """

    @property
    def outcome(self) -> _TakeOutcome:
        """The outcome; if the take was refused, that of the first stock that refuses."""

    @property
    def refused(self) -> int | None:
        """The index of the stock that refuses, from 0; None if none does."""

    @property
    def reservations(self) -> tuple[StockReservation, ...]:
        """The units that are held of each stock, in the order given; empty unless the outcome is `held`."""

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
        """The id, with which any process can confirm, cancel or extend it. It is printable and cannot be guessed."""

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
    open.
    """

    @property
    def phase(self) -> str:
        """The phase: `not_open`, `open` or `ended`, when holds can still be confirmed."""

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
        """The change: `opened`, `restocked`, `held`, `confirmed`, `cancelled`, `expired`, `extended` or `closed`."""

    @property
    def reservation(self) -> str | None:
        """The id of the reservation; None for an opening, a restock and a closing, and for units that expired after the
        key of their holds was deleted.
        """

    @property
    def buyer(self) -> bytes | None:
        """The buyer; None without a reservation."""

    @property
    def quantity(self) -> int:
        """How many units; 0 for a closing."""

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
    """Work that is done once for each id; made by `Client.once`. An id is 1 to 1,024 bytes.

    All calls can fail with `Unavailable`, `Timeout`, `NotPermitted`, `WrongType`, `NewerVersion` and `Closed`, whatever
    `on_error` is, since the work might be done twice.

        orders = client.once("orders")
        receipt = orders.run("order:42", lambda: charge(order))
    """

    @property
    def name(self) -> str:
        """The name given."""

    def claim(self, id: str | bytes, value: str | bytes | None = None) -> Claimed:
        """Claims an id: `Claimed.first` shows whether this caller is the first, and `Claimed.value` is the value of the
        first. If the reply of a claim is lost, it is asked for again, and stays the caller's. While a `run` of the id
        runs, no claim is the first.

        * `id`: 1 to 1,024 bytes.
        * `value`: the value that later callers get: any bytes, at most 64 MiB.

        Raises `InvalidArgument` for an invalid id or value.
        """

    def release(self, id: str | bytes) -> bool:
        """Removes an id, even if another caller claimed it, so the next caller is the first: True if it was stored. A
        function that runs for it continues, but its result is not stored.

        * `id`: 1 to 1,024 bytes.
        """

    def run(
        self, id: str | bytes, function: Callable[[], str | bytes | None], wait: float | None = None
    ) -> bytes | None:
        """Returns the result of the first run for this id. If there is none, this call runs `function`, and the other
        callers wait for its result.

        If the function fails, its caller gets the error. The next caller runs it again, unless `error_ttl` remembers
        the error. If its process dies, the next caller runs it when the lease has ended, so it must be safe to run
        twice.

        * `id`: 1 to 1,024 bytes.
        * `function`: returns any bytes, at most 64 MiB, text as UTF-8, or None.
        * `wait`: how long to wait at most for another caller's result, before the call fails with `Timeout` (0 ms to
          36,500 days; default: None, 5,000 ms more than the lease, so that a waiter waits longer than a dead caller's
          lease).

        Raises `Timeout` if the result did not come in time; `LoadFailed` if the function failed a moment ago and the
        error is remembered.
        """

    def redis_key(self, id: str | bytes) -> bytes:
        """The Redis key of an id: `<prefix>:once:<name>:{<id>}`.

        * `id`: 1 to 1,024 bytes.
        """

    def _begin(self, id: str | bytes, wait: float | None) -> Loading:
        """A load of the result, for a loop."""

@final
class Claimed:
    """The answer of `Once.claim`.

    As a bool, whether this caller is the first.
    """

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
        """How many seconds are left until the claim ends, or the lease of the running function."""

    @property
    def age(self) -> float:
        """How many seconds ago it was claimed."""

    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Cache:
    """A cache without stampedes; made by `Client.cache`. On a miss, one caller across all processes loads the value.
    When a value is stale, and sometimes a little earlier, one caller loads a new one, and the others are served the old
    one.

    Keys are 1 to 1,024 bytes, values up to 64 MiB, or None: it is known that there is no value. All calls can fail with
    `Unavailable`, `Timeout`, `NotPermitted`, `WrongType`, `NewerVersion` and `Closed`, whatever `on_error` is; with
    `when_away="load"` a `get` loads instead of the first two.

        pages = client.cache("pages", fresh=60.0, stale=600.0)
        page = pages.get("home", lambda: render("home"))
    """

    @property
    def name(self) -> str:
        """The name given."""

    def get(
        self, key: str | bytes | int, load: Callable[[], str | bytes | None], wait: float | None = None
    ) -> bytes | None:
        """Returns the value of `key`, fresh or stale, or runs `load` if this caller is to load it. On a miss, while
        another caller loads, it waits for the value. If `load` fails, its caller gets the error; for `error_ttl` other
        callers get the stale value or `LoadFailed`. A `load` must not get its own key, since it would wait for itself.

        * `key`: at most 1,024 bytes.
        * `wait`: how long to wait at most for another caller's result, before the call fails with `Timeout` (0 ms to
          36,500 days; default: None, 5,000 ms more than the lease, so that a waiter waits longer than a dead caller's
          lease).

        Raises `Timeout` if the value did not come in time; `LoadFailed` if a loader failed a short time ago.
        """

    def get_many(
        self,
        keys: Iterable[str | bytes],
        load: Callable[[list[Any]], Mapping[Any, str | bytes | None]],
        wait: float | None = None,
    ) -> dict[str | bytes, bytes | None]:
        """Returns the values of several keys, in their order, with one call to Redis. `load` gets the missing keys that
        no other caller loads. A key that it leaves out has no value; a key that it adds is ignored. Then this waits for
        keys that other callers load, and loads them one by one if the others fail. In a cluster the keys may be in any
        slots; the call then takes a round trip for each slot.

        * `keys`: at most 1,000, none twice.
        * `wait`: how long to wait at most for another caller's result, before the call fails with `Timeout` (0 ms to
          36,500 days; default: None, 5,000 ms more than the lease, so that a waiter waits longer than a dead caller's
          lease).

        Raises `Timeout` if a value did not come in time; `LoadFailed` if the last load of a key failed a short time
        ago; what this call loaded is stored before.
        """

    def get_json(self, key: str | bytes | int, load: Callable[[], Any], wait: float | None = None) -> Any:  # noqa: ANN401
        """As `get`, with a value that is stored as JSON. Every caller, including the one that loads, gets the value as
        read back from JSON; None means no value.

        * `wait`: how long to wait at most for another caller's result, before the call fails with `Timeout` (0 ms to
          36,500 days; default: None, 5,000 ms more than the lease, so that a waiter waits longer than a dead caller's
          lease).

        Raises `InvalidArgument` for what another language cannot read: more than 512 lists and objects within each
        other, or half of a surrogate pair; `Timeout` if the value did not come in time; `LoadFailed` if a loader failed
        a short time ago.
        """

    def peek(self, key: str | bytes | int) -> Seen | None:
        """Returns the value of a key, fresh or stale, without loading or waiting; None if there is no value."""

    def put(self, key: str | bytes | int, value: str | bytes | None) -> bool:
        """Stores a value that you already have. It counts as newer than whatever is being loaded.

        * `value`: none means that there is no value; if `negative` is 0, that only forgets the key.

        Raises `InvalidArgument` for an invalid value.
        """

    def invalidate(self, key: str | bytes | int) -> bool:
        """Forgets a key: a value that was loaded, or is being loaded now, is no longer served; True if there was a
        value.
        """

    def redis_key(self, key: str | bytes | int) -> bytes:
        """The Redis key of a key: `<prefix>:cache:<name>:{<key>}`."""

    def _get(self, key: str | bytes | int, wait: float | None) -> Loading:
        """A load of the value, for a loop."""

    def _get_many(self, keys: Iterable[str | bytes], wait: float | None) -> tuple[list[str | bytes], Loading]:
        """The keys, and a load of their values, for a loop."""

@final
class Seen:
    """A value that `Cache.peek` found."""

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
class Inspection:
    """The holders of a lock and how many callers wait for it: the answer of `Lock.inspect`."""

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
        """The host it runs on; empty if it is not known."""

    @property
    def pid(self) -> int:
        """Its process there; 0 if it is not known."""

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
    """The answer of one rule of a policy.

    As a bool, whether this rule admits by itself. Durations are seconds.
    """

    @property
    def allowed(self) -> bool:
        """Whether this rule admits by itself."""

    @property
    def limit(self) -> int:
        """The most that this rule admits at once: its capacity."""

    @property
    def remaining(self) -> int:
        """How much this rule would let be consumed now."""

    @property
    def retry_after(self) -> float | None:
        """After how many seconds this rule would admit the same call: 0 now, None never."""

    @property
    def reset_after(self) -> float:
        """In how many seconds this rule is full again."""

    @property
    def algorithm(self) -> _Algorithm:
        """How this rule counts."""

    @property
    def quota(self) -> int:
        """How much this rule admits per period."""

    @property
    def period(self) -> float:
        """The period in seconds."""

    @property
    def capacity(self) -> int:
        """The most that this rule admits at once: the quota, except for a token bucket with another capacity."""

    @staticmethod
    def _unpickle(pickled: tuple[Any, ...]) -> RuleDecision: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Rule:
    """One rule of a policy: at most `limit` per `period`.

    * `limit`: the amount per period; of a `sliding-log` at most 2^39, and of a token bucket less if it takes decades to
      fill (1 to 2^52).
    * `period`: the period, in whole milliseconds (1 ms to 36,500 days).
    * `algorithm`: how the rule counts: `fixed-window`, `calendar-window`, `sliding-window`, `token-bucket` or
      `sliding-log` (default: `fixed-window`).
    * `capacity`: for a token bucket only: the most that may be consumed at once (1 to 2^52; default: None, the limit).

    Raises `InvalidArgument` for an argument that is not a number; `InvalidPolicy` for a number out of these bounds.
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
    """Makes a handle for a mutex over several independent servers: held if most of them granted it within its ttl, so
    it survives the loss of the others. Does not ask Redis. The handle works for as long as all the clients are open.

    Each server has a twentieth of the `ttl` to answer. Waiters ask again every 10 to 50 ms. A server that was started
    less than a ttl ago and keeps no append-only file has no vote.

    * `clients`: 3 to 15, better an odd number, each with its own server.
    * `name`: 1 to 1,024 bytes of anything.

    The other options are those of `Client.lock`.

    Raises `InvalidArgument` as `Client.lock`, for too few or too many clients, and for one that is given twice.
    """

def client_address(
    peer: str | None, forwarded: str | Iterable[str] | None, trusted: Iterable[str], ipv6_prefix: int = 64
) -> str:
    """The address of the client that sent a request, as a text to be used as a key.

    The header counts only if the peer is trusted. It is read from its right end, and the first address that is not
    trusted is the client's: entries further left were written by that client. An entry that is not an address ends the
    reading; then the address is that of the proxy which sent it. An IPv6 address stands for its network, such as
    `2001:db8:1:2::/64`.

    * `peer`: the address of the socket; None or an empty text is a Unix socket.
    * `forwarded`: the value of `X-Forwarded-For` or `Forwarded` (RFC 7239), or one for each line of it.
    * `trusted`: the proxies: addresses, networks (`10.0.0.0/8`), and the words `loopback`, `private` and `unix`.
    * `ipv6_prefix`: how many leading bits of an IPv6 address stand for a client; 128: the address itself (32 to 128;
      default: 64).

    Raises `InvalidArgument` for an invalid address or network, for one that contains all addresses, and if there is no
    address at all: a Unix socket, and nothing in the header.
    """

def metrics() -> list[_Metric]:
    """The counters until now, of this process and those that count with it; empty where `QUOTALOCK_METRICS=off`.

    Each metric has its `name` as Prometheus calls it, a `help` in one sentence, its `kind` (`counter`, `gauge` or
    `histogram`), and `samples`, each with `labels` and a `value`; of a histogram instead of that `buckets` (pairs of a
    bound in seconds and how many took no longer; the last bound is infinite), `sum` in seconds and `count`. Metrics
    that were never counted are left out. No key shows: labels are the names of limiters, stocks, caches and servers.
    """

def prometheus() -> str:
    """The same as text that Prometheus reads: serve it as `text/plain; version=0.0.4; charset=utf-8`."""

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
