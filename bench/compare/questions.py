"""What is asked of everybody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from measurements import ROOT

from compare import peers
from compare.peers import Peer

LOG = ROOT / "examples/data/apache_access.log"
PLENTY = 1_000_000_000
HOT_LIMIT = 10


@dataclass(frozen=True)
class Keys:
    """The keys of the calls in their order, and the limit of each. `renamed`: each pass through them has new names, so
    that it begins with unused limits."""

    names: Sequence[str]
    limit: int
    renamed: bool = False

    def admitted(self, first: int, last: int) -> int:
        """How many of the calls from one to another, by their numbers, are to be admitted where limits are not used up
        before the first pass."""
        if not self.renamed:
            return last - first
        return self._before(last) - self._before(first)

    def _before(self, number: int) -> int:
        turns, rest = divmod(number, len(self.names))
        return turns * _kept(self.names, self.limit) + _kept(self.names[:rest], self.limit)


def _kept(names: Sequence[str], limit: int) -> int:
    return sum(min(count, limit) for count in Counter(names).values())


def many(count: int) -> Keys:
    """So many keys of which none is ever denied."""
    return Keys([f"user:{number}" for number in range(count)], PLENTY)


def logged() -> Keys:
    """The addresses of a real log, at the limit that denies closest to a third of its requests."""
    names = [line.split(" ", 1)[0] for line in LOG.read_text().splitlines()]
    wanted = len(names) * 2 / 3
    limit = min(range(1, 500), key=lambda limit: abs(_kept(names, limit) - wanted))
    return Keys(names, limit, renamed=True)


THOUSAND = many(1000)
HOT = Keys(["hot"], HOT_LIMIT)
PERMITTED = Keys(["hot"], PLENTY)


@dataclass(frozen=True)
class Group:
    """Those who take turns: the first is ours. `denied`: every call, once the limit is used up; `filled`: the warm-up
    goes on until every key is there."""

    name: str
    language: str
    peers: tuple[Peer, ...]
    keys: Keys = THOUSAND
    kind: str = "limit"
    lanes: int = 1
    rules: int = 1
    denied: bool = False
    filled: bool = False


@dataclass(frozen=True)
class Question:
    """One table, one picture."""

    name: str
    title: str
    words: str
    groups: tuple[Group, ...]


def _one(keys: Keys, *, denied: bool = False, node: tuple[Peer, ...] = peers.NODE) -> tuple[Group, ...]:
    lists = {"PHP": peers.PHP, "Python": peers.PYTHON, "asyncio": peers.ASYNCIO, "Node": node}
    return tuple(Group(language, language, who, keys, denied=denied) for language, who in lists.items())


def _flying(language: str, who: tuple[Peer, ...], lanes: int) -> Group:
    return Group(f"{language}, {lanes:,} in flight", language, who, lanes=lanes)


def _leased(who: tuple[Peer, ...]) -> tuple[Peer, ...]:
    return (peers.LEASED, peers.OURS_BESIDE, *who[1:])


BLOCKING = (*peers.NODE, peers.FLEXIBLE_BLOCK)
# Those that can ask for several rules, and keep up with a million keys.
FAST = (peers.NODE[0], peers.NODE[1], peers.NODE[5])

QUESTIONS = (
    Question(
        "uncontended",
        "One call at a time, all allowed",
        "1,000 keys in turn, whose limits are never used up. The server has its own core. So each call includes the "
        "time to wake the server and then the client, which calls over a network need too. With 8 threads, or with "
        "several calls in flight, the kernel chooses the cores of client and server.",
        (
            *_one(THOUSAND),
            Group("PHP, unix socket", "PHP", peers.PHP_UNIX),
            Group("Python, 8 threads", "Python", peers.PYTHON, lanes=8),
        ),
    ),
    Question(
        "hot-key",
        "One hot key, all denied",
        f"One key, whose limit of {HOT_LIMIT} per day is used up before the rounds begin, as in an attack or a sale.",
        (
            *_one(HOT, denied=True, node=BLOCKING),
            Group("asyncio, 100 in flight", "asyncio", peers.ASYNCIO, HOT, lanes=100, denied=True),
            Group("Node, 100 in flight", "Node", BLOCKING, HOT, lanes=100, denied=True),
        ),
    ),
    Question(
        "hot-admitted",
        "One hot key, all allowed",
        "One key with a limit that is never used up, such as the quota of a whole shop or of an API with many callers. "
        "With `prefetch` a process takes permits in advance and spends them without calls to Redis.",
        (
            *(
                Group(language, language, _leased(who), PERMITTED)
                for language, who in (
                    ("PHP", peers.PHP),
                    ("Python", peers.PYTHON),
                    ("asyncio", peers.ASYNCIO),
                    ("Node", peers.NODE),
                )
            ),
            *(
                Group(f"{language}, 100 in flight", language, _leased(who), PERMITTED, lanes=100)
                for language, who in (("asyncio", peers.ASYNCIO), ("Node", peers.NODE))
            ),
        ),
    ),
    Question(
        "real-log",
        "The addresses of a real log, a third denied",
        "The keys are the client addresses of the 10,000 requests in a real web server's log, in their order, one call "
        "at a time. All addresses have the same limit per day, chosen so that about a third of the requests is denied. "
        "Each pass through the log begins with unused limits.",
        _one(logged(), node=BLOCKING),
    ),
    Question(
        "in-flight",
        "16, 100 and 1,000 calls in flight",
        "The keys and the limit are those of the first table. One event loop has 16, 100 or 1,000 calls in flight.",
        tuple(
            _flying(language, who, lanes)
            for lanes in (16, 100, 1000)
            for language, who in (("asyncio", peers.ASYNCIO), ("Node", (*peers.NODE, peers.IOREDIS_AUTO)))
        ),
    ),
    Question(
        "in-process",
        "In memory, without a server",
        "1,000 keys in turn, all allowed, one call at a time. Every figure includes the time for reading the clock.",
        tuple(Group(language, language, who) for language, who in peers.MEMORY.items()),
    ),
    Question(
        "locks",
        "A lock acquired and released",
        "1,000 free locks in turn, each with its own handle and a lease of 30 s. One call is an acquisition and its "
        "release.",
        tuple(Group(language, language, who, kind="lock") for language, who in peers.LOCKS.items()),
    ),
    Question(
        "caches",
        "A fresh value in a cache",
        "1,000 fresh values of 100 bytes in the cache. Each call passes the function that would load a missing value.",
        (Group("PHP", "PHP", peers.CACHES, kind="cache"),),
    ),
    Question(
        "server",
        "Cost of more keys and more rules on the server",
        "100 calls in flight from Node. All keys exist before the rounds begin. Quotalock decides several rules "
        "together in one call. ioredis sends one script per rule in one pipeline, and rate-limiter-flexible uses its "
        "union. If one rule denies, these two still charge the other rules.",
        (
            *(
                Group(f"{count:,} keys", "Node", FAST, many(count), lanes=100, filled=True)
                for count in (10, 1000, 100_000, 1_000_000)
            ),
            *(Group(f"{rules} rules", "Node", FAST, lanes=100, rules=rules) for rules in (2, 4, 8)),
        ),
    ),
)


def everybody() -> dict[tuple[str, str, str], Peer]:
    """Each adapter once, by its language, kind and name."""
    return {
        (group.language, group.kind, peer.client): peer
        for question in QUESTIONS
        for group in question.groups
        for peer in group.peers
    }
