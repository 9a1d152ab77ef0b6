"""`make bench ONLY=script`: what a decision costs the server, beside a script of the same kind written by hand."""

from __future__ import annotations

import argparse
import os
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import redis
from measurements import ROOT

sys.path.insert(0, str(ROOT / "tests" / "harness"))

import machine
from rounds import DEADLINE, PERIOD_US, PLENTY, heading
from run import dump_scripts
from servers import NAMES, Server
from tables import table

KEYS, BATCH, SHORT = 100, 500, 100
# As many calls as travel as one at most.
TOGETHER = 32
MINIMAL = ROOT / "bench" / "minimal"
# Most of a rule's calls are admitted, or most are denied.
LIMITS = {"admitted": PLENTY, "denied": 5}
ALGORITHMS = ("fixed-window", "calendar-window", "sliding-window", "token-bucket", "sliding-log")
# How many entries a log has.
LOGS = (100, 100_000)
# How many reservations of a key are open.
HOLDS = (0, 1, 100, 1000)
# How many holds of a stock are open.
OPEN = (100, 1000, 10_000, 100_000)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench ONLY=script", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only a few calls, to see that everything runs")
    quick = parser.parse_args().quick
    rounds, calls = (1, 1000) if quick else (7, 10_000)
    scripts = dump_scripts(ROOT / "target" / ("bench-quick" if quick else "bench") / "lua")
    rows = []
    bundles = []
    logs = []
    holds = []
    stocks = []
    usual = []
    for name in NAMES:
        with Server(name) as server:
            client = redis.Redis(port=server.port)
            for algorithm in ALGORITHMS:
                for answer, limit in LIMITS.items():
                    costs = compare(client, contenders(scripts, algorithm, limit), rounds, calls)
                    by_hand, ours = costs["by hand"], costs["ours"]
                    rows.append([name, algorithm, answer, f"{by_hand:.2f}", f"{ours:.2f}", f"{ours / by_hand:.2f}"])
                    if algorithm != "sliding-log":
                        bundles.append(
                            [name, algorithm, answer, *together(server, client, scripts, algorithm, limit, calls)]
                        )
            for entries in LOGS:
                logs.append([name, f"{entries:,}", *log_of(client, scripts, entries, calls)])
            for count in HOLDS:
                holds.append([name, f"{count:,}", *beside_holds(client, scripts, count, calls)])
            usual += [[name, *row] for row in Usual(client, scripts).rows(rounds, calls)]
            stock = Stock(client, scripts)
            most = OPEN[:2] if quick else OPEN
            stocks += [[name, f"{count:,}", *stock.beside(count, 50 * rounds)] for count in most]
    print(f"{machine.description()}; load {machine.load():.2f}; µs in EVALSHA per call, median of {rounds} rounds of")
    print(f"{calls:,} calls on {KEYS} keys.\n")
    print(table(("server", "algorithm", "answer", "by hand", "ours", "ratio"), rows, left=3))
    print(f"\nCalls that travel one by one, and {TOGETHER} as one: µs of the server's CPU for each, with all that")
    print("reading and answering take. The fastest fifth of short rounds, which others disturb least.\n")
    print(table(("server", "algorithm", "answer", "one by one", "as one", "ratio"), bundles, left=3))
    print("\nA sliding-log of one key that is full: at each admitted call one of its entries ends.\n")
    print(table(("server", "limit", "µs admitted", "µs denied", "bytes an entry"), logs, left=1))
    print("\nA fixed-window of one key with open reservations: what any other call costs beside them.\n")
    print(table(("server", "reservations", "µs admitted", "µs denied"), holds, left=1))
    print("\nLocks, caches and once, most calls of which are one of these; of a lock it is an acquire and its release.")
    print("By hand: SET NX PX and a compare-and-delete; GET; SET NX PX.\n")
    print(table(("server", "call", "by hand", "ours", "ratio"), usual, left=2))
    print(
        "\nA take from a stock, each of another buyer, next to a consume of a fixed-window, in turns; half of what is"
    )
    print("taken is confirmed, half cancelled. The fastest fifth of short rounds, which others disturb least.\n")
    columns = ("server", "open holds", "µs consume", "µs take", "µs confirm", "µs cancel", "take / consume")
    print(table(columns, stocks, left=1))
    return 0


