"""Applications that are started as their users start them, and a Redis that a test may take away."""

from __future__ import annotations

import itertools
import json
import logging
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import django
import pytest
from django.conf import settings
from program import Program, free_port, listens
from servers import Server

ROOT = Path(__file__).resolve().parents[3]

_numbers = itertools.count()


@dataclass(frozen=True)
class Reply:
    """An answer over HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def problem(self) -> dict[str, Any]:
        """The body of a refusal."""
        assert self.headers["content-type"] == "application/problem+json"
        problem: dict[str, Any] = json.loads(self.body)
        return problem


class App:
    """A started application."""

    def __init__(self, port: int) -> None:
        self.port = port

    def get(self, path: str, **headers: str) -> Reply:
        """Asks for a page."""
        return self._asked(path, None, headers)

    def post(self, path: str, body: bytes, **headers: str) -> Reply:
        """Sends JSON."""
        return self._asked(path, body, {"Content-Type": "application/json", **headers})

    def _asked(self, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=body, headers=named)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return _reply(reply)
        except urllib.error.HTTPError as refused:
            with refused:
                return _reply(refused)


def _reply(reply: Any) -> Reply:
    return Reply(reply.status, {name.lower(): value for name, value in reply.headers.items()}, reply.read())


# How each example is started; {port} is where it listens.
COMMANDS = {
    "flask": ["flask", "--app", "app", "run", "--port", "{port}"],
    "fastapi": ["uvicorn", "app:app", "--port", "{port}", "--log-level", "warning"],
    "starlette": ["uvicorn", "app:app", "--port", "{port}", "--log-level", "warning"],
    "wsgi": ["gunicorn", "app:application", "--bind", "127.0.0.1:{port}", "--log-level", "warning"],
    "django": ["python", "app.py", "runserver", "--noreload", "{port}"],
}

Start = Callable[..., App]


def pytest_configure() -> None:
    """Django wants its settings before anything else."""
    settings.configure(
        SECRET_KEY="of the tests",
        ALLOWED_HOSTS=["*"],
        INSTALLED_APPS=["rest_framework"],
        REST_FRAMEWORK={"UNAUTHENTICATED_USER": None},
    )
    django.setup()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts an example, with a Redis and an `on_error`."""
    with ExitStack() as stack:

        def started(name: str, url: str, on_error: str = "closed") -> App:
            port = free_port()
            program, *arguments = [word.format(port=port) for word in COMMANDS[name]]
            command = [sys.executable, *(["-m", program] * (program != "python")), *arguments]
            settings = {"QUOTALOCK_URL": url, "ON_ERROR": on_error, "PYTHONUNBUFFERED": "1"}
            env = ["env", "-C", str(ROOT / "examples" / name), *(f"{key}={value}" for key, value in settings.items())]
            app = Program(name, [*env, *command], tmp_path / f"{name}.log", lambda: listens(port), within=60.0)
            stack.callback(app.end)
            app.start()
            return App(port)

        yield started


@pytest.fixture(scope="session")
def url() -> str:
    """A Redis."""
    servers: dict[str, str] = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])
    return servers["redis-7.0"]


@pytest.fixture
def redis() -> Iterator[Server]:
    """A Redis of the test's own."""
    with Server("redis-7.0") as server:
        yield server


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What our logger warns of, also after a worker of Celery set up all logs."""
    logger = logging.getLogger("quotalock")
    logger.addHandler(caplog.handler)
    with caplog.at_level(logging.WARNING, logger.name):
        yield caplog
    logger.removeHandler(caplog.handler)


@pytest.fixture
def prefix() -> str:
    """A prefix that no other test of this run uses."""
    return f"fw{os.getpid()}-{next(_numbers)}"
