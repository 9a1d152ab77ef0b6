"""A PostgreSQL server of its own for the tests, in a temporary folder and on a free loopback port.

It refuses to run as root, so for root it runs as the user `postgres` of its package. Nothing falls back or skips: a
server that is missing or silent raises `ServerError`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from program import Program, ProgramError, free_port, listens
from running import Running
from servers import ServerError

# Debian keeps the programs of each version in a folder of their own.
PROGRAMS = Path("/usr/lib/postgresql")
USER = "postgres"
ORPHANED = "INT"


class Postgres(Running):
    """A server with an empty database `postgres` and no passwords, until the `with` block ends."""

    def __init__(self) -> None:
        self.port = 0
        self._folder = tempfile.TemporaryDirectory(prefix="ql-", ignore_cleanup_errors=True)
        self._program: Program | None = None

    @property
    def url(self) -> str:
        """The address for psycopg and libpq."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"

    @property
    def dsn(self) -> str:
        """The address for PDO."""
        return f"pgsql:host=127.0.0.1;port={self.port};dbname=postgres;user={USER}"

    def start(self) -> None:
        """Starts it on a free port; raises `ServerError` if it cannot."""
        programs = _programs()
        folder = Path(self._folder.name)
        if os.getuid() == 0:
            owner = pwd.getpwnam(USER)
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        data, log = folder / "data", folder / "log"
        initdb = [*_as_user(), str(programs / "initdb"), "--auth=trust", f"--username={USER}", "--no-sync", str(data)]
        made = subprocess.run(initdb, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
        if made.returncode != 0:
            raise ServerError(f"initdb failed: {made.stderr or made.stdout}")
        for _ in range(5):
            port = free_port()
            command = [*_as_user(), str(programs / "postgres"), "-D", str(data), "-p", str(port), "-k", str(folder)]
            command += ["-h", "127.0.0.1", "-F"]

            def ready(port: int = port) -> bool:
                # Only ours makes this socket; it accepts before it answers, so libpq may have to ask again.
                return (folder / f".s.PGSQL.{port}").exists() and listens(port) and _answers(programs, folder, port)

            program = Program("postgres", command, log, ready, orphaned=ORPHANED)
            try:
                program.start()
            except ProgramError as error:
                if "ddress already in use" in str(error):
                    continue
                raise ServerError(str(error)) from None
            self.port, self._program = port, program
            return
        raise ServerError("postgres found no free port")

    def close(self) -> None:
        """Ends it."""
        if self._program is not None:
            # At once, but in good order: an ordinary end waits for those who are connected.
            self._program.end(signal.SIGINT)
        self._folder.cleanup()


def _programs() -> Path:
    """Finds the newest version's programs."""
    found = sorted(PROGRAMS.glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if not found or not shutil.which(found[-1]):
        raise ServerError(f"PostgreSQL is missing: nothing at {PROGRAMS}/*/bin/postgres. Run 'make setup'.")
    return found[-1].parent


def _as_user() -> list[str]:
    if os.getuid() != 0:
        return []
    # Who becomes another user forgets what it was to get when its parent ends.
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", f"--pdeathsig={ORPHANED}", "--"]


def _answers(programs: Path, folder: Path, port: int) -> bool:
    command = [str(programs / "pg_isready"), "-q", "-h", str(folder), "-p", str(port)]
    return subprocess.run(command, check=False, timeout=10).returncode == 0