# A compare-and-delete, which releases a lock by hand.
DELETE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class Usual:
    """What the usual calls of locks, caches and once cost."""

    LEASE_MS, DAY_MS = 30_000, 86_400_000

    def __init__(self, client: redis.Redis, scripts: Path) -> None:
        self.client = client
        names = ("lease-acquire", "lease-release", "single-flight-look", "single-flight-fill", "single-flight-claim")
        self.sha = {name: str(client.script_load((scripts / f"{name}.lua").read_text())) for name in names}
        self.delete = str(client.script_load(DELETE))
        self.claims = 0

    def rows(self, rounds: int, calls: int) -> list[list[str]]:
        """Each call by hand and ours, in turns: medians."""
        contenders = {
            "lock": (self.lock_by_hand, self.lock),
            "cache hit": (self.hit_by_hand, self.hit),
            "once, new": (self.claim_by_hand, self.claim),
        }
        rows = []
        for call, (by_hand, ours) in contenders.items():
            costs = [[self.measure(one, calls) for one in (by_hand, ours)] for _ in range(rounds)]
            hand, own = (median(column) for column in zip(*costs, strict=True))
            rows.append([call, f"{hand:.2f}", f"{own:.2f}", f"{own / hand:.2f}"])
        return rows

    def measure(self, call: Callable[[Any, int], None], calls: int) -> float:
        """The microseconds that the server counted in the commands of one call, without those inside of scripts."""
        self.client.flushall()
        self.prepare()
        self.client.config_resetstat()
        commands = set()
        for begin in range(0, calls, BATCH):
            batch = self.client.pipeline(transaction=False)
            for number in range(begin, begin + BATCH):
                call(batch, number)
            commands |= {str(queued[0][0]).lower() for queued in batch.command_stack}
            batch.execute()
        counted = self.client.info("commandstats")
        scripted = counted.get("cmdstat_evalsha", {}).get("usec", 0)
        direct = sum(counted[f"cmdstat_{name}"]["usec"] for name in commands - {"evalsha"})
        return float(scripted + direct) / calls

    def prepare(self) -> None:
        """Stores what is hit."""
        hour = str(3_600_000_000)
        for number in range(KEYS):
            self.client.set(f"by-hand:{number}", b"x" * 100)
            argv: list[Any] = [bytes(16), "0", hour, hour, "0", "1", "ql:wake:", bytes(116) + b"x" * 100]
            self.client.evalsha(self.sha["single-flight-fill"], 1, f"entry:{number}", "", DEADLINE, *argv)

    def lock_by_hand(self, batch: Any, number: int) -> None:
        key, who = f"by-hand:lock:{number % KEYS}", number.to_bytes(16, "big")
        batch.set(key, who, nx=True, px=self.LEASE_MS)
        batch.evalsha(self.delete, 1, key, who)

    def lock(self, batch: Any, number: int) -> None:
        key, who = f"lock:{number % KEYS}", number.to_bytes(16, "big")
        kept = self.DAY_MS + self.LEASE_MS
        argv: list[Any] = [who, self.LEASE_MS * 1000, 0, 1, 1, 0, "", "ql:wake:", b"\4host\0\0\0\1", "", 0, 0, kept]
        batch.evalsha(self.sha["lease-acquire"], 1, key, "", DEADLINE, *argv)
        batch.evalsha(self.sha["lease-release"], 1, key, "", DEADLINE, who, 0, 1, "ql:wake:", self.DAY_MS)

    def hit_by_hand(self, batch: Any, number: int) -> None:
        batch.get(f"by-hand:{number % KEYS}")

    def hit(self, batch: Any, number: int) -> None:
        argv: list[Any] = [number.to_bytes(16, "big"), 10_000_000, "", 0]
        batch.evalsha(self.sha["single-flight-look"], 1, f"entry:{number % KEYS}", "", DEADLINE, *argv)

    def claim_by_hand(self, batch: Any, number: int) -> None:
        batch.set(f"by-hand:claim:{number}", b"", nx=True, px=self.DAY_MS)

    def claim(self, batch: Any, number: int) -> None:
        argv: list[Any] = [number.to_bytes(16, "big"), self.DAY_MS * 1000, 2, bytes(116), self.DAY_MS + 60_000]
        batch.evalsha(self.sha["single-flight-claim"], 1, f"claim:{number}", "", DEADLINE, *argv)


