"""What a decision costs the server in CPU, with one primary and with several, and what keys cost in memory."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from functools import partial

from cluster import Cluster
from rounds import Worker
from scale_plan import SERVER, SYNC, TASKS, Plan, fastest, in_turns, server_us, started
from servers import Server
from tables import table
from verbs import VERBS, Load, Tasks

KEYS = 1000
FIRST = next(iter(VERBS))


def decisions(plan: Plan) -> str:
    """Each kind of call, one at a time on 8 connections, and 100 in flight on one."""
    rows = []
    with Server(SERVER) as server:
        kinds = [*((verb, verb, server.url) for verb in VERBS), (f"{FIRST}, by unix://", FIRST, server.unix_url)]
        for name, verb, url in kinds:
            server.command("FLUSHALL")
            with contextlib.ExitStack() as stack:
                loads = [Load([url], verb, KEYS, lanes, threads=lanes == SYNC) for lanes in (SYNC, TASKS)]
                workers = [stack.enter_context(started(load)) for load in loads]
                for worker in workers:
                    worker.round(plan.warm_up)
                costs = in_turns([partial(server_us, each, [server], plan.seconds) for each in workers], plan.rounds)
            single, packed = map(fastest, costs)
            rows.append([name, f"{single:.1f}", f"{1e6 / single:,.0f}", f"{packed:.1f}", f"{1e6 / packed:,.0f}"])
    head = ("call", "µs, one at a time", "a second", f"µs, {TASKS} in flight", "a second")
    return (
        "The server's CPU for one call, and how often that fits into a second of one core: the\n"
        f"fastest fifth of {plan.rounds} short rounds. One at a time: {SYNC} connections with one call each.\n"
        f"In flight: {TASKS} on one connection. A lock and a stock have two calls in each.\n\n" + table(head, rows)
    )


def primaries(plan: Plan) -> str:
    """Clusters beside as many servers that stand alone."""
    rows = []
    with contextlib.ExitStack() as stack:
        plain = stack.enter_context(Server(SERVER))
        alone = [stack.enter_context(_cluster(1)) for _ in range(3)]
        clusters = [alone[0], stack.enter_context(_cluster(2)), stack.enter_context(_cluster(3))]
        for count, cluster in enumerate(clusters, 1):
            row = [str(count)]
            for lanes in (SYNC, TASKS):
                beside = [plain.url] if count == 1 else [each.nodes[0].url for each in alone[:count]]
                servers = [plain] if count == 1 else [each.nodes[0] for each in alone[:count]]
                with _loaded([cluster.url], lanes, count, plan) as ours, _loaded(beside, lanes, count, plan) as theirs:
                    measures = [
                        partial(server_us, ours, cluster.nodes, plan.seconds),
                        partial(server_us, theirs, servers, plan.seconds),
                    ]
                    costs, ideal = in_turns(measures, plan.rounds)
                # Fewer microseconds are more calls.
                row += [f"{1e6 / fastest(costs):,.0f}", f"{fastest(ideal) / fastest(costs):.2f}"]
            rows.append(row)
    head = ("primaries", "one at a time", "of the ideal", f"{TASKS} in flight", "of the ideal")
    return (
        "Calls for a CPU second of the servers, the same load for each primary, and the same beside it in turns: for\n"
        "one primary to a server that is no cluster, for more to as many clusters of one. Time says nothing here,\n"
        "as the servers share 2 cores with their callers.\n\n" + table(head, rows)
    )


def _cluster(primaries: int) -> Cluster:
    return Cluster(SERVER, primaries=primaries, timeout_ms=60_000)


@contextlib.contextmanager
def _loaded(urls: list[str], lanes: int, count: int, plan: Plan) -> Iterator[Worker]:
    """A process that makes so many calls at a time for each of so many servers."""
    with started(Load(urls, FIRST, KEYS * count, lanes * count, threads=lanes == SYNC)) as worker:
        worker.round(plan.warm_up)
        yield worker


def memory(plan: Plan) -> str:
    """What a key of each kind takes, by `used_memory`."""
    rows = []
    with Server(SERVER) as server, _cluster(1) as cluster:
        kept = {
            "fixed window": "a fixed window",
            "token bucket": "a token bucket",
            "sliding window": "a sliding window",
            "sliding log, allowed": "a sliding log with one admission",
            "once: a new id": "an id that `once` has claimed, with 6 bytes",
            "cache: a hit": "a cached value of 100 bytes",
        }
        for verb, what in kept.items():
            alone, in_cluster = (_weighed(verb, each, url, plan.weighed) for each, url in _targets(server, cluster))
            rows.append([what, f"{alone:.0f}", f"{in_cluster:.0f}", f"{in_cluster * 1e6 / (1 << 20):,.0f} MiB"])
    head = ("key", "bytes", "bytes, in a cluster", "a million of them")
    return f"`used_memory` of {plan.weighed:,} keys, names and Redis' own tables included.\n\n" + table(head, rows)


def _targets(server: Server, cluster: Cluster) -> list[tuple[Server, str]]:
    return [(server, server.url), (cluster.nodes[0], cluster.url)]


def _weighed(verb: str, server: Server, url: str, count: int) -> float:
    server.command("FLUSHALL")
    before = _used(server)

    async def fill() -> None:
        await Tasks(Load([url], verb, count, TASKS, threads=False)).round(600.0, [], most=count)

    asyncio.run(fill())
    return (_used(server) - before) / count


def _used(server: Server) -> int:
    lines = server.command("INFO", "memory").splitlines()
    return next(int(line.partition(":")[2]) for line in lines if line.startswith("used_memory:"))
