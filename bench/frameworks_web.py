"""Measures packages for frameworks beside those that they replace, over HTTP: `frameworks_web.py python` or `node`.

Applications run all the time: theirs, ours, a bare one that limits nobody, and for Node one that gets a key that is not
there (`trip`). They are asked in turns by wrk: rounds in which every request is allowed (10,000 keys), rounds in which
few keys are asked for often (100 keys; beside ours then runs ours with prefetch, in a row of its own), and rounds in
which every request is denied (one key). The figures are medians of the rounds. `most` is how often faster than theirs a
limiter would be that costs nothing, as fast as the bare application, and `trip` one that asks Redis for nothing.
`make bench ONLY=frameworks-python` and `make bench ONLY=frameworks-node` run it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from program import Program, free_port, listens  # noqa: E402

PYTHON = [str(ROOT / "target/frameworks/python/bin/python"), "-m"]
GUNICORN = [*PYTHON, "gunicorn", "frameworks_python:application", "--worker-class=gthread", "--threads=4"]
UVICORN = [*PYTHON, "uvicorn", "frameworks_python:application", "--no-access-log", "--log-level=warning"]
NODE = ["node", str(ROOT / "bench/frameworks_node.mjs")]
# What is replaced: the name of its application, and how that is started.
PAIRS = {
    "python": {
        "flask-limiter": ("flask", [*GUNICORN, "--bind=127.0.0.1:{port}"]),
        "throttle of Django REST framework": ("drf", [*GUNICORN, "--bind=127.0.0.1:{port}"]),
        "slowapi": ("fastapi", [*UVICORN, "--port={port}"]),
    },
    "node": {
        "express-rate-limit, rate-limit-redis": ("express", NODE),
        "@fastify/rate-limit": ("fastify", NODE),
    },
}
WHOSE = {"python": ("bare", "theirs", "ours"), "node": ("bare", "trip", "theirs", "ours")}
SCRIPT = """
local n = math.random(1000000000)
function request()
    n = n + 1
    return wrk.format("GET", "/?k=" .. KEY)
end
function done(summary, latency)
    local failed = summary.errors.status
    local broken = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
    print(string.format('{"rate": %f, "p99": %f, "requests": %d, "failed": %d, "broken": %d}',
        summary.requests / summary.duration * 1e6, latency:percentile(99) / 1000, summary.requests, failed, broken))
end
"""
KEYS = {"allowed": '"a" .. n % 10000 .. "-ROUND"', "busy": '"b" .. n % 100 .. "-ROUND"', "denied": '"d"'}
# What is limited: so many requests of a key a minute.
LIMITS = {"allowed": "1000000", "busy": "1000000", "denied": "100"}


class WrongAnswers(Exception):
    """An application admitted or denied what it should not have."""


def ask(
    folder: Path, pid: int, port: int, kind: str, round_: str, seconds: float, connections: int
) -> tuple[float, float, float, float]:
    """Asks an application: the requests a second, the 99th percentile in milliseconds, how many were admitted, and what
    a request took of a processor, in microseconds."""
    script = folder / "wrk.lua"
    script.write_text(SCRIPT.replace("KEY", KEYS[kind].replace("ROUND", round_)))
    how = ["-t1", f"-c{connections}", f"-d{seconds:.0f}s", "-s", str(script)]
    before = processor_time(pid)
    ended = subprocess.run(["wrk", *how, f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True)
    told = json.loads(ended.stdout.splitlines()[-1])
    admitted = told["requests"] - told["failed"]
    if told["broken"] or (kind != "denied" and told["failed"]):
        raise WrongAnswers(f"{kind}: {told}")
    return told["rate"], told["p99"], admitted, (processor_time(pid) - before) / max(told["requests"], 1) * 1e6


def processor_time(session: int) -> float:
    """What all processes of a session have taken of the processors, in seconds."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(") ")[2].split()
            ticks += int(fields[11]) + int(fields[12]) if int(fields[3]) == session else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("language", choices=PAIRS)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--connections", type=int, default=8)
    given = parser.parse_args()
    redis = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])["redis-7.0"]
    os.environ |= {
        "BENCH_REDIS": redis,
        "BENCH_FRAMEWORKS": str(ROOT / "target/frameworks/node"),
        "PYTHONPATH": str(ROOT / "bench"),
    }
    columns = f"{'bare/s':>9} {'theirs/s':>9} {'ours/s':>9} {'times':>6} {'most':>6} {'trip':>6}"
    print(
        f"{'':38} {'':12} {columns} {'p99 theirs':>11} {'ours, ms':>9}"
        f" {'processor, bare':>16} {'theirs':>7} {'ours, us':>9}"
    )
    for name, (app, command) in PAIRS[given.language].items():
        for kind in KEYS if given.only in name else ():
            leased = ("leased",) * (kind == "busy")
            with ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                programs = started(stack, folder, app, command, kind, (*WHOSE[given.language], *leased))
                print_rows(name, kind, measured(folder, programs, kind, given), leased)


def started(
    stack: ExitStack, folder: Path, app: str, command: list[str], kind: str, all_of_them: tuple[str, ...]
) -> dict[str, tuple[Program, int]]:
    """Applications, each with its port."""
    programs = {}
    for whose in all_of_them:
        port = free_port()
        os.environ |= {"BENCH_APP": f"{app} {whose}", "BENCH_LIMIT": LIMITS[kind], "PORT": str(port)}
        words = [word.format(port=port) for word in command]
        ready = lambda port=port: listens(port)  # noqa: E731
        program = Program(f"{app} {whose}", words, folder / f"{whose}.log", ready, within=60)
        programs[whose] = stack.enter_context(program), port
    return programs


def measured(
    folder: Path, programs: dict[str, tuple[Program, int]], kind: str, given: argparse.Namespace
) -> dict[str, list[float]]:
    """The medians of rounds in which each application is asked once."""
    rounds: dict[str, list[tuple[float, ...]]] = {whose: [] for whose in programs}
    for number in range(given.rounds + 1):
        for whose, (program, port) in programs.items():
            seconds = given.seconds if number else 1
            figures = ask(folder, program.pid, port, kind, f"{whose}{number}", seconds, given.connections)
            # The limit is 100: whoever admits more lets parallel requests pass.
            if kind == "denied" and whose in ("theirs", "ours") and figures[2] > 100:
                print(f"{whose} admitted {figures[2]:.0f} of one key within {given.seconds:.0f} s")
            # The first is to warm up.
            rounds[whose] += [figures] if number else []
    return {whose: [median(each) for each in zip(*of_one, strict=True)] for whose, of_one in rounds.items()}


def print_rows(name: str, kind: str, medians: dict[str, list[float]], leased: tuple[str, ...]) -> None:
    """A row for ours, and one for ours with prefetch if that was asked."""
    bare, theirs = medians["bare"], medians["theirs"]
    trip = f"{medians['trip'][0] / theirs[0]:6.2f}" if "trip" in medians else f"{'':6}"
    for whose in ("ours", *leased):
        ours = medians[whose]
        rates = f"{bare[0]:9.0f} {theirs[0]:9.0f} {ours[0]:9.0f}"
        times = f"{ours[0] / theirs[0]:6.2f} {bare[0] / theirs[0]:6.2f} {trip} {theirs[1]:11.2f} {ours[1]:9.2f}"
        label = "with prefetch" if whose == "leased" else kind
        print(f"{name:38} {label:12} {rates} {times} {bare[3]:16.0f} {theirs[3]:7.0f} {ours[3]:9.0f}", flush=True)


if __name__ == "__main__":
    main()
