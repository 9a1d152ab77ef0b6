"""Makes the rounds of a measurement: each client is a process of its own, and they take turns on one server."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any

import machine
from measurements import ROOT, Client, Measurement, Placement
from servers import Server

KEYS = 1000
# Of those that are denied, so that the warm-up gets through them.
FEW_KEYS = 100
PERIOD_US = 3_600_000_000
# The limit of what shall be admitted, and of what shall be denied once the warm-up has used it up.
PLENTY, LITTLE = 1_000_000_000, 1

# As many calls travel as one script call at most.
MOST_TOGETHER = 32

# A deadline that no call misses, as long as those that Quotalock sends.
DEADLINE = "9000000000000000"

# Above this share of the cores used by other processes the figures are not to be trusted.
NOISY = 0.05

# What a round tells; the first is better the higher, the others the lower.
FIGURES = ("calls_per_second", "p50_us", "p99_us", "client_us", "main_us", "server_us", "script_us")
Figures = dict[str, float]


class WrongFigures(Exception):
    """A round did something else than it should measure."""


@dataclass(frozen=True)
class Plan:
    """How many rounds a measurement has, and how long a round and the warm-up before the first are, in seconds.

    Rounds that others disturbed are made again, up to `most_rounds` in all.
    """

    rounds: int
    most_rounds: int
    seconds: float
    warm_up: float


@dataclass(frozen=True)
class Result:
    """The rounds of each client, in the order of the measurement's clients."""

    measurement: Measurement
    rounds: list[list[Figures]]
    versions: list[str]
    others: list[float]

    def median(self, client: int, figure: str) -> float | None:
        """The median of a figure over a client's rounds; none if it hasn't this figure."""
        values = [figures[figure] for figures in self.rounds[client] if figure in figures]
        return median(values) if values else None

    def ratio(self, figure: str, beside: int = 1) -> float | None:
        """Our median divided by that of another client."""
        ours, theirs = self.median(0, figure), self.median(beside, figure)
        return ours / theirs if ours is not None and theirs else None

    def ratios(self, figure: str, beside: int = 1) -> list[float]:
        """Our figure divided by the other client's for each pair of rounds: how far the ratio can be trusted."""
        pairs = zip(self.rounds[0], self.rounds[beside], strict=True)
        return [ours[figure] / theirs[figure] for ours, theirs in pairs if theirs.get(figure)]

    def record(self) -> dict[str, Any]:
        """Everything, for a file."""
        clients = zip(self.measurement.clients, self.versions, self.rounds, strict=True)
        return {
            "measurement": self.measurement.name,
            "lanes": self.measurement.lanes,
            "denied": self.measurement.denied,
            "placement": self.measurement.placement.name.lower(),
            "others": self.others,
            "clients": [
                {"name": client.name, "versions": versions, "rounds": rounds} for client, versions, rounds in clients
            ],
        }


