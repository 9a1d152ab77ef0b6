"""What a cluster costs a client, and how many connections a process opens."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import machine
from cluster import Cluster
from measurements import AIO, NODE, PHP, SYNC, Client
from rounds import Worker
from scale_plan import SERVER, Plan, fastest
from servers import Server
from tables import table


@dataclass(frozen=True)
class Way:
    """How a process of a language calls, and what such a process is in a shop."""

    name: str
    client: Client
    lanes: int
    process: str


WAYS = (
    Way("PHP", PHP[0], 1, "child of php-fpm"),
    Way("Python, 1 thread", SYNC[0], 1, "gunicorn worker"),
    Way("Python, 8 threads", SYNC[0], 8, "gunicorn worker with 8 threads"),
    Way("asyncio, 100 in flight", AIO[0], 100, "uvicorn worker"),
    Way("Node, 1 in flight", NODE[0], 1, "Node process"),
    Way("Node, 100 in flight", NODE[0], 100, "Node process, 100 in flight"),
)


def started(way: Way, port: int, scheme: str) -> Worker:
    """A process of the bench."""
    setup: dict[str, Any] = {"client": "quotalock", "port": port, "scheme": scheme, "prefix": "scale", "keys": 1000}
    setup |= {"policy": "1000000000/hour", "lanes": way.lanes, "script": "", "argv": []}
    cores = machine.cores()
    return Worker(way.client, setup, {min(cores)} if way.lanes == 1 else cores)


def cost(plan: Plan) -> str:
    """`redis+cluster://` beside `redis://`, both to the same server: the only primary of a cluster."""
    rows = []
    with Cluster(SERVER, primaries=1, timeout_ms=60_000) as cluster:
        port = cluster.nodes[0].port
        for way in WAYS:
            with contextlib.ExitStack() as stack:
                schemes = ("redis", "redis", "redis+cluster")
                workers = [stack.enter_context(started(way, port, scheme)) for scheme in schemes]
                for worker in workers:
                    worker.round(plan.warm_up)
                p50: list[list[float]] = [[] for _ in workers]
                cpu: list[list[float]] = [[] for _ in workers]
                for number in range(plan.pairs):
                    # Who is first changes: a load that grows or ends meets all.
                    for turn in range(3):
                        at = (number + turn) % 3
                        told = workers[at].round(plan.seconds)
                        p50[at].append(told["p50_us"])
                        cpu[at].append(told["cpu_us"] / told["calls"])
            rows.append([way.name])
            for plain, again, clustered in (map(fastest, p50), map(fastest, cpu)):
                rows[-1] += [f"{2 * clustered / (plain + again):.2f}", f"{again / plain:.2f}"]
    head = (
        "client",
        "p50, cluster to plain",
        "plain to plain",
        "CPU of the client, cluster to plain",
        "plain to plain",
    )
    text = (
        f"The fastest fifth of {plan.pairs} short rounds in turn, which others disturb least, at the same server. CPU\n"
        "is the client's. Plain to plain, two clients of the same kind, shows how far the figures can be trusted.\n\n"
    )
    return text + table(head, rows)


def connections(plan: Plan) -> str:
    """Counts what a process keeps open at one server, and at each of three."""
    rows = []
    with Server(SERVER) as server, Cluster(SERVER, timeout_ms=60_000) as cluster:
        for way in WAYS:
            counts = []
            for port, scheme, asked in (
                (server.port, "redis", [server]),
                (cluster.nodes[0].port, "redis+cluster", cluster.nodes),
            ):
                with started(way, port, scheme) as worker:
                    worker.round(max(plan.seconds, 0.2))
                    counts.append([_open(each) for each in asked])
            (alone,), each = counts
            rows.append([way.process, str(alone), " + ".join(map(str, each)), f"{1000 * max(each):,}"])
    head = ("process", "one server", "cluster of three", "1,000 of them, at each server")
    return "Connections called `quotalock` in `CLIENT LIST` after a burst of calls.\n\n" + table(head, rows)


def _open(server: Server) -> int:
    return server.command("CLIENT", "LIST").count("name=quotalock")
