"""`quotalock serve`, started for a test, and a browser without a window that talks to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console import PROGRAM, until
from prometheus_client.parser import text_string_to_metric_families

TOKEN = "a-token-of-the-tests"
ANSWERS_WITHIN = 30.0
# Of those who name things to do harm: to a terminal, to a page, to what reads lines.
HOSTILE = 'x\x1b[2J\u202e<script>alert(1)</script>"\\\n'


@dataclass(frozen=True)
class Answer:
    """What was answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The word of a refusal."""
        word: str = self.json["code"]
        return word


class Serving:
    """The program, as it serves on a free port; `words` are more of its arguments."""

    def __init__(self, url: str, *words: str, token: str = TOKEN, folder: Path | None = None) -> None:
        command = [PROGRAM, "serve", "--listen", "127.0.0.1:0", *words]
        environment = os.environ | {"QUOTALOCK_URL": url, "QUOTALOCK_SERVE_TOKEN": token}
        self.program = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
        )
        assert self.program.stderr is not None
        first = self.program.stderr.readline()
        told = re.search(r"http://127\.0\.0\.1:(\d+)/", first)
        assert told, first + self.program.stderr.read()
        self.port = int(told[1])
        self.host = f"127.0.0.1:{self.port}"
        self.cookie, self.csrf = "", ""

    def __enter__(self) -> Serving:
        return self

    def __exit__(self, *_: object) -> None:
        if self.program.poll() is None:
            self.ended()

    def ended(self, by: int = signal.SIGTERM) -> tuple[int, str]:
        """Ends it: its exit code, and what it has said."""
        self.program.send_signal(by)
        out, error = self.program.communicate(timeout=ANSWERS_WITHIN)
        assert "panicked" not in error
        return self.program.returncode, out + error

    @contextmanager
    def asked(self, method: str, path: str, body: bytes = b"", **headers: str) -> Iterator[http.client.HTTPResponse]:
        """The answer as it comes. `Host` and `Origin` are right unless given; an empty one is left out."""
        given = {"Host": self.host} | ({"Origin": f"http://{self.host}"} if method == "POST" else {})
        given |= {"Cookie": self.cookie} if self.cookie else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWERS_WITHIN)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in given.items():
            if value:
                connection.putheader(name, value)
        if body:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        try:
            yield connection.getresponse()
        finally:
            connection.close()

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """The whole answer."""
        data = b"" if body is None else json.dumps(body).encode()
        given = {"Content-Type": "application/json"} if body is not None else {}
        with self.asked(method, path, data, **(given | headers)) as answer:
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: object = None, **headers: str) -> Answer:
        """As the page does, with what the session must show."""
        return self.ask("POST", path, body, **({"X-Quotalock": self.csrf} | headers))

    def login(self, token: str = TOKEN) -> Answer:
        """Logs in, and keeps the cookie if that was right."""
        answer = self.ask("POST", "/login", {"token": token})
        if answer.status == 200:
            self.cookie, self.csrf = answer.headers["set-cookie"].split(";")[0], answer.json["csrf"]
        return answer

    @property
    def state(self) -> Any:
        answer = self.get("/api/state")
        assert answer.status == 200, answer
        return answer.json

    def until(self, name: str, is_so: Any = bool) -> Any:
        """Waits until a part of the state, which changes once a second, is so, and returns it."""
        return until(lambda: (part := self.state[name]) is not None and is_so(part) and (part,), every=0.1)[0]

    def scanned(self) -> Any:
        """Waits until all keys were looked at that are there now, and returns the state."""
        before = self.state["now_ms"]
        # One that goes on may have passed a key that was not there yet: the one after it has begun later.
        ended = self.until("scan", lambda scan: (scan["at_ms"] or 0) > before)["at_ms"]
        self.until("scan", lambda scan: scan["at_ms"] > ended)
        return self.state

    def metrics(self) -> str:
        answer = self.get("/metrics", Authorization=f"Bearer {TOKEN}")
        assert answer.status == 200, answer
        return answer.body.decode()

    @property
    def memory(self) -> int:
        """Bytes of memory that it uses."""
        status = Path(f"/proc/{self.program.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024


@contextmanager
def logged_in(url: str, *words: str, **options: Any) -> Iterator[Serving]:
    """The same, with a session."""
    with Serving(url, *words, **options) as serving:
        assert serving.login().status == 200
        yield serving


def samples(text: str, name: str) -> dict[tuple[str, ...], float]:
    """The samples of a series, by their labels."""
    families = {family.name: family for family in text_string_to_metric_families(text)}
    found = families[name.removesuffix("_total")].samples
    return {tuple(sample.labels.values()): sample.value for sample in found}
