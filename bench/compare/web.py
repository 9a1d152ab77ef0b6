"""Whole requests: wrk asks php-fpm behind nginx, FastAPI and Fastify, whose applications do nothing but limit.

The limit is 100 a day. Where all are allowed, 10,000 keys take turns; where all are denied, it is one key, whose limit
is used up before the rounds begin.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import machine
from measurements import ROOT
from needs import find_tools
from program import Program, free_port, listens
from rounds import WrongFigures
from servers import Server
from shop import open_shop

from compare.measure import Plan, Row, Turns, statistic
from compare.peers import EXTENSION, INTERPRETER, WORKERS, Peer

HERE = ROOT / "bench/compare/apps"
CONNECTIONS = 8
MOST_SECONDS = 60
SCRIPT = """
local n = 0
function request()
    n = n + 1
    return wrk.format("GET", "/?k=" .. KEY)
end
function done(summary, latency)
    local errors = summary.errors
    print(string.format(
        '{"rate": %f, "p50_us": %f, "p99_us": %f, "p999_us": %f, "requests": %d, "denied": %d, "broken": %d}',
        summary.requests / summary.duration * 1e6, latency:percentile(50), latency:percentile(99),
        latency:percentile(99.9), summary.requests, errors.status,
        errors.connect + errors.read + errors.write + errors.timeout))
