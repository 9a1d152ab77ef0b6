"""gevent and eventlet: a wait stops neither other greenlets nor the holder that it waits for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("greenlets.py")
SERVER: str = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])["redis-7.0"]
APPLICATION = """
import quotalock, gevent
client = quotalock.Client({url!r}, prefix="gunicorn-{pid}")
def app(environ, start):
    start("200 OK", [])
    with client.lock("sku", wait=20.0):
        gevent.sleep(0.3)
    return [b"done"]
"""


# One process plays all of them: it imports slowly.
TESTS = ("locks", "loads", "limits", "cancelled", "many", "lost")


@pytest.mark.parametrize("url", ["memory://", SERVER], ids=["memory", "redis"])
@pytest.mark.parametrize("library", ["gevent", "eventlet"])
def test_waits_let_other_greenlets_run(library: str, url: str) -> None:
    command = [sys.executable, "-W", "ignore", str(PROGRAM), library, url, *TESTS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_request_waits_for_another_of_the_same_worker(tmp_path: Path) -> None:
    (tmp_path / "application.py").write_text(APPLICATION.format(url=SERVER, pid=os.getpid()))
    command = ["gunicorn", "--workers=1", "--worker-class=gevent", "--bind=127.0.0.1:0", "application:app"]
    server = subprocess.Popen(
        [sys.executable, "-m", *command], cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    assert server.stderr is not None
    try:
        at = next(line.split()[-2] for line in server.stderr if "Listening at: http" in line)
        drain = threading.Thread(target=server.stderr.read)
        drain.start()
        answers: list[bytes] = []

        def ask() -> None:
            with urllib.request.urlopen(at, timeout=60) as answer:
                answers.append(answer.read())

        asking = [threading.Thread(target=ask) for _ in range(3)]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
        assert answers == [b"done"] * 3
    finally:
        server.terminate()
        server.wait()
        drain.join()
        server.stderr.close()
