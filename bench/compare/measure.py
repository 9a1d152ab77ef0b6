"""Lets everybody in a group take turns on one server, and counts what each of them and the server did."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import machine
from measurements import ROOT, Client
from rounds import NOISY, Figures, Worker, WrongFigures
from servers import Server

from compare.peers import COMMANDS, Peer
from compare.questions import Group, everybody

CHECK_LIMIT, CHECK_CALLS = 5, 8
# What a check is answered: of a limiter, of a lock (taken, taken by another, taken after its release), of a cache.
RIGHT = {"limit": [True] * CHECK_LIMIT + [False] * (CHECK_CALLS - CHECK_LIMIT), "lock": [True, False, True]}
# Rounds of a warm-up, until what shall be denied is denied and all keys are there.
MOST_WARM_UPS = 2000
# Whoever asks for each key once is done before.
MOST_SECONDS = 120.0


@dataclass(frozen=True)
class Plan:
    """How many rounds, how long a round and a warm-up are in seconds, and how many keys are weighed. Rounds that others
    disturbed are made again, up to `most_rounds` in all. `few`: only the first groups and peers of each question."""

    rounds: int = 5
    most_rounds: int = 6
    seconds: float = 1.0
    warm_up: float = 0.3
    weighed: int = 20_000
    few: bool = False


@dataclass(frozen=True)
class Row:
    """A peer's rounds, how it calls itself, and what it admitted or denied that it should not have."""

    peer: Peer
    versions: str
    rounds: Sequence[Mapping[str, float]]
    wrong: Sequence[str] = ()

    def median(self, figure: str) -> float | None:
        """The median of a figure; none where it hasn't this figure."""
        values = [figures[figure] for figures in self.rounds if figure in figures]
        return median(values) if values else None


@dataclass(frozen=True)
class Turns:
    """What a group did; `others` is how busy other processes kept the cores in each turn."""

    name: str
    rows: Sequence[Row]
    others: Sequence[float]

    def record(self) -> dict[str, Any]:
        """Everything, for a file."""
        rows = [
            {"peer": row.peer.name, "versions": row.versions, "rounds": list(row.rounds), "wrong": list(row.wrong)}
            for row in self.rows
        ]
        return {"group": self.name, "others": list(self.others), "rows": rows}


def check(server: Server, folder: Path) -> dict[tuple[str, str, str], str]:
    """Has everybody decide a few calls; returns what each calls itself. Who admits another number than the limit is an
    error."""
    keys = folder / "checked.txt"
    keys.write_text("checked\n")

    def ask(which: tuple[str, str, str]) -> str:
        language, kind, client = which
        known = {"client": client, "kind": kind, "prefix": f"check-{language}-{kind}-{client}", "keys": str(keys)}
        task = _task(server, limit=CHECK_LIMIT, check=CHECK_CALLS) | known
        words = [*COMMANDS[language], json.dumps(task)]
        ended = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
        lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
        answers = lines[-1].get("answers") if lines else None
        if answers != RIGHT.get(kind, [True, True, True]):
            raise WrongFigures(
                f"{language}, {kind}, {client}: the check was answered {answers}. {ended.stderr[-2000:]}"
            )
        return str(lines[0]["versions"])

    asked = list(everybody())
    with ThreadPoolExecutor(machine.CORES) as pool:
        return dict(zip(asked, pool.map(ask, asked), strict=True))


def measure(group: Group, server: Server, plan: Plan, folder: Path) -> Turns:
    """Warms everybody up, then lets them take turns."""
    server.command("FLUSHALL")
    server_cores, cores = _cores(group)
    who = group.peers[:2] if plan.few else group.peers
    with contextlib.ExitStack() as stack:
        os.sched_setaffinity(server.pid, server_cores)
        stack.callback(os.sched_setaffinity, server.pid, machine.cores())
        # Once for all, since who has started reads it at any time.
        keys = folder / "keys.txt"
        keys.write_text("\n".join(group.keys.names) + "\n")
        _alone(server)
        lanes = []
        for number, peer in enumerate(who):
            lanes.append(_Lane(stack, group, peer, f"p{number}", server, keys, cores))
            lanes[-1].warm_up(plan)
        turns: list[tuple[float, list[Figures]]] = []
        while sum(noise <= NOISY for noise, _ in turns) < plan.rounds and len(turns) < plan.most_rounds:
            told = [lane.round(plan.seconds) for lane in lanes]
            turns.append((max(noise for noise, _ in told), [figures for _, figures in told]))
        # The quietest, whatever they say.
        turns = sorted(turns, key=lambda turn: turn[0])[: plan.rounds]
        rows = [
            Row(lane.peer, lane.worker.versions, [figures[number] for _, figures in turns], lane.wrong)
            for number, lane in enumerate(lanes)
        ]
        return Turns(group.name, rows, [noise for noise, _ in turns])


