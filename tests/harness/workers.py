"""Processes that use quotalock in each language, told what to do line by line.

A request is a JSON line `{"lane", "op", ...}`, and each is answered by one JSON line that names its `lane`. A lane is a
caller: it makes one call after the other, and all lanes call at once (sync Python and Rust: each in a thread of its
own; PHP has one lane). The operations:

* `client`: `url`, `prefix`, `timeout_ms`, `on_error`; the client of all later operations. `password` is a file, or
  null: the client's function tells what is in it, adds a '?' to the file of its name with `.asked`, and fails if it
  begins with a '!'.
* `KIND.METHOD`, as in api.json: `limiter.consume`, `lock.extend`, `once.run`, `client.take_all`. `name` and `options`
  are those with which the client makes the handle (each lane has its own), `arguments` those of the call. Durations end
  in `_ms`, bytes are `{"hex": ...}`, and a stock in a list is its name. The function that loads is an object: what it
  makes, a `value` or `json` (a text), or with what it `fails`, and maybe for how long it takes at least, `takes_ms`,
  and a file that it waits for, `until`. Further fields: `at_ns`, the monotonic time before which the call is not made;
  `look`, the properties of the handle that are read after it; `announce`, to read and tell them before it as well.
* `lock.adopt`, and of the other kinds of locks: `adopt` of the client, whose handle is that of this `name` and these
  `options` from then on.
* `load`: consumes at random what `mix` offers (a list of `limiter`, `policy`, `key`, `costs`, maybe `prefetch`) for
  `seconds` or a number of `calls`, `in_flight` at once (sync Python: threads; PHP: always one), pausing `pause_us` on
  average between calls. It ends before its time when its file is removed. What has `once` in the mix is called with a
  request id, again and again until it is answered. Writes every call and its answer to `path`, a JSON line each. It is
  what calls at full speed.

The answer to a call has `invoke_ns` and `ok_ns`, the monotonic times around it, which all processes of a machine share;
`loads`, how often the loader was called; `seen`, what was looked at, with its time `at_ns`; and `result`: a value, or
an object of its properties by their names in api.json, with durations in milliseconds and bytes in hexadecimal. In
place of a `result` stands an `error`, its code, with `class`, `message` and `shown`: every form in which it may be
printed. The error of the caller's own loader has the code `own`. A line with `begun` comes before the answer when a
loader begins and when a call was to be announced.

The worker in Rust, where no name is looked up at run time, knows what the tests ask of it: it has no `load`, no JSON,
and shows no errors. A worker for another language needs one file, a line in `LANGUAGES` and what it does here.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from programs import NODE, PHP, PYTHON
from servers import ROOT

Answer = dict[str, Any]

HERE = Path(__file__).resolve().parent
# Tests charge one key under several policies of one name on purpose.
WARNINGS = "error,ignore:two limiters have the name"
API = json.loads((ROOT / "tests/spec/api.json").read_text())
# What starts the worker of a language: all tests and loads take it from here.
LANGUAGES = {
    "python": [*PYTHON, str(HERE / "worker/worker.py")],
    "aio": [*PYTHON, str(HERE / "worker/worker.py"), "aio"],
    "php": [*PHP, str(HERE / "worker/worker.php")],
    "node": [*NODE, str(HERE / "worker/worker.mjs")],
}
RUST = [str(ROOT / "target/debug/examples/worker")]
COMMANDS = {**LANGUAGES, "rust": RUST}
# The languages whose processes have several callers at once.
CONCURRENT = ("python", "aio", "node", "rust")

# No operation but a load takes longer, whatever is wrong with the server.
ANSWERS_WITHIN = 15.0


class WorkerError(Exception):
    """A worker crashed or fell silent: never what a test expects."""


class Worker:
    """One process; `language` is one of `COMMANDS` or the command line of another program of the same protocol.

    Its methods are those of lane 0, unless they are told another. `begun` hears what is begun, with its lane.
    """

    def __init__(self, language: str | Sequence[str], begun: Callable[[int, Answer], None] | None = None) -> None:
        command = COMMANDS[language] if isinstance(language, str) else list(language)
        self.name = language if isinstance(language, str) else " ".join(command[1:])
        self._begun = begun or (lambda lane, begun: None)
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 -- closed in close()
        path = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONWARNINGS": WARNINGS},
        )
        self._answers: defaultdict[int, queue.SimpleQueue[Answer | None]] = defaultdict(queue.SimpleQueue)
        self._ended = False
        self._sending = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._files: list[str] = []
        self._awaited: dict[int, int] = defaultdict(int)

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def poll(self) -> int | None:
        """With which code it ended, if it has."""
        return self._process.poll()

    def client(
        self,
        url: str,
        *,
        prefix: str = "ql",
        timeout_ms: int = 5000,
        on_error: str = "raise",
        password: Path | None = None,
    ) -> Answer:
        """Makes the client of all later operations, a patient one unless it is told: machines stand still at times."""
        told = None if password is None else str(password)
        return self.ask("client", url=url, prefix=prefix, timeout_ms=timeout_ms, on_error=on_error, password=told)

    def ask(self, op: str, **request: Any) -> Answer:
        """Carries out `client`, or an operation of a limiter: `limiter`, `policy`, `key` and what else it takes."""
        if op != "client":
            return self.call(f"limiter.{op}", request.pop("limiter"), {"policy": request.pop("policy")}, **request)
        self._send(0, {"op": op, **request})
        return self.end()

    def decide(self, op: str, limiter: str, policy: str, key: str | bytes, **arguments: Any) -> Any:  # noqa: ANN401
        """As `ask`, for an operation that must succeed: returns its result alone, of `reset` a boolean."""
        answer = self.ask(op, limiter=limiter, policy=policy, key=key, **arguments)
        if "error" in answer:
            raise WorkerError(f"{self.name}: {op} of {key!r} failed with {answer['error']}: {answer['message']}")
        return answer["result"]

    def call(self, op: str, name: object = "", options: Answer | None = None, **arguments: Any) -> Answer:
        """Makes one call. Bytes may be text."""
        self.begin_call(op, name, options, **arguments)
        return self.end()

    def begin_call(
        self,
        op: str,
        name: object = "",
        options: Answer | None = None,
        *,
        lane: int = 0,
        how: Answer | None = None,
        **arguments: Any,
    ) -> None:
        """Begins what `call` makes; `end` waits for its answer. `how` has the further fields."""
        given = carried(op, arguments)
        self._send(lane, {"op": op, "name": name, "options": options or {}, "arguments": given, **(how or {})})

    def end(self, lane: int = 0, within: float = ANSWERS_WITHIN) -> Answer:
        """Waits for the answer to what was begun."""
        return self._answer(lane, within)

    def settle(self) -> None:
        """Waits for the answers that nobody waited for, of a test that failed."""
        for lane, awaited in self._awaited.items():
            for _ in range(awaited):
                self.end(lane)

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
        offered = [{**entry, "key": octets(entry["key"])["hex"]} for entry in mix]
        how = {"seconds": seconds, "calls": calls, "in_flight": in_flight, "pause_us": pause_us, "seed": seed}
        self._send(0, {"op": "load", "mix": offered, "path": path, **how})

    def stop_load(self) -> None:
        """Has a load end before its time."""
        os.unlink(self._files[-1])

    def end_load(self, within: float) -> list[Answer]:
        """Waits for the end of a load and returns its history, in the order of completion."""
        answer = self._answer(0, within)
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
            with contextlib.suppress(FileNotFoundError):
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

    def _send(self, lane: int, request: Answer) -> None:
        assert self._process.stdin is not None
        try:
            with self._sending:
                self._process.stdin.write(json.dumps({"lane": lane, **request}) + "\n")
                self._process.stdin.flush()
            self._awaited[lane] += 1
        except (BrokenPipeError, ValueError):
            raise WorkerError(f"{self.name} had ended:\n{self._report()}") from None

    def _answer(self, lane: int, within: float) -> Answer:
        try:
            answer = self._answers[lane].get(timeout=0 if self._ended else within)
        except queue.Empty:
            answer = None
            if not self._ended:
                raise WorkerError(f"{self.name} gave no answer within {within} s:\n{self._report()}") from None
        if answer is None:
            self._process.wait()
            raise WorkerError(f"{self.name} crashed:\n{self._report()}")
        self._awaited[lane] -= 1
        return answer

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            # Who was killed may not have finished its last line.
            if not line.endswith("\n"):
                break
            answer: Answer = json.loads(line)
            lane = answer.pop("lane")
            if "begun" in answer:
                self._begun(lane, answer["begun"])
            else:
                self._answers[lane].put(answer)
        self._ended = True
        for answers in list(self._answers.values()):
            answers.put(None)

    def _report(self) -> str:
        self._errors.seek(0)
        return f"exit code {self._process.poll()}\n{self._errors.read()[-3000:]}"


def octets(value: str | bytes | None) -> Any:  # noqa: ANN401
    """Bytes as the protocol carries them."""
    return None if value is None else {"hex": (value.encode() if isinstance(value, str) else value).hex()}


def carried(op: str, arguments: Answer) -> Answer:
    """The arguments of a call as the protocol carries them, by their names in api.json: the id of a once is its key."""
    kind, method = op.split(".")
    names = {"key": "id", "load": "function"} if kind == "once" else {}
    given = {names.get(name, name): value for name, value in arguments.items()}
    type_ = {"client": "Client", "limiter": "Limiter", "stock": "Stock", "once": "Once", "cache": "Cache"}.get(
        kind, "Lock"
    )
    known = API["types"]["Client" if method == "adopt" else type_]["methods"][method]
    if unknown := [name for name in given if name.removesuffix("_ms") not in known]:
        raise WorkerError(f"{op} has no {', '.join(unknown)} in api.json")
    for name, value in given.items():
        if name == "prizes":
            given[name] = [octets(prize) for prize in value]
        elif name in ("load", "function"):
            given[name] = {n: octets(v) if n == "value" else str(v) if n == "until" else v for n, v in value.items()}
        elif name in ("key", "buyer", "value", "request_id") or (kind, name) == ("once", "id"):
            given[name] = octets(value)
    return given
