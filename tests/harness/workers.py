"""Processes that use quotalock in each language, told what to do line by line.

A request is a JSON line `{"op", ...}`, and each is answered by one JSON line. The operations:

* `client`: `url`, `prefix`, `timeout_ms`, `on_error`; the client of all later operations.
* those of a limiter (`consume`, `peek`, `require`, `refund`, `block`, `reset`): `limiter`, `policy`, `key` (in
  hexadecimal) and `cost`, `amount` or `duration_ms`. Answers `invoke_ns` and `ok_ns`, the monotonic times around the
  call, which all processes of a machine share, and `result`, a decision with its durations in milliseconds.
* `load`: consumes at random what `mix` offers (a list of `limiter`, `policy`, `key`, `costs`) for `seconds` or a number
  of `calls`, `in_flight` at once (sync Python: threads; PHP: always one), pausing `pause_us` on average between calls.
  Writes every call and its answer to `path`, a JSON line each.

In place of a `result` stands an `error`, its code, with `class`, `message` and `shown`: every form in which it may be
printed.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from servers import ROOT

Answer = dict[str, Any]

HERE = Path(__file__).resolve().parent
LANGUAGES = {
    "python": [str(ROOT / ".venv/bin/python"), str(HERE / "worker/worker.py")],
    "aio": [str(ROOT / ".venv/bin/python"), str(HERE / "worker/worker.py"), "aio"],
    "php": ["php", "-d", f"extension={ROOT}/bindings-php/modules/ratelimit.so", str(HERE / "worker/worker.php")],
    "node": ["node", str(HERE / "worker/worker.mjs")],
}

# No operation but a load takes longer, whatever is wrong with the server.
ANSWERS_WITHIN = 15.0


class WorkerError(Exception):
    """A worker crashed or fell silent: never what a test expects."""


class Worker:
    """One process; `language` is one of `LANGUAGES` or the command line of another program of the same protocol."""

    def __init__(self, language: str | Sequence[str]) -> None:
        command = LANGUAGES[language] if isinstance(language, str) else list(language)
        self.name = language if isinstance(language, str) else " ".join(command[1:])
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 -- closed in close()
        path = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONWARNINGS": "error"},
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._files: list[str] = []

    def client(self, url: str, *, prefix: str = "ql", timeout_ms: int = 500, on_error: str = "raise") -> Answer:
        """Makes the client of all later operations."""
        return self.ask("client", url=url, prefix=prefix, timeout_ms=timeout_ms, on_error=on_error)

    def ask(self, op: str, **request: Any) -> Answer:
        """Carries out one operation. A `key` may be text or bytes."""
        if "key" in request:
            request["key"] = hexadecimal(request["key"])
        self._send({"op": op, **request})
        return self._answer(ANSWERS_WITHIN)

    def decide(self, op: str, limiter: str, policy: str, key: str | bytes, **arguments: Any) -> Any:  # noqa: ANN401
        """As `ask`, for an operation that must succeed: returns its result alone, of `reset` a boolean."""
        answer = self.ask(op, limiter=limiter, policy=policy, key=key, **arguments)
        if "error" in answer:
            raise WorkerError(f"{self.name}: {op} of {key!r} failed with {answer['error']}: {answer['message']}")
        return answer["result"]

    def begin_load(
        self,
        mix: Sequence[Answer],
        *,
        seconds: float,
        calls: int = 10**9,
        in_flight: int = 1,
        pause_us: int = 0,
        seed: int = 1,
    ) -> None:
        """Begins a load; `end_load` waits for its end."""
        handle, path = tempfile.mkstemp(prefix="quotalock-history-")
        os.close(handle)
        self._files.append(path)
        offered = [{**entry, "key": hexadecimal(entry["key"])} for entry in mix]
        how = {"seconds": seconds, "calls": calls, "in_flight": in_flight, "pause_us": pause_us, "seed": seed}
        self._send({"op": "load", "mix": offered, "path": path, **how})

    def end_load(self, within: float) -> list[Answer]:
        """Waits for the end of a load and returns its history, in the order of completion."""
        answer = self._answer(within)
        with open(self._files[-1]) as file:
            history = [{"proc": self.name, **json.loads(line)} for line in file]
        if len(history) != answer["result"]:
            raise WorkerError(f"{self.name} wrote {len(history)} of {answer['result']} calls to its history")
        return history

    def close(self) -> None:
        """Ends the input, which ends the process; one that lingers is killed and reported."""
        assert self._process.stdin is not None
        lingers = False
        try:
            self._process.stdin.close()
            self._process.wait(ANSWERS_WITHIN)
        except BrokenPipeError:
            self._process.kill()
        except subprocess.TimeoutExpired:
            self._process.kill()
            lingers = True
        self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()
        report = self._report()
        self._errors.close()
        for path in self._files:
            os.unlink(path)
        if lingers or self._process.returncode:
            raise WorkerError(f"{self.name} did not end well ({'still ran' if lingers else ''}):\n{report}")

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        # A failing test has its own story to tell.
        self._process.kill()
        try:
            self.close()
        except WorkerError:
            return

    def _send(self, request: Answer) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise WorkerError(f"{self.name} had ended:\n{self._report()}") from None

    def _answer(self, within: float) -> Answer:
        try:
            line = self._lines.get(timeout=within)
        except queue.Empty:
            raise WorkerError(f"{self.name} gave no answer within {within} s:\n{self._report()}") from None
        if not line:
            self._process.wait()
            raise WorkerError(f"{self.name} crashed:\n{self._report()}")
        answer: Answer = json.loads(line)
        return answer

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def _report(self) -> str:
        self._errors.seek(0)
        return f"exit code {self._process.poll()}\n{self._errors.read()[-3000:]}"


def hexadecimal(key: str | bytes) -> str:
    """The bytes of a key as the protocol carries them."""
    return (key.encode() if isinstance(key, str) else key).hex()