end
"""
KEYS = {"allowed": '"ROUND-" .. n % 10000', "denied": '"hot"'}

BARE = Peer("no limit at all", "bare", "the same application without a limiter", floor=True)
OURS = Peer("Quotalock", "quotalock", "default settings")
FASTAPI = [
    INTERPRETER,
    "-m",
    "uvicorn",
    "app:application",
    "--no-access-log",
    "--log-level=warning",
    f"--app-dir={HERE}",
]
STACKS: dict[str, tuple[Peer, ...]] = {
    "php-fpm, nginx": (
        OURS,
        BARE,
        Peer("phpredis, Lua", "phpredis", "`pconnect`, without its ECHO", "Its script does less."),
        Peer("phpredis, Lua, with ECHO", "phpredis-echo", "`pconnect` as phpredis comes", "Its script does less."),
        Peer("Laravel RateLimiter", "laravel", "`attempt` on the Redis store, without the rest of the framework"),
        Peer("Laravel Redis::throttle", "laravel-throttle", "without the rest of the framework"),
        Peer("Symfony RateLimiter, lock", "symfony-lock", "without the rest of the framework"),
    ),
    "FastAPI, uvicorn": (
        Peer("Quotalock, ASGI middleware", "quotalock-asgi", "`quotalock.starlette`, with headers"),
        BARE,
        Peer("Quotalock, Depends", "quotalock-depends", "`quotalock.fastapi`, with headers", floor=True),
        Peer("slowapi", "slowapi", "its decorator, without headers, which would halve its speed"),
        Peer("limits.aio", "limits", "by hand, in a dependency, on redis.asyncio, without headers"),
    ),
    "Fastify": (
        Peer("Quotalock", "quotalock", "`quotalock/fastify`, with headers"),
        BARE,
        Peer(
            "@fastify/rate-limit",
            "fastify-rate-limit",
            "on ioredis 6, with headers",
            "It counts and does nothing else: a counter that lost its TTL denies forever.",
        ),
    ),
}


@dataclass(frozen=True)
class App:
    """A running application: whose, where, and the processes that we started for it."""

    peer: Peer
    url: str
    started: frozenset[int]

    def processes(self) -> set[int]:
        """All that serve it."""
        return {each for pid in self.started for each in (pid, *_children(pid))}

    def cpu_us(self) -> float:
        """What they have used."""
        return sum(machine.cpu_us(pid) for pid in self.processes())

    def resident_mib(self) -> float:
        """The memory that is not shared, and a share of what is."""
        texts = (Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in self.processes())
        return sum(int(text.partition("\nPss:")[2].split()[0]) for text in texts) / 1024


def requests(server: Server, plan: Plan, home: Path) -> list[Turns]:
    """Each stack, all allowed and all denied."""
    turns = []
    for stack, peers in STACKS.items():
        folder = home / stack.split(",")[0]
        folder.mkdir()
        server.command("FLUSHALL")
        with contextlib.ExitStack() as running:
            apps = []
            connections = []
            for peer in peers[:1] if plan.few else peers:
                before = _children(os.getpid())
                idle = statistic(server, "clients", "connected_clients")
                url = running.enter_context(_started(stack, peer, server, folder / peer.client))
                apps.append(App(peer, url, frozenset(_children(os.getpid()) - before)))
                _ask(folder, apps[-1], "allowed", "w", 1)
                connections.append(statistic(server, "clients", "connected_clients") - idle)
            turns += [_measured(stack, kind, apps, connections, server, plan, folder) for kind in KEYS]
    return turns


def _measured(
    stack: str, kind: str, apps: Sequence[App], connections: Sequence[int], server: Server, plan: Plan, folder: Path
) -> Turns:
    rounds: list[tuple[float, list[dict[str, float]]]] = []
    wrong: list[list[str]] = [[] for _ in apps]
    # A second is the least that wrk does.
    seconds = max(1, round(2 * plan.seconds))
    for app in apps:
        _used_up(folder, app, kind)
    for _ in range(plan.rounds):
        noise, told = 0.0, []
        for app, count, faults in zip(apps, connections, wrong, strict=True):
            strangers = machine.Others(server.pid, os.getpid(), *app.processes())
            client, used = app.cpu_us(), machine.cpu_us(server.pid)
            reads = statistic(server, "stats", "total_reads_processed")
            figures, denied = _ask(folder, app, kind, f"{len(rounds)}", seconds)
            asked = figures.pop("requests")
            reads = statistic(server, "stats", "total_reads_processed") - reads - 1
            if not app.peer.floor and denied != (0 if kind == "allowed" else asked):
                faults.append(f"denied {denied:,.0f} of {asked:,.0f} requests in a round, where all are {kind}")
            noise = max(noise, strangers.share())
            told.append(
                figures
                | {
                    "client_us": (app.cpu_us() - client) / asked,
                    "server_us": (machine.cpu_us(server.pid) - used) / asked,
                    "resident_mib": app.resident_mib(),
                    "connections": count,
                    "reads": reads / asked,
                }
            )
        rounds.append((noise, told))
    rows = [Row(app.peer, "", [told[number] for _, told in rounds], wrong[number]) for number, app in enumerate(apps)]
    return Turns(f"{stack}, {kind}", rows, [noise for noise, _ in rounds])


def _used_up(folder: Path, app: App, kind: str) -> None:
    """Asks until all is denied that shall be; of what shall be allowed, once."""
    give_up = time.monotonic() + MOST_SECONDS
    while True:
        figures, denied = _ask(folder, app, kind, "w", 1)
        if kind == "allowed" or app.peer.floor or denied == figures["requests"]:
            return
        if time.monotonic() > give_up:
            raise WrongFigures(f"{app.peer.name} still allows calls of a key whose limit is used up")


def _ask(folder: Path, app: App, kind: str, turn: str, seconds: int) -> tuple[dict[str, float], int]:
    """The figures of one run of wrk, and how many requests were denied."""
    script = folder / "wrk.lua"
    script.write_text(SCRIPT.replace("KEY", KEYS[kind].replace("ROUND", turn)))
    # What takes longer than its 2 s it calls broken; a busy machine may take longer.
    how = ["-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "30s"]
    command = ["wrk", *how, "-s", str(script), app.url]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    told: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
    if told.pop("broken"):
        raise WrongFigures(f"{app.peer.name}: requests were not answered: {ended.stdout}")
    denied = int(told.pop("denied"))
    return {"calls_per_second": told.pop("rate"), **told}, denied


@contextlib.contextmanager
def _started(stack: str, peer: Peer, server: Server, folder: Path) -> Iterator[str]:
    """The address of an application that runs until the block ends."""
    if stack.startswith("php"):
        sha = server.command("SCRIPT", "LOAD", (WORKERS / "article.lua").read_text())
        known = {"PORT": str(server.port), "PEER": peer.client.removesuffix("-echo"), "SHA": sha}
        settings = {f"env[COMPARE_{name}]": f'"{value}"' for name, value in known.items()}
        settings["php_admin_value[opcache.validate_timestamps]"] = "0"
        settings["php_admin_value[redis.pconnect.echo_check_liveness]"] = str(int(peer.client.endswith("-echo")))
        with open_shop(find_tools(), folder, HERE / "app.php", settings=settings, extension=EXTENSION) as shop:
            yield shop.url
        return
    folder.mkdir()
    port = free_port()
    command = [*FASTAPI, f"--port={port}"] if stack.startswith("FastAPI") else ["node", str(HERE / "app.mjs")]
    os.environ |= {"COMPARE_PEER": peer.client, "COMPARE_REDIS": server.url, "PORT": str(port)}
    with Program(peer.name, command, folder / "log", lambda: listens(port), within=60):
        yield f"http://127.0.0.1:{port}"


def _children(pid: int) -> set[int]:
    """The processes that a process has started and that live."""
    found: set[int] = set()
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        # A thread that has ended since it was listed has none.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found.update(map(int, file.read_text().split()))
    return found
