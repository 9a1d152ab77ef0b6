"""A peer is not trusted: whatever it says, at whatever stage, costs its callers their timeout, and others nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hostile
import measure
import pytest
from servers import ROOT, Server
from workers import HERE, LANGUAGES

CALLER = HERE / "hostile_caller"
CALLERS = {
    "python": [LANGUAGES["python"][0], str(CALLER / "caller.py")],
    "aio": [LANGUAGES["python"][0], str(CALLER / "caller.py"), "aio"],
    "php": [*LANGUAGES["php"][:-1], str(CALLER / "caller.php")],
    "node": ["node", str(CALLER / "caller.mjs")],
    "rust": [str(ROOT / "target/debug/examples/hostile_caller")],
    "rust-futures": [str(ROOT / "target/debug/examples/hostile_caller"), "futures"],
}
TIMEOUT_MS = 150
WAIT_MS = 150
SECONDS = 0.3
# Beyond the timeout, by the promise.
LATE_MS = 50
# Others of the process share its loop, and a machine that a flood keeps busy; a loop that is held up waits for seconds.
OTHERS_MS = 150
# One connection for each of the callers, and what the language itself takes meanwhile: Node collects garbage late.
GROWN_KB = {"node": 3 * 1024 + 40 * 1024}
GROWN_KB_ELSEWHERE = 3 * 1024 + 3 * 1024
# The callers' own, one that dials, one that listens, one that waits for all, and those that Node begins with.
THREADS = {"node": 18}
THREADS_ELSEWHERE = 10

Answer = dict[str, Any]


class Caller:
    """A process that calls a hostile server and a good one at once."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 -- closed in close()
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *CALLERS[language]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "error"},
        )

    def attack(self, bad: str, good: Server, call: str = "consume") -> Answer:
        """One attack by the server at `bad`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"bad": bad, "good": good.url, "timeout_ms": TIMEOUT_MS, "seconds": SECONDS, "call": call}
        self._process.stdin.write(json.dumps({**request, "wait_ms": WAIT_MS}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        self._errors.seek(0)
        assert line, f"{self.language} crashed:\n{self._errors.read()[-3000:]}"
        answer: Answer = json.loads(line)
        return answer

    @property
    def pid(self) -> int:
        """The process that calls."""
        return self._process.pid

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()
        self._errors.close()
        assert self._process.returncode == 0


@pytest.fixture(params=CALLERS)
def caller(request: pytest.FixtureRequest) -> Iterator[Caller]:
    process = Caller(request.param)
    yield process
    process.close()


@pytest.fixture(scope="module")
def good() -> Iterator[Server]:
    with Server("redis-7.0") as running:
        yield running


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A server's certificate that is its own CA."""
    folder = tmp_path_factory.mktemp("hostile")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    names = ["-subj", "/CN=hostile", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", "own.key", "-out", "own.pem"]
    subprocess.run([*command, *names, *files], cwd=folder, check=True, capture_output=True)
    return folder / "own.pem"


def survive(
    caller: Caller,
    good: Server,
    stage: str,
    ways: dict[str, Any],
    *,
    tls: Path | None = None,
    call: str = "consume",
) -> None:
    """Each of the ways, one after the other; all that went wrong is told at once."""
    wrong: list[str] = []
    for name, way in ways.items():
        handshake = stage == "connection"
        watched = measure.Stalls(caller.pid)
        with hostile.Hostile(stage, way, certificate=None if handshake else tls) as bad, watched as stalls:
            url = f"rediss://127.0.0.1:{bad.port}?ca={tls}" if tls else f"redis://127.0.0.1:{bad.port}"
            answer = caller.attack(url, good, call)
        longest = TIMEOUT_MS + LATE_MS + (WAIT_MS if call == "acquire" else 0) + stalls.worst_ms
        checks = {
            "its callers waited": answer["bad_ms"] <= longest,
            "others waited": answer["good_ms"] <= OTHERS_MS + 2 * stalls.worst_ms,
            "others were refused": answer["good_codes"] == ["ok"],
            "memory": answer["grown_kb"] <= GROWN_KB.get(caller.language, GROWN_KB_ELSEWHERE),
            "threads": answer["threads"] <= THREADS.get(caller.language, THREADS_ELSEWHERE),
            "codes": set(answer["codes"]) <= {"unavailable", "timeout", "internal", "not_acquired"},
        }
        print(f"{caller.language} {stage} {name}: stalls {stalls.worst_ms:.0f} {answer}", file=sys.stderr)
        failed = [check for check, holds in checks.items() if not holds]
        if failed:
            wrong.append(f"{name}: {', '.join(failed)} (stalls of {stalls.worst_ms:.0f} ms): {answer}")
    assert not wrong, "\n".join(wrong)


def some(*names: str) -> dict[str, Any]:
    return {name: hostile.WAYS[name] for name in names}


# With these everything begins that a connection's later stages share.
FEW = some(
    "never answers", "closes in the middle", "drips an array", "endless array", "endless value", "what nobody asked"
)


def test_in_the_greeting(caller: Caller, good: Server) -> None:
    survive(caller, good, "greeting", hostile.WAYS)


def test_in_place_of_a_reply(caller: Caller, good: Server) -> None:
    survive(caller, good, "reply", hostile.WAYS)


def test_in_place_of_tls(caller: Caller, good: Server, certificate: Path) -> None:
    ways = hostile.HANDSHAKES | some("never answers", "closes in the middle", "endless array", "drips an array")
    survive(caller, good, "connection", ways, tls=certificate)


@pytest.mark.parametrize("stage", ["greeting", "reply"])
def test_behind_tls(caller: Caller, good: Server, certificate: Path, stage: str) -> None:
    survive(caller, good, stage, FEW, tls=certificate)


@pytest.mark.parametrize("stage", ["subscription", "hints"])
def test_to_one_who_listens(caller: Caller, good: Server, stage: str) -> None:
    survive(caller, good, stage, FEW | hostile.HINTS, call="acquire")


def test_a_signal_is_heard_while_a_greeting_drips() -> None:
    program = """
import signal, sys, time
import quotalock

class Alarm(Exception):
    pass

def ring(*_):
    raise Alarm

signal.signal(signal.SIGALRM, ring)
client = quotalock.Client(sys.argv[1], timeout=20)
signal.setitimer(signal.ITIMER_REAL, 0.2)
began = time.monotonic()
try:
    client.limiter("n", "1/s").consume("k")
except Alarm:
    print(time.monotonic() - began)
"""
    for stage in ("greeting", "reply"):
        with hostile.Hostile(stage, hostile.WAYS["drips an array"]) as bad, measure.Stalls() as stalls:
            command = [LANGUAGES["python"][0], "-c", program, f"redis://127.0.0.1:{bad.port}"]
            ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
        assert float(ran.stdout) < 0.4 + stalls.worst
