"""Processes that take and give back locks until they are killed, and the faults that are done to them meanwhile.

A worker is started as `COMMAND SETUP [KIND]` with a JSON object: `url`, `prefix`, `timeout_ms`, `path` of its history,
`proc` (what the history calls it), `seed`, `lanes` (callers at the same time; PHP: always one), `mix` and `once`. `mix`
is a list of locks: `kind` (the method of the client that makes its handle), `names`, `permits`, `weight`, `ttl_ms`,
`renew`, `fair`. A lane picks one of them, acquires it (at once, or with a wait of a fifth of its ttl or of two), holds
it for a while, often to a few milliseconds around its end, maybe extends it, releases it, and goes on for ever. It
asserts nothing: each call becomes a line of the history (see lock_history.py), written at once, since a worker may be
killed at any time. With `once` it acquires each lock of the mix one time, waiting so many milliseconds, and ends.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from clock_steps import ClockSteps
from lock_history import Record, read
from programs import NODE, PHP, PYTHON
from proxy import Faults, Proxy
from servers import ROOT, Server

HERE = Path(__file__).resolve().parent / "lock_worker"
# The number of its lanes, what starts it, and maybe its kind.
Command = tuple[Any, ...]
LANGUAGES: dict[str, Command] = {
    "rust": (3, [str(ROOT / "target/debug/examples/lock_worker")]),
    "python": (2, [*PYTHON, str(HERE / "worker.py")]),
    "aio": (2, [*PYTHON, str(HERE / "worker.py")], "aio"),
    "php": (1, [*PHP, str(HERE / "worker.php")]),
    "node": (2, [*NODE, str(HERE / "worker.mjs")]),
}
STARTED_WITHIN = 20.0
ENDED_WITHIN = 20.0
# The longest that a waiter who has died stands in the way of those behind it.
HEARTBEAT_MS = 1500
TTLS = """
local keys, shown = redis.call('KEYS', '*'), {}
for n, key in ipairs(keys) do shown[n] = redis.call('PTTL', key) .. ' ' .. key end
return table.concat(shown, '\\n')
"""


class WorkerError(Exception):
    """A worker ended by itself, or did not end well: never what a test expects."""


def lock(kind: str, *names: str, ttl_ms: int, permits: int = 1, weight: int = 1, **options: bool) -> Record:
    """A lock of a mix."""
    what = {"kind": kind, "names": names, "ttl_ms": ttl_ms, "permits": permits, "weight": weight}
    return {"renew": False, "fair": False, **what, **options}


class Load:
    """The workers of one run; all are killed at the end of the `with` block. They are given `setup` as well."""

    def __init__(
        self,
        mix: Sequence[Any],
        *,
        languages: dict[str, Command] | None = None,
        timeout_ms: int = 250,
        seed: int = 1,
        **setup: Any,
    ) -> None:
        self.mix = mix
        self.luck = random.Random(seed)
        self._languages = languages or LANGUAGES
        self._setup = {"prefix": "history", "mix": mix, "timeout_ms": timeout_ms, **setup}
        self._folder = tempfile.TemporaryDirectory(prefix="quotalock-locks-")
        self._workers: dict[str, subprocess.Popen[bytes]] = {}
        self._started = 0

    def start(self, language: str, url: str, *, once_ms: int = 0) -> str:
        """Starts a worker of a language and returns what its history calls it."""
        lanes, command, *kind = self._languages[language]
        self._started += 1
        name = f"{language} {self._started}"
        setup = {"url": url, "proc": name, "path": str(self._path(name)), "seed": self.luck.randrange(1 << 31)}
        setup |= {"lanes": lanes, "once": once_ms}
        if once_ms:
            # What is to be seen is how long the dead stand in its way, not how busy the machine is.
            patient = [{**entry, "ttl_ms": 30_000} for entry in self.mix]
            setup |= {"lanes": 1, "timeout_ms": 10_000, "mix": patient}
        with self._path(name).with_suffix(".log").open("wb") as log:
            self._workers[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *command, json.dumps(self._setup | setup), *kind],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": str(HERE.parent)},
            )
        return name

    def wait_until_busy(self) -> None:
        """Returns when each worker has made a call."""
        give_up = time.monotonic() + STARTED_WITHIN
        for name in self._workers:
            while not self._path(name).exists() or not self._path(name).stat().st_size:
                self._check_alive(name)
                if time.monotonic() > give_up:
                    raise WorkerError(f"{name} made no call in {STARTED_WITHIN} s")
                time.sleep(0.005)

    def freeze_one(self, seconds: float) -> None:
        """Stops a worker for a time."""
        process = self.luck.choice(list(self._workers.values()))
        process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        process.send_signal(signal.SIGCONT)

    def replace(self, url: str, name: str = "") -> None:
        """Kills a worker, whichever if it has no name, and starts another of its kind."""
        name = name or self.luck.choice(list(self._workers))
        self._kill(name)
        self.start(name.split()[0], url)

    def kill(self) -> None:
        """Kills all workers, whatever they are about; one that has ended before is an error."""
        for name in list(self._workers):
            self._kill(name)

    def probe(self, crew: Sequence[str], url: str, *, wait_ms: int = 5_000) -> list[Record]:
        """Has new workers acquire each lock one time, and returns their history."""
        names = [self.start(each, url, once_ms=wait_ms) for each in crew]
        for name in names:
            try:
                code = self._workers[name].wait(ENDED_WITHIN)
            except subprocess.TimeoutExpired:
                raise WorkerError(f"{name} does not end:\n{self._log(name)}") from None
            if code:
                raise WorkerError(f"{name} ended with {code}:\n{self._log(name)}")
            del self._workers[name]
        return [record for name in names for record in read(self._path(name))]

    def history(self) -> list[Record]:
        """All that was written so far."""
        return [record for path in sorted(Path(self._folder.name).glob("*.jsonl")) for record in read(path)]

    def within_ns(self, names: Sequence[str]) -> int:
        """How long whoever asks for locks may have to wait for what the dead have left behind, and a second more."""
        related = [entry for entry in self.mix if set(entry["names"]) & set(names)]
        in_order = any(entry["fair"] or entry["kind"] == "write_lock" for entry in related)
        ms: int = max(*(entry["ttl_ms"] for entry in related), HEARTBEAT_MS if in_order else 0)
        return (ms + 1_000) * 1_000_000

    def __enter__(self) -> Load:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._workers.values():
            process.kill()
            process.wait()
        self._folder.cleanup()

    def _kill(self, name: str) -> None:
        self._check_alive(name)
        process = self._workers.pop(name)
        process.kill()
        process.wait()

    def _path(self, name: str) -> Path:
        return Path(self._folder.name) / f"{name.replace(' ', '-')}.jsonl"

    def _log(self, name: str) -> str:
        return self._path(name).with_suffix(".log").read_text(errors="replace")[-3000:]

    def _check_alive(self, name: str) -> None:
        code = self._workers[name].poll()
        if code is not None:
            raise WorkerError(f"{name} ended with {code}:\n{self._log(name)}")


class Trouble:
    """Faults, each over when its call returns, half a second later at most; `done` counts them."""

    def __init__(self, load: Load, server: Server, proxy: Proxy, clock: ClockSteps | None = None) -> None:
        self.load, self.server, self.proxy, self.clock, self.luck = load, server, proxy, clock, load.luck
        self.done: Counter[str] = Counter()

    def run(self, seconds: float, *faults: Callable[[], None]) -> None:
        """Does each of the faults in turn, in an order that changes, with peace between them, for a time."""
        end = time.monotonic() + seconds
        while True:
            for fault in self.luck.sample(faults, len(faults)):
                fault()
                self.done[fault.__name__] += 1
                time.sleep(self.luck.uniform(0, 0.15))
                if time.monotonic() > end:
                    return
            if not faults:
                time.sleep(seconds)
                return

    def lose_replies(self) -> None:
        """Replies are lost, with their connections."""
        self._proxy_has(Faults(lose=0.1, spare=1, keep=self.luck.choice([0, 7]), reset=self.luck.random() < 0.5))

    def delay_replies(self) -> None:
        """Replies are late, some more than others."""
        self._proxy_has(Faults(delay=0.06, spread=1.0))

    def delay_replies_a_little(self) -> None:
        """Replies are a little late: what takes two steps takes longer."""
        self._proxy_has(Faults(delay=0.012, spread=1.0))

    def delay_requests(self) -> None:
        """Requests are late, some more than others."""
        self._proxy_has(Faults(late=0.06, spread=1.0))

    def hang_up(self) -> None:
        """All connections end."""
        self.proxy.hang_up()

    def freeze_worker(self) -> None:
        """A worker stands still, mostly for longer than its leases last."""
        self.load.freeze_one(self.luck.uniform(0.05, 0.4))

    def kill_one(self) -> None:
        """A worker is killed, and another takes its place."""
        self.load.replace(self.proxy.url)

    def kill_granted(self) -> None:
        """A worker is killed once it was granted a lock and before it hears of it; the value begins with its name."""
        (key,) = {name for entry in self.load.mix for name in entry["names"]}
        self.proxy.faults = Faults(delay=0.04)
        before, end = self.server.command("GET", key), time.monotonic() + 0.3
        while time.monotonic() < end:
            holder = self.server.command("GET", key)
            if holder not in ("$-1", "-1", before):
                self.load.replace(self.proxy.url, holder.split(":")[0])
                break
        self.proxy.faults = Faults()

    def freeze_server(self) -> None:
        """The server stands still."""
        self.server.sigstop()
        time.sleep(self.luck.uniform(0.05, 0.35))
        self.server.sigcont()

    def flush_scripts(self) -> None:
        """The server forgets the scripts, again and again."""
        for _ in range(20):
            self.server.command("SCRIPT", "FLUSH")
            time.sleep(0.005)

    def flush_all(self) -> None:
        """The server forgets everything."""
        self.server.command("FLUSHALL")

    def crash(self) -> None:
        """The server is killed and started again."""
        self.server.kill9()
        self.server.start()

    def step_back(self) -> None:
        """The server's clock is set back."""
        self._step(-1)

    def step_forward(self) -> None:
        """The server's clock is set forward."""
        self._step(1)

    def _step(self, direction: int) -> None:
        assert self.clock is not None
        self.clock.step(direction * self.luck.choice([1_000, 50_000, 3_000_000]))

    def _proxy_has(self, faults: Faults) -> None:
        self.proxy.faults = faults
        time.sleep(self.luck.uniform(0.1, 0.4))
        self.proxy.faults = Faults()


def ttls(server: Server) -> Iterator[tuple[str, int]]:
    """All keys of a server, each with its PTTL."""
    for line in server.command("EVAL", TTLS, "0").splitlines():
        ttl, key = line.split(" ", 1)
        yield key, int(ttl)