class _Lane:
    """A peer's process in its group."""

    def __init__(
        self,
        stack: contextlib.ExitStack,
        group: Group,
        peer: Peer,
        prefix: str,
        server: Server,
        keys: Path,
        cores: set[int],
    ) -> None:
        self.group, self.peer, self.server = group, peer, server
        self.calls, self.wrong, self.standing = 0, list[str](), dict[str, float]()
        known = {"client": peer.client, "kind": group.kind, "prefix": prefix, "keys": str(keys)}
        turns = "renamed" if group.keys.renamed else "same"
        task = _task(server, limit=group.keys.limit, lanes=group.lanes, rules=group.rules, turns=turns) | known
        self._clients = statistic(server, "clients", "connected_clients")
        command = Client(peer.name, COMMANDS[group.language], peer.client)
        self.worker = stack.enter_context(Worker(command, task, cores))

    def warm_up(self, plan: Plan) -> None:
        """Makes calls until the time is over and all is as the rounds shall find it."""
        for _ in range(MOST_WARM_UPS):
            counted = self.worker.round(plan.warm_up)
            self.calls += int(counted["calls"])
            if self.group.denied and counted["admitted"]:
                continue
            if not self.group.filled or self.calls >= len(self.group.keys.names):
                break
        else:
            raise WrongFigures(f"{self.group.name}, {self.peer.name}: not ready after {self.calls} calls")
        resident = Path(f"/proc/{self.worker.pid}/status").read_text().partition("VmRSS:")[2].split()[0]
        connections = statistic(self.server, "clients", "connected_clients") - self._clients
        self.standing = {"resident_mib": int(resident) / 1024, "connections": connections}

    def round(self, seconds: float) -> tuple[float, Figures]:
        """How busy others were, and the figures."""
        strangers = machine.Others(self.server.pid, self.worker.pid)
        reads = statistic(self.server, "stats", "total_reads_processed")
        used = machine.cpu_us(self.server.pid)
        counted = self.worker.round(seconds)
        used = machine.cpu_us(self.server.pid) - used
        # The last of the two that ask for this is read too.
        reads = statistic(self.server, "stats", "total_reads_processed") - reads - 1
        noise, calls = strangers.share(), int(counted["calls"])
        self._judge(calls, int(counted["admitted"]))
        return noise, self.standing | {
            "calls_per_second": calls / counted["seconds"],
            "p50_us": counted["p50_us"],
            "p99_us": counted["p99_us"],
            "p999_us": counted["p999_us"],
            "main_us": counted["main_us"] / calls,
            "client_us": counted["cpu_us"] / calls,
            "server_us": used / calls,
            "reads": reads / calls,
        }

    def _judge(self, calls: int, admitted: int) -> None:
        first, self.calls = self.calls, self.calls + calls
        right = 0 if self.group.denied else self.group.keys.admitted(first, self.calls)
        if admitted != right:
            self.wrong.append(f"allowed {admitted:,} of {calls:,} calls in a round, not {right:,}")


def _task(
    server: Server, *, limit: int, lanes: int = 1, rules: int = 1, check: int = 0, turns: str = "same"
) -> dict[str, Any]:
    socket = server.unix_url.removeprefix("unix://")
    numbers = {"limit": limit, "lanes": lanes, "rules": rules, "check": check, "turns": turns}
    return {"port": server.port, "socket": socket, **numbers}


def _cores(group: Group) -> tuple[set[int], set[int]]:
    """The cores of the server and of the client: apart where one call waits for another."""
    cores = machine.cores()
    first = {min(cores)}
    return (first, cores - first or first) if group.lanes == 1 else (cores, cores)


def weigh(peer: Peer, language: str, server: Server, plan: Plan, folder: Path) -> float:
    """The bytes that a key takes on the server after one call, its name and Redis' own tables included."""
    server.command("FLUSHALL")
    keys = folder / "keys.txt"
    keys.write_text("".join(f"user:{number}\n" for number in range(plan.weighed)))
    task = _task(server, limit=100, turns="once") | {"client": peer.client, "kind": "limit", "prefix": "shop"}
    with Worker(
        Client(peer.name, COMMANDS[language], peer.client), task | {"keys": str(keys)}, machine.cores()
    ) as worker:
        before = statistic(server, "memory", "used_memory")
        if worker.round(MOST_SECONDS)["admitted"] != plan.weighed:
            raise WrongFigures(f"{peer.name}: not every one of {plan.weighed} keys was admitted once")
        return (statistic(server, "memory", "used_memory") - before) / plan.weighed


def _alone(server: Server) -> None:
    """Waits until those who were measured before have gone, so that connections can be counted."""
    give_up = time.monotonic() + 10
    while statistic(server, "clients", "connected_clients") > 1 and time.monotonic() < give_up:
        time.sleep(0.01)


def statistic(server: Server, section: str, name: str) -> int:
    """A number that the server tells of itself."""
    lines: Iterator[str] = iter(server.command("INFO", section).splitlines())
    return next(int(line.partition(":")[2]) for line in lines if line.startswith(f"{name}:"))
