"""What is measured, beside whom, and what is to be reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORKERS = ROOT / "bench" / "workers"
PYTHON = str(ROOT / ".venv" / "bin" / "python")

OURS = "Quotalock"


@dataclass(frozen=True)
class Client:
    """A client under measurement: the program that drives it, and its name there."""

    name: str
    command: tuple[str, ...]
    key: str


class Placement(Enum):
    """Where client and server run. One call at a time must not depend on where the kernel happens to put them."""

    FREE = "wherever the kernel puts them"
    TOGETHER = "on one core, so what counts is the CPU that a call takes"
    APART = "the server on a core of its own, so what counts is waking each other, as across a network"


@dataclass(frozen=True)
class Target:
    """A bound for a figure of ours divided by the raw client's."""

    figure: str
    bound: float
    at_least: bool

    def reached(self, ratio: float) -> bool:
        """Whether a ratio keeps the bound."""
        return ratio >= self.bound if self.at_least else ratio <= self.bound


@dataclass(frozen=True)
class Measurement:
    """Calls of one kind by each client in turn; the first client is ours, the second the one to compare with."""

    language: str
    title: str
    clients: tuple[Client, ...]
    lanes: int = 1
    denied: bool = False
    placement: Placement = Placement.FREE
    targets: tuple[Target, ...] = ()

    @property
    def name(self) -> str:
        """The language and the title."""
        return f"{self.language}, {self.title}"


def _clients(raw: str, command: tuple[str, ...]) -> tuple[Client, Client]:
    return Client(OURS, command, "quotalock"), Client(raw, command, "raw")


def _at_least(figure: str, bound: float) -> Target:
    return Target(figure, bound, at_least=True)


def _at_most(figure: str, bound: float) -> Target:
    return Target(figure, bound, at_least=False)


# Built before anything is measured; cargo becomes the program it runs.
RUST_BUILD = ("--quiet", "--release", "--package", "quotalock-tests", "--example", "bench")
RUST = _clients("a bare socket", ("cargo", "run", *RUST_BUILD, "--"))
PHP = _clients(
    "phpredis", ("php", "-d", f"extension={ROOT / 'bindings-php/modules/ratelimit.so'}", str(WORKERS / "php.php"))
)
SYNC = _clients("redis-py", (PYTHON, str(WORKERS / "sync.py")))
AIO = _clients("redis.asyncio", (PYTHON, str(WORKERS / "aio.py")))
NODE = _clients("ioredis", ("node", str(WORKERS / "node.mjs")))
NODE_PIPELINED = (*NODE, Client("ioredis, auto-pipelining", NODE[0].command, "pipelined"))

PHP_P50 = (_at_most("p50_us", 1.05),)
ONE_THREAD = (_at_least("calls_per_second", 1.3), _at_most("client_us", 1 / 3))
TOGETHER, APART = Placement.TOGETHER, Placement.APART

MEASUREMENTS: tuple[Measurement, ...] = (
    Measurement("Rust", "on one core", RUST, placement=TOGETHER),
    Measurement("Rust", "apart", RUST, placement=APART),
    Measurement("PHP", "on one core", PHP, placement=TOGETHER, targets=PHP_P50),
    Measurement("PHP", "apart", PHP, placement=APART, targets=PHP_P50),
    Measurement("PHP", "on one core, denied", PHP, placement=TOGETHER, denied=True),
    Measurement("Python", "1 thread, on one core", SYNC, placement=TOGETHER, targets=ONE_THREAD),
    Measurement("Python", "1 thread, apart", SYNC, placement=APART, targets=ONE_THREAD),
    Measurement("Python", "1 thread, on one core, denied", SYNC, placement=TOGETHER, denied=True),
    Measurement(
        "Python",
        "8 threads",
        SYNC,
        lanes=8,
        targets=(_at_least("calls_per_second", 4), _at_most("client_us", 1 / 3)),
    ),
    Measurement("asyncio", "1 in flight, apart", AIO, placement=APART),
    Measurement("asyncio", "100 in flight", AIO, lanes=100, targets=(_at_least("calls_per_second", 5),)),
    Measurement("asyncio", "1,000 in flight", AIO, lanes=1000),
    Measurement("asyncio", "100 in flight, denied", AIO, lanes=100, denied=True),
    Measurement("Node", "1 in flight, apart", NODE, placement=APART),
    Measurement(
        "Node",
        "100 in flight",
        NODE_PIPELINED,
        lanes=100,
        targets=(_at_least("calls_per_second", 1.0), _at_most("main_us", 0.25)),
    ),
    Measurement("Node", "1,000 in flight", NODE_PIPELINED, lanes=1000, targets=(_at_least("calls_per_second", 1.3),)),
    Measurement("Node", "100 in flight, denied", NODE, lanes=100, denied=True),
)


def only(words: Sequence[str]) -> Sequence[Measurement]:
    """The measurements with one of these words in their names, upper or lower case; all if there is no word."""
    names = [(each, each.name.lower()) for each in MEASUREMENTS]
    return [each for each, name in names if not words or any(word.lower() in name for word in words)]
