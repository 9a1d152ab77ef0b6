"""`make bench ONLY=locks`: locks next to their peers: what a pair and what waiting costs, who learns of a loss.

The figures go to target/bench-locks: table.md and results.json (target/bench-locks-quick with --quick, whose figures
are worth nothing: it shows that everything runs).

The workers of the tests (tests/harness/worker/) would add a line to and from a process to each call, which is more than
what is measured: these have loops of their own, and peers beside.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "harness"))

import machine
from servers import Server
from tables import table

ROOT = Path(__file__).resolve().parents[1]
SERVER = "redis-7.0"
WORKERS = ROOT / "bench" / "lock_workers"
COMMANDS = {
    "Python": [str(ROOT / ".venv/bin/python"), str(WORKERS / "worker.py")],
    "PHP": [
        "php",
        "-d",
        f"extension={ROOT}/bindings-php/modules/ratelimit.so",
        "-d",
        "include_path=.:/usr/share/php",
        str(WORKERS / "worker.php"),
    ],
    "Node": ["node", str(WORKERS / "worker.mjs")],
}
PEERS = {"Python": "redis-py Lock", "PHP": "Symfony Lock", "Node": "redis-semaphore"}
TTL = 1.0


@dataclass(frozen=True)
class Plan:
    """How much is done of each."""

    rounds: int
    pairs: int
    seconds: float
    each: int
    waiters: int


FULL = Plan(rounds=5, pairs=2_000, seconds=6.0, each=10, waiters=100)
QUICK = Plan(rounds=1, pairs=20, seconds=0.5, each=1, waiters=5)


class Worker:
    """A process that does one task."""

    def __init__(self, language: str, task: str, client: str, server: Server, number: float) -> None:
        command = [*COMMANDS[language], task, client, str(server.port), str(number)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)

    def go(self) -> None:
        assert self._process.stdin
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def line(self) -> Any:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"a worker failed: {self._process.args!r}")
        return json.loads(line)

    @contextmanager
    def stopped(self, seconds: float) -> Iterator[None]:
        """Freezes the process, for at least so long."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(seconds)
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self._process.stdin and self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout
        self._process.stdout.close()


@contextmanager
def workers(started: Sequence[Worker]) -> Iterator[Sequence[Worker]]:
    try:
        yield started
    finally:
        for worker in started:
            worker.close()


def script_calls(server: Server) -> int:
    """How many scripts the server has run."""
    lines = server.command("INFO", "commandstats").splitlines()
    calls = [line.partition("calls=")[2].partition(",")[0] for line in lines if line.startswith("cmdstat_eval")]
    return sum(map(int, calls))


def pairs(server: Server, plan: Plan) -> dict[str, list[tuple[float, float]]]:
    """Per language and round: what a pair takes ours and its peer."""
    found: dict[str, list[tuple[float, float]]] = {language: [] for language in COMMANDS}
    for _ in range(plan.rounds):
        for language, rounds in found.items():
            took = []
            for client in ("ours", "peer"):
                with workers([Worker(language, "pair", client, server, plan.pairs)]) as [worker]:
                    took.append(worker.line()["seconds"])
            rounds.append((took[0], took[1]))
    return found


@dataclass(frozen=True)
class Contention:
    """What many processes got of one lock."""

    acquired: int
    calls: float
    p50: float
    p99: float
    fewest: int
    most: int