class Stock:
    """What a take costs, in turns with a consume."""

    def __init__(self, client: redis.Redis, scripts: Path) -> None:
        self.client = client
        names = ("stock-open", "stock-take", "stock-settle", "consume-fixed-window")
        self.sha = {name: str(client.script_load((scripts / f"{name}.lua").read_text())) for name in names}
        self.keys = ("stock:{one}", "stock:{one}:holds", "stock:{one}:ledger")
        self.buyers = 0

    def beside(self, count: int, rounds: int) -> list[str]:
        """The cost of a consume, take, confirmation and cancellation next to so many open holds; take to consume."""
        self.client.flushall()
        day = str(24 * PERIOD_US)
        opening: list[Any] = [os.urandom(16), str(PLENTY), "2", "0", day, "100000", bytes(20)]
        self.client.evalsha(self.sha["stock-open"], 3, *self.keys, "", DEADLINE, *opening)
        while count > 0:
            self.take(min(count, BATCH))
            count -= BATCH
        costs: list[list[float]] = [[], [], [], []]
        for _ in range(rounds):
            taken, members = self.take(SHORT)
            half = SHORT // 2
            consumed = self.batch([self.consume(number) for number in range(SHORT)])
            confirmed = self.batch([self.settle("c", member) for member in members[:half]])
            cancelled = self.batch([self.settle("u", member) for member in members[half:]])
            for list_of, cost in zip(costs, (consumed, taken, confirmed, cancelled), strict=True):
                list_of.append(cost)
        consume, take, confirm, cancel = (quantiles(each, n=5)[0] for each in costs)
        return [*(f"{cost:.2f}" for cost in (consume, take, confirm, cancel)), f"{take / consume:.2f}"]

    def take(self, count: int) -> tuple[float, list[bytes]]:
        """One unit for each of so many new buyers: the cost of each, and what they hold."""
        members = []
        for _ in range(count):
            self.buyers += 1
            members.append(os.urandom(16) + struct.pack("<Q", 1) + b"buser:%d" % self.buyers)
        head = [self.sha["stock-take"], 3, *self.keys, "", DEADLINE]
        return self.batch([[*head, member[24:], "600000000", member] for member in members]), members

    def consume(self, number: int) -> list[Any]:
        key, argv = f"fixed:{{user:{number % KEYS}}}", told("fixed-window", PLENTY, PERIOD_US)
        return [self.sha["consume-fixed-window"], 1, key, "", DEADLINE, "1", *argv]

    def settle(self, how: str, member: bytes) -> list[Any]:
        """A confirmation (`c`) or a cancellation (`u`)."""
        keys = [*self.keys, f"stock:{{one}}:settled:{member[:16].hex()}"]
        return [self.sha["stock-settle"], 4, *keys, "", DEADLINE, how, "86400000000", member]

    def batch(self, calls: Sequence[list[Any]]) -> float:
        """The microseconds that the server counted per call."""
        batch = self.client.pipeline(transaction=False)
        for call in calls:
            batch.evalsha(*call)
        self.client.config_resetstat()
        batch.execute()
        return _cost(self.client)


def told(algorithm: str, *numbers: int) -> list[Any]:
    """What a script is told of a policy of one rule."""
    return [heading(algorithm, *numbers), *map(str, numbers)]