class Worker:
    """A client's process, with the connections it keeps from round to round."""

    def __init__(self, client: Client, setup: dict[str, Any], cores: set[int]) -> None:
        pin = ["taskset", "--cpu-list", ",".join(map(str, cores))]
        self._name = client.name
        self._process = subprocess.Popen(
            [*pin, *client.command, json.dumps(setup)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self.versions = str(self._answer()["versions"])

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def round(self, seconds: float) -> dict[str, float]:
        """Has the client make calls for so long, and returns what it counted."""
        assert self._process.stdin
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise WrongFigures(f"the worker of {self._name} ended with code {self._process.wait()}, see above")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()


def heading(algorithm: str, *numbers: int) -> bytes:
    """What a state by a policy of one rule begins with: its limit, its period, and the capacity of a bucket."""
    ids = ("fixed-window", "calendar-window", "sliding-window", "token-bucket", "sliding-log")
    name = bytes([1 + ids.index(algorithm)]) + b"".join(number.to_bytes(7, "little") for number in numbers)
    return b"QL\x02\x01" + name


def measure(measurement: Measurement, server: Server, scripts: Path, plan: Plan) -> Result:
    """Warms every client up, then lets them take turns."""
    limit = LITTLE if measurement.denied else PLENTY
    setup = {
        "port": server.port,
        "policy": f"{limit}/hour",
        "keys": FEW_KEYS if measurement.denied else KEYS,
        "lanes": measurement.lanes,
        "script": str(scripts / "consume-fixed-window.lua"),
        # In every worker's JSON: numbers of which no byte is more than text.
        "argv": ["", DEADLINE, "1", heading("fixed-window", 1, 1).decode(), str(limit), str(PERIOD_US)],
    }
    server.command("FLUSHALL")
    server_cores, client_cores = _cores(measurement.placement)
    with contextlib.ExitStack() as stack:
        os.sched_setaffinity(server.pid, server_cores)
        stack.callback(os.sched_setaffinity, server.pid, os.sched_getaffinity(0))
        workers = [
            stack.enter_context(
                Worker(client, {"client": client.key, "prefix": f"b{number}", **setup}, client_cores),
            )
            for number, client in enumerate(measurement.clients)
        ]
        for worker in workers:
            _warm_up(worker, measurement, plan)
        turns: list[tuple[float, list[Figures]]] = []
        while sum(noise <= NOISY for noise, _ in turns) < plan.rounds and len(turns) < plan.most_rounds:
            turns.append(_turn(workers, measurement, server, plan.seconds))
        # The quietest, whatever they say.
        turns = sorted(turns, key=lambda turn: turn[0])[: plan.rounds]
        rounds = [[figures[number] for _, figures in turns] for number in range(len(workers))]
        return Result(measurement, rounds, [worker.versions for worker in workers], [noise for noise, _ in turns])


def _turn(
    workers: Sequence[Worker], measurement: Measurement, server: Server, seconds: float
) -> tuple[float, list[Figures]]:
    """One round of each client, and how busy other processes kept the cores in the worst of them."""
    noise, figures = 0.0, []
    for worker in workers:
        strangers = machine.Others(server.pid, worker.pid)
        figures.append(_round(worker, measurement, server, seconds))
        noise = max(noise, strangers.share())
    return noise, figures


def _cores(placement: Placement) -> tuple[set[int], set[int]]:
    """The cores of the server and of the client; apart is where there is only one core no other than together."""
    cores = os.sched_getaffinity(0)
    first = {min(cores)}
    if placement is Placement.TOGETHER:
        return first, first
    return (first, cores - first or first) if placement is Placement.APART else (cores, cores)


def _warm_up(worker: Worker, measurement: Measurement, plan: Plan) -> None:
    """Makes calls until the time is over and, where all shall be denied, every key is used up."""
    give_up = time.monotonic() + 60
    counted = worker.round(plan.warm_up)
    while measurement.denied and (counted["admitted"] > 0 or counted["calls"] < 2 * FEW_KEYS):
        if time.monotonic() > give_up:
            raise WrongFigures(f"{measurement.name}: {counted['admitted']} of {counted['calls']} calls still admitted")
        counted = worker.round(plan.warm_up)


def _round(worker: Worker, measurement: Measurement, server: Server, seconds: float) -> Figures:
    server.command("CONFIG", "RESETSTAT")
    used = machine.cpu_us(server.pid)
    counted = worker.round(seconds)
    used = machine.cpu_us(server.pid) - used
    calls = counted["calls"]
    script = _script_statistics(server)
    # Of many calls in flight, up to so many are one script call.
    fewest = calls / MOST_TOGETHER if measurement.lanes > 1 else calls
    if not fewest <= script["calls"] <= calls:
        raise WrongFigures(f"{measurement.name}: the server ran {script['calls']:.0f} scripts for {calls} calls")
    if counted["admitted"] != (0 if measurement.denied else calls):
        raise WrongFigures(f"{measurement.name}: {counted['admitted']} of {calls} calls were admitted")
    figures = {
        "calls_per_second": calls / counted["seconds"],
        "p50_us": counted["p50_us"],
        "p99_us": counted["p99_us"],
        "client_us": counted["cpu_us"] / calls,
        "server_us": used / calls,
        "script_us": script["usec"] / calls,
    }
    if "main_us" in counted:
        figures["main_us"] = counted["main_us"] / calls
    return figures


def _script_statistics(server: Server) -> dict[str, float]:
    """What the server counted for EVALSHA: `calls`, `usec` and more."""
    for line in server.command("INFO", "commandstats").splitlines():
        if line.startswith("cmdstat_evalsha:"):
            fields = (field.split("=") for field in line.partition(":")[2].split(","))
            return {name: float(value) for name, value in fields}
    return {"calls": 0.0, "usec": 0.0}