def contention(server: Server, plan: Plan, client: str) -> Contention:
    """So many processes of each language take one lock again and again."""
    server.command("FLUSHALL")
    languages = list(COMMANDS) * plan.each
    started = [Worker(language, "contend", client, server, plan.seconds) for language in languages]
    with workers(started):
        # All are up before the first begins.
        time.sleep(0.1 * len(started))
        before = script_calls(server)
        for worker in started:
            worker.go()
        waits = [worker.line()["waits"] for worker in started]
        calls = script_calls(server) - before
    every = sorted(wait for one in waits for wait in one)
    count, wins = len(every), [len(one) for one in waits]
    return Contention(count, calls / count, every[count // 2], every[count * 99 // 100], min(wins), max(wins))


def calls_in_line(server: Server, plan: Plan, language: str) -> float:
    """The script calls per acquisition of many waiters in one process."""
    server.command("FLUSHALL")
    before = script_calls(server)
    with workers([Worker(language, "line", "ours", server, plan.waiters)]) as [worker]:
        acquired = worker.line()["acquired"]
        return (script_calls(server) - before) / float(acquired)


def frozen(server: Server, language: str, client: str) -> dict[str, Any]:
    """What a holder learns that was stopped for twice its ttl."""
    server.command("FLUSHALL")
    with workers([Worker(language, "frozen", client, server, TTL)]) as [worker]:
        worker.line()
        with worker.stopped(2 * TTL):
            pass
        worker.go()
        seen: dict[str, Any] = worker.line()
        return seen


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench ONLY=locks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little of each, to see that everything runs")
    options = parser.parse_args()
    plan, begun = QUICK if options.quick else FULL, machine.load()
    with Server(SERVER) as server:
        paired = pairs(server, plan)
        contended = {client: contention(server, plan, client) for client in ("poll", "ours", "fair")}
        lined = {language: calls_in_line(server, plan, language) for language in ("Python", "Node")}
        noticed = {
            (language, client): frozen(server, language, client) for language in COMMANDS for client in ("ours", "peer")
        }
    load = f"load {begun:.2f} before, {machine.load():.2f} after"
    text = "\n".join(
        [
            f"{machine.description()}; {time.strftime('%Y-%m-%d %H:%M')}; {load}.\n",
            pairs_table(paired),
            contention_table(contended, plan),
            *(
                f"* {plan.waiters} waiters in one process, {language}: {calls:.2f} scripts per acquisition (bound 1.5)"
                for language, calls in lined.items()
            ),
            "",
            frozen_table(noticed),
        ]
    )
    folder = ROOT / "target" / ("bench-locks-quick" if options.quick else "bench-locks")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.md").write_text(text)
    record = {"pairs": paired, "contention": {name: vars(each) for name, each in contended.items()}, "line": lined}
    (folder / "results.json").write_text(json.dumps(record, indent=1))
    print(text)
    print(f"In {folder.relative_to(ROOT)}: table.md, results.json")
    return 0


def pairs_table(paired: dict[str, list[tuple[float, float]]]) -> str:
    rows = []
    for language, rounds in paired.items():
        ours, peer = (statistics.median(side) for side in zip(*rounds, strict=True))
        ratios = [mine / other for mine, other in rounds]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        rows.append([language, PEERS[language], f"{ours * 1e6:.0f}", f"{peer * 1e6:.0f}", f"{ours / peer:.2f}", spread])
    return table(("acquire + release of a free lock", "peer", "ours µs", "peer µs", "ratio", "rounds"), rows, left=2)


def contention_table(contended: dict[str, Contention], plan: Plan) -> str:
    names = {"poll": "SET NX, polling every 5 to 50 ms", "ours": "Quotalock", "fair": "Quotalock, fair"}
    rows = [
        [
            names[client],
            str(each.acquired),
            f"{each.calls:.2f}",
            f"{each.p50 * 1e3:.1f}",
            f"{each.p99 * 1e3:.1f}",
            f"{each.p99 / contended['poll'].p99:.2f}",
            f"{each.fewest} to {each.most}",
        ]
        for client, each in contended.items()
    ]
    heading = f"{3 * plan.each} processes, holds of 2 ms"
    columns = ("acquired", "scripts each", "p50 ms", "p99 ms", "p99 ratio", "acquired per process")
    return table((heading, *columns), rows)


def frozen_table(noticed: dict[tuple[str, str], dict[str, Any]]) -> str:
    rows = []
    for (language, client), seen in noticed.items():
        after = "" if seen["after"] is None else f"{seen['after'] * 1e3:.1f} ms"
        rows.append([language, "Quotalock" if client == "ours" else PEERS[language], seen["how"], after])
    head = (f"a holder stopped for twice its ttl ({TTL:.0f} s)", "lock", "how it is notified", "after it resumes")
    return table(head, rows, left=3)


if __name__ == "__main__":
    sys.exit(main())
