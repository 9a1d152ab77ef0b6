"""Processes that take and give back locks until they are killed.

Each is a worker (see workers.py), whose callers are threads of this process: a caller picks one lock of the `mix`,
acquires it (at once, or with a wait of a fifth of its ttl or of two), holds it for a while, often to a few milliseconds
around its end, maybe extends it, releases it, and goes on for ever. It asserts nothing: each call becomes a record of
the history (see lock_history.py).
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any

from lock_history import Record
from workers import COMMANDS, Answer, Worker, WorkerError

# How many callers a process has.
LANES = {"rust": 3, "python": 2, "aio": 2, "php": 1, "node": 2}
STARTED_WITHIN = 20.0
ENDED_WITHIN = 20.0
# A call may wait, and its process may stand still meanwhile.
ANSWERED_WITHIN = 60.0
# The longest that a waiter who has died stands in the way of those behind it.
HEARTBEAT_MS = 1500
# Beyond that: workers of all languages start together and want the same locks; who lost a race asks again after a poll
# interval of 800 ms. A lock that is stuck is stuck for good, so nothing is missed by waiting.
AMONG_OTHERS_MS = 3000


def lock(kind: str, *names: str, ttl_ms: int, permits: int = 1, weight: int = 1, **options: bool) -> Record:
    """A lock of a mix."""
    what = {"kind": kind, "names": names, "ttl_ms": ttl_ms, "permits": permits, "weight": weight}
    return {"renew": False, "fair": False, **what, **options}


class Caller:
    """One lane of a worker. What it does, it writes into the history of its load."""

    def __init__(self, load: Load, worker: Worker, proc: str, lane: int) -> None:
        self.load, self.worker, self.proc, self.lane = load, worker, proc, lane
        self.luck = random.Random(f"{load.luck.randrange(1 << 31)}-{lane}")

    def run(self) -> None:
        """Makes its calls for ever."""
        raise NotImplementedError

    def once(self, mix: Sequence[Any], wait_ms: int) -> None:
        """Makes a call about each of the mix."""
        raise NotImplementedError

    def begun(self, begun: Answer) -> None:
        """Hears what begins."""

    def ask(self, op: str, name: object, options: Answer, how: Answer, **arguments: Any) -> Answer:
        """Makes one call."""
        self.worker.begin_call(op, name, options, lane=self.lane, how=how, **arguments)
        return self.worker.end(self.lane, ANSWERED_WITHIN)


class Locker(Caller):
    """Takes locks at random."""

    grant = 0
    _record: Record
    _held = False

    def run(self) -> None:
        """Takes them for ever."""
        while True:
            entry = self.luck.choice(self.load.mix)
            wait = self.luck.choice([0, entry["ttl_ms"] // 5, entry["ttl_ms"] * 2])
            if not self._take(entry, wait, hold=True):
                time.sleep(self.luck.uniform(0.001, 0.01))

    def once(self, mix: Sequence[Any], wait_ms: int) -> None:
        """Takes each of them."""
        for entry in mix:
            self._take(entry, wait_ms, hold=False)

    def begun(self, begun: Answer) -> None:
        """Whoever is killed in the middle of a release may have released."""
        self._held = begun["held"]
        times = {"invoke_ns": begun["at_ns"], "done_ns": begun["at_ns"]}
        self.load.write({**self._record, **times, "held": self._held, "outcome": "begun"})

    def _take(self, entry: Record, wait_ms: int, *, hold: bool) -> bool:
        """Acquires, holds for a time that likes the edges, and releases."""
        self.grant += 1
        seen = self._call("acquire", entry, wait_ms=wait_ms)
        if seen is None:
            return False
        release_at = 0.0
        if hold:
            how, ttl, now = self.luck.random(), entry["ttl_ms"] * 1e6, time.monotonic_ns()
            edge = self.luck.uniform(-4e6, 4e6)
            if how < 0.4:
                release_at = now + self.luck.uniform(0, ttl / 3)
            elif how < 0.6:
                release_at = now + seen["remaining_ms"] * 1e6 + edge
            elif how < 0.75:
                release_at = now + ttl + edge
            else:
                part = self.luck.choice([self.luck.random(), 0.95, 1])
                extended = self._call("extend", entry, at_ns=int(now + seen["remaining_ms"] * 1e6 * part))
                rest = (extended or {"remaining_ms": 0})["remaining_ms"] * 1e6
                release_at = time.monotonic_ns() + self.luck.choice([self.luck.uniform(0, ttl / 3), rest])
        self._call("release", entry, at_ns=int(release_at))
        return True

    def _call(self, op: str, entry: Record, *, at_ns: int = 0, **arguments: Any) -> Answer | None:
        """Makes one call and writes it down; answers what is seen then if it is granted."""
        record = {"proc": self.proc, "lane": self.lane, "grant": self.grant, "op": op}
        self._record = record = record | {name: entry[name] for name in ("names", "permits", "weight")}
        options = {name: entry[name] for name in ("ttl_ms", "renew", "fair")} | {"label": self.proc}
        if entry["kind"] == "semaphore":
            options |= {name: entry[name] for name in ("permits", "weight")}
        name = entry["names"] if entry["kind"] == "lock_all" else entry["names"][0]
        how = {"at_ns": at_ns, "look": ["held", "token", "remaining"], "announce": op == "release"}
        answer = self.ask(f"{entry['kind']}.{op}", name, options, how, **arguments)
        outcome = answer.get("error") or ("ok" if answer["result"] else "no")
        record = {**record, "invoke_ns": answer["invoke_ns"], "done_ns": answer["ok_ns"], "outcome": outcome}
        granted = answer["seen"] if outcome == "ok" else None
        if op == "release":
            record["held"] = self._held
        elif granted:
            remaining = int(granted["remaining_ms"] * 1e6)
            record |= {"token": granted["token"], "until_ns": granted["at_ns"] + remaining if remaining else 0}
        self.load.write(record)
        return granted


class Process:
    """A worker with its callers, each a thread that ends when the worker does."""

    def __init__(self, load: Load, name: str, lanes: int, command: Sequence[str]) -> None:
        self.name, self.problem = name, ""
        self.worker = Worker(command, begun=self._begun)
        self.callers = [load.caller(load, self.worker, name, lane) for lane in range(lanes)]
        self._threads: list[threading.Thread] = []

    def start(self, work: Callable[[Caller], None], url: str, prefix: str, timeout_ms: int) -> None:
        """Has each caller do its work as soon as there is a client."""

        def begin() -> None:
            self.worker.client(url, prefix=prefix, timeout_ms=timeout_ms)
            self._threads += [self._started(partial(work, each)) for each in self.callers]

        self._first = self._started(begin)

    def join(self, within: float) -> None:
        """Waits for all callers to end."""
        give_up = time.monotonic() + within
        for thread in [self._first, *self._threads]:
            thread.join(max(0.0, give_up - time.monotonic()))
        for thread in self._threads:
            thread.join(max(0.0, give_up - time.monotonic()))
            if thread.is_alive():
                raise WorkerError(f"{self.name} does not end")

    def check(self) -> None:
        """Fails when it has ended by itself."""
        if self.problem or self.worker.poll() is not None:
            raise WorkerError(f"{self.name} ended with {self.worker.poll()}: {self.problem}")

    def kill(self) -> None:
        """Kills it, whatever it is about."""
        os.kill(self.worker.pid, signal.SIGKILL)
        self.join(ENDED_WITHIN)
        self.worker.kill()

    def _begun(self, lane: int, begun: Answer) -> None:
        self.callers[lane].begun(begun)

    def _started(self, work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except WorkerError as error:
                self.problem = str(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread


class Load:
    """The workers of one run; all are killed at the end of the `with` block. `caller` is what their lanes are."""

    def __init__(
        self,
        mix: Sequence[Any],
        *,
        caller: Callable[[Load, Worker, str, int], Caller] = Locker,
        lanes: Mapping[str, int] = LANES,
        commands: Mapping[str, Sequence[str]] = COMMANDS,
        timeout_ms: int = 250,
        seed: int = 1,
    ) -> None:
        self.mix, self.caller = mix, caller
        self.luck = random.Random(seed)
        self._lanes, self._commands, self._timeout_ms = lanes, commands, timeout_ms
        self._processes: dict[str, Process] = {}
        self._history: list[Record] = []
        self._started = 0

    def start(self, language: str, url: str, *, once_ms: int = 0) -> str:
        """Starts a worker of a language and returns what its history calls it."""
        self._started += 1
        name = f"{language} {self._started}"
        lanes, command = 1 if once_ms else self._lanes[language], self._commands[language]
        process = self._processes[name] = Process(self, name, lanes, command)
        if once_ms:
            # What is to be seen is how long the dead stand in its way, not how busy the machine is.
            patient = [{**entry, "ttl_ms": 30_000} for entry in self.mix]
            process.start(lambda caller: caller.once(patient, once_ms), url, "history", 10_000)
        else:
            process.start(lambda caller: caller.run(), url, "history", self._timeout_ms)
        return name

    def write(self, record: Record) -> None:
        """Adds a record to the history."""
        self._history.append(record)

    def wait_until_busy(self) -> None:
        """Returns when each worker has made a call."""
        give_up = time.monotonic() + STARTED_WITHIN
        for name, process in self._processes.items():
            while not any(record["proc"] == name for record in self.history()):
                process.check()
                if time.monotonic() > give_up:
                    raise WorkerError(f"{name} made no call in {STARTED_WITHIN} s")
                time.sleep(0.005)

    def freeze_one(self, seconds: float) -> None:
        """Stops a worker for a time."""
        process = self.luck.choice(list(self._processes.values()))
        os.kill(process.worker.pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(process.worker.pid, signal.SIGCONT)

    def replace(self, url: str, name: str = "") -> None:
        """Kills a worker, whichever if it has no name, and starts another of its kind."""
        name = name or self.luck.choice(list(self._processes))
        self._kill(name)
        self.start(name.split()[0], url)

    def kill_one(self, name: str) -> None:
        """Kills a worker, whatever it is about; one that has ended before is an error."""
        self._kill(name)

    def kill(self) -> None:
        """Kills all workers, whatever they are about; one that has ended before is an error."""
        for name in list(self._processes):
            self._kill(name)

    def probe(self, crew: Sequence[str], url: str, *, wait_ms: int = 5_000) -> list[Record]:
        """Has new workers acquire each lock one time, and returns their history."""
        names = [self.start(each, url, once_ms=wait_ms) for each in crew]
        for name in names:
            process = self._processes[name]
            process.join(ENDED_WITHIN + len(self.mix) * wait_ms / 1000)
            process.check()
            self._processes.pop(name).worker.close()
        return [record for record in self.history() if record["proc"] in names]

    def history(self) -> list[Record]:
        """All that was written so far."""
        return list(self._history)

    def within_ns(self, names: Sequence[str]) -> int:
        """How long whoever asks for locks may have to wait for what the dead have left behind, and for the others."""
        related = [entry for entry in self.mix if set(entry["names"]) & set(names)]
        in_order = any(entry["fair"] or entry["kind"] == "write_lock" for entry in related)
        ms: int = max(*(entry["ttl_ms"] for entry in related), HEARTBEAT_MS if in_order else 0)
        return (ms + AMONG_OTHERS_MS) * 1_000_000

    def __enter__(self) -> Load:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes.values():
            process.kill()

    def _kill(self, name: str) -> None:
        process = self._processes.pop(name)
        process.check()
        process.kill()
