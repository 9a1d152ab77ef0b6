"""What calls in a soak: a process of each language, and php-fpm with workers that stay or are recycled."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from types import TracebackType

from live import Live, counted, live_of
from program import has_ended
from programs import NODE, PHP, PYTHON

HERE = Path(__file__).resolve().parent
ENDS_WITHIN = 20.0


class Load:
    """One program that calls from the beginning of the `with` block until `end`."""

    def __init__(self, name: str, command: list[str], library: str) -> None:
        self.name, self._command, self._library = name, command, library
        self._folder = tempfile.TemporaryDirectory(prefix="quotalock-soak-")
        self.errors = Path(self._folder.name) / "errors"
        self._process: subprocess.Popen[str] | None = None

    @property
    def process(self) -> subprocess.Popen[str]:
        """The process."""
        assert self._process is not None
        return self._process

    def pids(self) -> list[int]:
        """The processes to look at."""
        return [self.process.pid]

    def live(self) -> list[Live]:
        """What these processes have allocated."""
        return [live for pid in self.pids() if (live := live_of(self._folder.name, pid))]

    def lives(self) -> bool:
        """Whether it has not ended."""
        return not has_ended(self.process)

    def end(self) -> dict[str, int]:
        """Ends it; how many calls were answered, and the codes of those that were not."""
        output, _ = self.process.communicate(timeout=ENDS_WITHIN)
        if self.process.returncode:
            raise SystemExit(f"soak: {self.name} failed:\n{self.errors.read_text()[-3000:]}")
        counts: dict[str, int] = json.loads(output)
        return counts

    def __enter__(self) -> Load:
        with self.errors.open("w") as errors:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *self._command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=os.environ | counted(self._library, self._folder.name),
                # Ctrl-C is for who started it.
                start_new_session=True,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        self._folder.cleanup()


class FpmLoad(Load):
    """A php-fpm with so many workers, each asked for one page after the other."""

    WORKERS, PAUSE = 2, 0.04

    def __init__(self, name: str, url: str, max_requests: int) -> None:
        super().__init__(name, [], "ratelimit.so")
        folder = Path(self._folder.name)
        self._socket = folder / "socket"
        lines = ["[global]", f"error_log = {folder}/log", "[www]", f"listen = {self._socket}", "pm = static"]
        lines += [f"pm.max_children = {self.WORKERS}", f"pm.max_requests = {max_requests}"]
        lines += ["user = root", "group = root"] if os.getuid() == 0 else []
        lines += [f"php_admin_value[ratelimit.url] = {url}"]
        (folder / "conf").write_text("\n".join(lines) + "\n")
        version = subprocess.run(
            ["php", "-r", "echo PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION;"], check=True, capture_output=True, text=True
        ).stdout
        self._command = [f"/usr/sbin/php-fpm{version}", "-F", "-R", "-y", f"{folder}/conf", *PHP[1:]]
        self._over = threading.Event()
        self._counts: Counter[str] = Counter()
        self._threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(self.WORKERS)]

    def pids(self) -> list[int]:
        """The workers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        with contextlib.suppress(OSError):
            return [int(pid) for pid in children.read_text().split()]
        return []

    def end(self) -> dict[str, int]:
        """Ends it; what the pages counted."""
        self._stop()
        self.process.terminate()
        self.process.wait(ENDS_WITHIN)
        log = (Path(self._folder.name) / "log").read_text()
        if "signal" in log.lower().replace("terminating", ""):
            raise SystemExit(f"soak: a worker of {self.name} was killed:\n{log[-3000:]}")
        return dict(self._counts)

    def __enter__(self) -> Load:
        super().__enter__()
        give_up = time.monotonic() + 10
        while not self._socket.exists():
            if not self.lives() or time.monotonic() > give_up:
                raise SystemExit(f"soak: {self.name} does not start:\n{self.errors.read_text()}")
            time.sleep(0.01)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        super().__exit__(kind, error, trace)

    def _stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            if thread.ident:
                thread.join()

    def _ask(self) -> None:
        while not self._over.wait(self.PAUSE):
            try:
                self._counts.update(json.loads(self._page()))
            except (OSError, ValueError, IndexError) as error:
                if not self._over.is_set():
                    self._counts[f"no page ({type(error).__name__})"] += 1

    def _page(self) -> str:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(ENDS_WITHIN)
            connection.connect(str(self._socket))
            connection.sendall(_request({"REQUEST_METHOD": "GET", "SCRIPT_FILENAME": str(HERE / "load.php")}))
            with connection.makefile("rb") as replies:
                output = b""
                while len(header := replies.read(8)) == 8:
                    kind, length, padding = struct.unpack("!xBxxHBx", header)
                    content = replies.read(length + padding)
                    output += content[:length] if kind == 6 else b""
                    if kind == 3:
                        break
        return output.split(b"\r\n\r\n", 1)[1].decode()


def _request(parameters: dict[str, str]) -> bytes:
    """A FastCGI request: begin as a responder, the parameters, no input."""

    def record(kind: int, content: bytes) -> bytes:
        return struct.pack("!BBHHBx", 1, kind, 1, len(content), 0) + content

    pairs = [(name.encode(), value.encode()) for name, value in parameters.items()]
    encoded = b"".join(struct.pack("!II", len(n) | 1 << 31, len(v) | 1 << 31) + n + v for n, v in pairs)
    return record(1, struct.pack("!HBxxxxx", 1, 0)) + record(4, encoded) + record(4, b"") + record(5, b"")


def loads(url: str) -> list[Load]:
    """All of them."""
    return [
        Load("Python", [*PYTHON, str(HERE / "soak_load.py"), url], "_native.abi3"),
        Load("asyncio", [*PYTHON, str(HERE / "soak_load.py"), url, "aio"], "_native.abi3"),
        Load("Node", [*NODE, "--expose-gc", str(HERE / "load.mjs"), url], "quotalock.linux"),
        FpmLoad("php-fpm", url, 0),
        FpmLoad("php-fpm, recycled", url, 200),
    ]
