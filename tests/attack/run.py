#!/usr/bin/env python3
"""Attacks every server for a while: `run.py --seconds 60 [--seed 1] [--server memory ...] [--kind stories ...]`.

Each server has its turn, two at a time in processes of their own. What went wrong is printed with the seed that makes
it again (`--again SEED --kind stories --server memory`), shrunk if it is a story. The last line counts all that was
told; the exit code is 1 if anything went wrong.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context

import damage
import leases
import loads
import replay
import sales
import stories
import telling

SHOWN = 3


@dataclass
class Outcome:
    """What an attack on one server came to."""

    server: str
    told: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    shown: list[str] = field(default_factory=list)


Attack = Callable[[int], list[str]]
Kinds = dict[str, tuple[int, Attack, Counter[str]]]


def kinds(server: str, url: str) -> Kinds:
    """The ways to attack a server: the share of the time of each, what it does with a seed, and what it counts."""
    prefix = f"attack{os.getpid()}-{time.monotonic_ns()}"
    teller = telling.Teller(server, url, prefix)
    damager = damage.Damager(url, prefix)
    keeper = leases.Keeper(url, prefix)
    shop = sales.Shop(url, prefix)
    loader = loads.Loader(url, prefix)

    def tell(seed: int) -> list[str]:
        difference = teller.tell(stories.story(seed))
        return [telling.shown(teller.shrunk(difference))] if difference else []

    return {
        "stories": (60, tell, teller.seen),
        "damage": (15, damager.attack, damager.seen),
        "sales": (10, shop.attack, shop.seen),
        "leases": (10, keeper.attack, keeper.seen),
        "loads": (5, loader.attack, loader.seen),
    }


def attack(server: str, url: str, seconds: float, seed: int, only: list[str], most: int) -> Outcome:
    """Attacks one server in every way, one after the other, with at most so many seeds each; each is told once."""
    outcome = Outcome(server)
    ways = {kind: way for kind, way in kinds(server, url).items() if kind in only}
    shares = sum(share for share, _, _ in ways.values())
    for kind, (share, way, seen) in ways.items():
        ends = time.monotonic() + seconds * share / shares
        begin = seed * 1_000_000_000 + list(servers()).index(server) * 100_000_000
        # What was found is told again first, however little time there is.
        found = range(-len(stories.FOUND), 0) if kind == "stories" else range(0)
        for number in itertools.chain(found, itertools.count(begin)):
            is_over = time.monotonic() >= ends or outcome.told[kind] >= most
            if outcome.failed[kind] >= SHOWN or (number >= 0 and is_over):
                break
            outcome.told[kind] += 1
            if wrong := told(way, number):
                outcome.failed[kind] += 1
                outcome.shown.append(f"{server} {kind} seed {number}: " + "\n".join(wrong[:SHOWN]))
        outcome.seen.update(seen)
    return outcome


def told(way: Attack, seed: int) -> list[str]:
    """What a seed shows; a call that raises is wrong too."""
    try:
        return way(seed)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def servers() -> dict[str, str]:
    """`memory://` and the servers that the harness has started."""
    return {"memory": "memory://", **json.loads(os.environ.get("QUOTALOCK_TEST_SERVERS", "{}"))}


def again(server: str, kind: str, seed: int) -> int:
    """Tells one seed again."""
    wrong = told(kinds(server, servers()[server])[kind][1], seed)
    print(*wrong or ["nothing is wrong"], sep="\n")
    return 1 if wrong else 0


def main() -> int:
    """Attacks, and sums up."""
    ways = ["stories", "damage", "sales", "leases", "loads"]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=sys.maxsize, help="seeds of each kind on each server")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--server", action="append", choices=list(servers()))
    parser.add_argument("--kind", action="append", choices=ways)
    parser.add_argument("--again", type=int)
    given = parser.parse_args()
    chosen = given.server or list(servers())
    only = given.kind or ways
    if given.again is not None:
        return again(chosen[0], only[0], given.again)
    compared, unlike = replay.differences()
    print(*unlike, sep="\n", end="\n" if unlike else "")
    print(f"the oracle agrees with {compared - len(unlike):,} of {compared:,} published steps")
    seconds = given.seconds * min(given.jobs, len(chosen)) / len(chosen)
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        running = [
            pool.submit(attack, server, servers()[server], seconds, given.seed, only, given.most) for server in chosen
        ]
        outcomes = [one.result() for one in running]
    for outcome in outcomes:
        print(*outcome.shown, sep="\n", end="\n" if outcome.shown else "")
        steps = f"{outcome.server}: {outcome.seen.pop('steps'):,} steps"
        print(", ".join([steps, *(f"{count:,} {what}" for what, count in sorted(outcome.seen.items()))]))
    all_told = sum((outcome.told for outcome in outcomes), Counter[str]())
    failed = sum(outcome.failed.total() for outcome in outcomes) + len(unlike)
    print(", ".join(f"{count:,} {kind}" for kind, count in all_told.items()), f"from seed {given.seed}")
    print(f"{all_told.total() + compared - failed:,} passed, {failed:,} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
