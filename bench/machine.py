"""What the kernel tells about this machine and about processes on it."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")
CORES = len(os.sched_getaffinity(0))


def description() -> str:
    """The processor, the cores we may use, and the kernel."""
    models = [line.split(":", 1)[1] for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    model = models[0].strip() if models else platform.machine()
    return f"{CORES} cores ({model}), {platform.system()} {platform.release()}"


def cores() -> set[int]:
    """The cores that we may use."""
    return os.sched_getaffinity(0)


def load() -> float:
    """The load of the last minute."""
    return os.getloadavg()[0]


def cpu_us(pid: int) -> float:
    """The CPU used by the living threads of a process, to the nanosecond."""
    files = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in files) / 1000


class Others:
    """Tells how busy the cores were with what isn't ours, from its making on."""

    def __init__(self, *ours: int) -> None:
        self.ours = ours
        self.begun = (time.monotonic(), self._busy() - self._own())

    def share(self) -> float:
        """The others' share of all cores, 0 to 1."""
        then, busy = self.begun
        return max(0.0, (self._busy() - self._own() - busy) / ((time.monotonic() - then) * CORES))

    def _own(self) -> float:
        # Unlike schedstat this counts threads that have ended; it comes in ticks of 10 ms.
        stats = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self.ours)
        return sum(int(stat[11]) + int(stat[12]) for stat in stats) * TICK

    @staticmethod
    def _busy() -> float:
        # user, nice and system, and what the hypervisor gave to others; interrupts may be on our behalf.
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
        return sum(int(words[column]) for column in (1, 2, 3, 8)) * TICK
