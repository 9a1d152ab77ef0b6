"""Processes that use quotalock in each language, told what to do line by line.

A request is a JSON line `{"op", ...}`, and each is answered by one JSON line. The operations:

* `client`: `url`, `prefix`, `timeout_ms`, `on_error`; the client of all later operations.
* those of a limiter (`consume`, `peek`, `require`, `refund`, `block`, `reset`): `limiter`, `policy`, `key` (in
  hexadecimal) and `cost`, `amount` or `duration_ms`. Answers `invoke_ns` and `ok_ns`, the monotonic times around the
  call, which all processes of a machine share, and `result`, a decision with its durations in milliseconds.
* `load`: consumes at random what `mix` offers (a list of `limiter`, `policy`, `key`, `costs`) for `seconds` or a number
  of `calls`, `in_flight` at once (sync Python: threads; PHP: always one), pausing `pause_us` on average between calls.
  Writes every call and its answer to `path`, a JSON line each.
* those of a stock, a once or a cache (`stock.take`, `once.run`), and `client.take_all` and the like: `name` and
  `options` of the handle and the `arguments` of the call, named as in api.json. Durations end in `_ms`, bytes (buyers,
  keys, request ids, prizes, values) are in hexadecimal, the id of a once is called `key`, and a stock in a list is its
  name. `load`, the loader, says what it makes, `value` or `json` (a text), or with what it `fails`, and maybe a file
  that it waits for before, `until`. Answers the times, `loads`, how often the loader was called, and `result`; of
  `get_json` its JSON.

In place of a `result` stands an `error`, its code, with `class`, `message` and `shown`: every form in which it may be
printed. The error of the caller's own loader has the code `own`. The worker in Rust has no `load` and no JSON.
"""

from __future__ import annotations

import contextlib
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

from programs import NODE, PHP, PYTHON
from servers import ROOT

Answer = dict[str, Any]

HERE = Path(__file__).resolve().parent
LANGUAGES = {
    "python": [*PYTHON, "-m", "worker.worker"],
    "aio": [*PYTHON, "-m", "worker.worker", "aio"],
    "php": [*PHP, str(HERE / "worker/worker.php")],
    "node": [*NODE, str(HERE / "worker/worker.mjs")],
}
RUST = [str(ROOT / "target/debug/examples/worker")]

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
        self._awaited = 0

    def client(self, url: str, *, prefix: str = "ql", timeout_ms: int = 5000, on_error: str = "raise") -> Answer:
        """Makes the client of all later operations, a patient one unless it is told: machines stand still at times."""
        return self.ask("client", url=url, prefix=prefix, timeout_ms=timeout_ms, on_error=on_error)

    def ask(self, op: str, **request: Any) -> Answer:
        """Carries out one operation. A `key` may be text or bytes."""
        if "key" in request:
            request["key"] = hexadecimal(request["key"])
        self.begin(op, **request)
        return self.end()

    def begin(self, op: str, **request: Any) -> None:
        """Begins an operation; `end` waits for its answer."""
        self._send({"op": op, **request})

    def end(self) -> Answer:
        """Waits for the answer to what was begun."""
        return self._answer(ANSWERS_WITHIN)

    def decide(self, op: str, limiter: str, policy: str, key: str | bytes, **arguments: Any) -> Any:  # noqa: ANN401
        """As `ask`, for an operation that must succeed: returns its result alone, of `reset` a boolean."""
        answer = self.ask(op, limiter=limiter, policy=policy, key=key, **arguments)
        if "error" in answer:
            raise WorkerError(f"{self.name}: {op} of {key!r} failed with {answer['error']}: {answer['message']}")
        return answer["result"]

    def call(self, op: str, name: str = "", options: Answer | None = None, **arguments: Any) -> Answer:
        """Makes one call of a stock, a once or a cache. Bytes may be text."""
        self.begin_call(op, name, options, **arguments)
        return self.end()

    def begin_call(self, op: str, name: str = "", options: Answer | None = None, **arguments: Any) -> None:
        """Begins what `call` makes; `end` waits for its answer."""
        given = {argument: carried(argument, value) for argument, value in arguments.items()}
        self.begin(op, name=name, options=options or {}, arguments=given)

    def settle(self) -> None:
        """Waits for the answers that nobody waited for, of a test that failed."""
        while self._awaited:
            self.end()

    def kill(self) -> None:
        """Kills the process, whatever it does."""
        self._process.kill()
        with contextlib.suppress(WorkerError):
            self.close()

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
        self.kill()

    def _send(self, request: Answer) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            self._awaited += 1
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
        self._awaited -= 1
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


def carried(argument: str, value: Any) -> Any:  # noqa: ANN401
    """An argument of a call as the protocol carries it."""
    if argument == "load":
        return {name: str(what) if name == "until" else carried(name, what) for name, what in value.items()}
    if argument == "prizes":
        return [hexadecimal(prize) for prize in value]
    is_bytes = value is not None and argument in ("key", "buyer", "value", "request_id")
    return hexadecimal(value) if is_bytes else value