def contenders(scripts: Path, algorithm: str, limit: int) -> dict[str, tuple[str, Sequence[Any]]]:
    """The script written by hand and ours, with their arguments."""
    by_hand, ours = (MINIMAL / f"{algorithm}.lua").read_text(), (scripts / f"consume-{algorithm}.lua").read_text()
    head, hour = ["", DEADLINE, "1"], str(PERIOD_US)
    if algorithm == "token-bucket":
        # One token each `interval` microseconds, and room for those of an hour.
        limit = min(limit, PERIOD_US // 1000)
        interval = str(PERIOD_US // limit)
        return {
            "by hand": (by_hand, [interval, hour, "1"]),
            "ours": (ours, [*head, *told(algorithm, 1, PERIOD_US // limit, limit)]),
        }
    ours_told = [*head, *told(algorithm, limit, PERIOD_US)]
    return {"by hand": (by_hand, [str(limit), hour, "1"]), "ours": (ours, ours_told)}


def together(server: Server, client: redis.Redis, scripts: Path, algorithm: str, limit: int, calls: int) -> list[str]:
    """What a decision costs one by one and as one of several, and their ratio."""
    _, argv = contenders(scripts, algorithm, limit)["ours"]
    one, many = (
        str(client.script_load((scripts / f"{verb}-{algorithm}.lua").read_text()))
        for verb in ("consume", "consume-many")
    )
    keys = [f"{algorithm}:{{user:{number}}}" for number in range(TOGETHER)]
    costs: tuple[list[float], list[float]] = ([], [])
    client.flushall()
    for _ in range(max(5, calls // BATCH)):
        for cost, bundled in zip(costs, (False, True), strict=True):
            batch = client.pipeline(transaction=False)
            for _ in range(BATCH // TOGETHER):
                if bundled:
                    batch.evalsha(many, TOGETHER, *keys, *argv)
                else:
                    for key in keys:
                        batch.evalsha(one, 1, key, *argv)
            used = machine.cpu_us(server.pid)
            batch.execute()
            cost.append((machine.cpu_us(server.pid) - used) / (BATCH // TOGETHER * TOGETHER))
    alone, bundled_cost = (quantiles(cost, n=5)[0] for cost in costs)
    return [f"{alone:.2f}", f"{bundled_cost:.2f}", f"{bundled_cost / alone:.2f}"]


def log_of(client: redis.Redis, scripts: Path, entries: int, calls: int) -> list[str]:
    """What a call costs on a log of so many entries, admitted as one ends and denied, and the memory of an entry."""
    sha = str(client.script_load((scripts / "consume-sliding-log.lua").read_text()))
    client.flushall()
    key, hour = "log:{one}", PERIOD_US
    start = 1_700_000_000_000_000

    def consume(now: int, limit: int, count: int, step: int) -> float:
        client.config_resetstat()
        for first in range(0, count, BATCH):
            batch = client.pipeline(transaction=False)
            for number in range(first, min(first + BATCH, count)):
                batch.evalsha(sha, 1, key, str(now + number * step), "", "1", *told("sliding-log", limit, hour))
            batch.execute()
        return _cost(client)

    step = hour // entries
    consume(start, entries, entries, step)
    size = int(client.memory_usage(key, samples=0) or 0)
    # The log is full, and at each call one entry has ended.
    admitted = consume(start + hour, entries, max(calls, entries // 2), step)
    denied = consume(start + hour + max(calls, entries // 2) * step - step, entries, calls, 0)
    return [f"{admitted:.2f}", f"{denied:.2f}", f"{size / entries:.1f}"]


def beside_holds(client: redis.Redis, scripts: Path, count: int, calls: int) -> list[str]:
    """What a call costs on a key with so many open reservations, admitted and denied."""
    reserve, consume = (
        str(client.script_load((scripts / f"{verb}-fixed-window.lua").read_text())) for verb in ("reserve", "consume")
    )
    client.flushall()
    key, hour, plenty = "held:{one}", str(PERIOD_US), told("fixed-window", PLENTY, PERIOD_US)
    for number in range(count):
        client.evalsha(reserve, 1, key, "", DEADLINE, "1", *plenty, f"{number:016d}", hour, "0")
    costs = []
    for limit in (PLENTY, 1):
        client.evalsha(consume, 1, key, "", DEADLINE, "1", *plenty)
        client.config_resetstat()
        for _ in range(calls // BATCH):
            batch = client.pipeline(transaction=False)
            for _ in range(BATCH):
                batch.evalsha(consume, 1, key, "", DEADLINE, "1", plenty[0], str(limit), hour)
            batch.execute()
        costs.append(f"{_cost(client):.2f}")
    return costs


def compare(
    client: redis.Redis, scripts: Mapping[str, tuple[str, Sequence[Any]]], rounds: int, calls: int
) -> dict[str, float]:
    """Lets the scripts take turns, and returns the median cost of each; the first round of all warms up."""
    loaded = {name: (str(client.script_load(text)), argv) for name, (text, argv) in scripts.items()}
    costs: dict[str, list[float]] = {name: [] for name in scripts}
    for number in range(rounds + 1):
        for name, (sha, argv) in loaded.items():
            client.flushall()
            cost = run(client, name, sha, argv, calls)
            if number > 0:
                costs[name].append(cost)
    return {name: median(values) for name, values in costs.items()}


def run(client: redis.Redis, name: str, sha: str, argv: Sequence[Any], calls: int) -> float:
    """Makes the calls in batches and returns the microseconds that the server counted per call."""
    client.config_resetstat()
    for _ in range(calls // BATCH):
        batch = client.pipeline(transaction=False)
        for number in range(BATCH):
            batch.evalsha(sha, 1, f"{name}:{{user:{number % KEYS}}}", *argv)
        batch.execute()
    return _cost(client)


def _cost(client: redis.Redis) -> float:
    counted = client.info("commandstats")["cmdstat_evalsha"]
    return float(counted["usec"]) / float(counted["calls"])


if __name__ == "__main__":
    sys.exit(main())
