"""How much `make scale` does, and what its parts have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import quantiles

import machine
from measurements import PYTHON, WORKERS, Client
from rounds import Worker
from servers import Server
from verbs import Load

SERVER = "redis-7.0"
SYNC, TASKS = 8, 100


@dataclass(frozen=True)
class Plan:
    """How many rounds in turn, how long each and the warm-up are in seconds, and how many keys are weighed."""

    rounds: int
    pairs: int
    seconds: float
    warm_up: float
    weighed: int


FULL = Plan(rounds=30, pairs=60, seconds=0.2, warm_up=0.5, weighed=20_000)
QUICK = Plan(rounds=2, pairs=2, seconds=0.05, warm_up=0.02, weighed=1000)


def started(load: Load) -> Worker:
    """A process that makes calls of one kind, wherever the kernel puts it."""
    command = (PYTHON, str(WORKERS / "verbs.py"))
    return Worker(Client(load.verb, command, load.verb), asdict(load), machine.cores())


def server_us(worker: Worker, servers: Sequence[Server], seconds: float) -> float:
    """The CPU that the servers take for one call."""
    used = sum(machine.cpu_us(server.pid) for server in servers)
    calls = worker.round(seconds)["calls"]
    return (sum(machine.cpu_us(server.pid) for server in servers) - used) / calls


def fastest(values: Sequence[float]) -> float:
    """The end of the fastest fifth: what others on the machine disturbed least."""
    return quantiles(values, n=5)[0]


def in_turns(measures: Sequence[Callable[[], float]], rounds: int) -> list[list[float]]:
    """What each of these says, so many times."""
    turns = [[measure() for measure in measures] for _ in range(rounds)]
    return [list(each) for each in zip(*turns, strict=True)]
