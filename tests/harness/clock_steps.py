"""A wall clock for a server that a test can step while the server runs."""

from __future__ import annotations

import mmap
import struct
import tempfile
from pathlib import Path
from types import TracebackType

from preload import build
from servers import ROOT

SOURCE = Path(__file__).with_suffix(".c")
LIBRARY = ROOT / "target" / "harness" / "clock_steps.so"


class ClockSteps:
    """How far a server's clock is from the machine's; `prefix` starts a program under it, within the `with` block."""

    def __init__(self) -> None:
        build(SOURCE, LIBRARY)
        self._file = tempfile.NamedTemporaryFile(prefix="quotalock-clock-")  # noqa: SIM115 -- closed in __exit__
        self._file.write(bytes(8))
        self._file.flush()
        self._page = mmap.mmap(self._file.fileno(), 8)
        self.micros = 0

    @property
    def prefix(self) -> list[str]:
        """What to put before a command line."""
        return ["env", f"LD_PRELOAD={LIBRARY}", f"CLOCK_STEPS={self._file.name}"]

    def step(self, micros: int) -> None:
        """Steps the clock, back if negative."""
        self.micros += micros
        self._page[:] = struct.pack("=q", self.micros)

    def __enter__(self) -> ClockSteps:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._page.close()
        self._file.close()
