"""What a program has allocated and not freed, counted in it by a library that is preloaded: see live.c."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from pathlib import Path

from preload import build
from servers import ROOT

SOURCE = Path(__file__).with_suffix(".c")
LIBRARY = ROOT / "target" / "harness" / "live.so"


@dataclass(frozen=True)
class Live:
    """Bytes of the whole program and of Quotalock in it, and how many blocks of each size that has (see `STEP`)."""

    program: int
    library: int
    blocks: tuple[int, ...]
    # Of JavaScript, as its program says it.
    heap: int


def counted(library: str, folder: str) -> dict[str, str]:
    """The environment of a program whose allocations are counted, and those of the library whose file is called so."""
    build(SOURCE, LIBRARY)
    return {
        "LD_PRELOAD": str(LIBRARY),
        "LIVE_FOLDER": folder,
        "QUOTALOCK_LIBRARY": library,
        # What Python has are blocks too, not parts of arenas.
        "PYTHONMALLOC": "malloc",
    }


def live_of(folder: str, pid: int) -> Live | None:
    """What a process has; none if it has just begun."""
    try:
        numbers = array("q", Path(folder, str(pid)).read_bytes())
    except OSError:
        return None
    if len(numbers) <= 2:
        return None
    try:
        heap = int(Path(folder, f"{pid}.heap").read_text() or 0)
    except OSError:
        heap = 0
    return Live(numbers[0], numbers[1], tuple(numbers[2:]), heap)
